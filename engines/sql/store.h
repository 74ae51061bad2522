// An SqlStore has the tables of one database of a server, and connects to that server.
//
// Thread-safe, unlike the connections that Connect returns.
#ifndef TESTBED_ENGINES_SQL_STORE_H_
#define TESTBED_ENGINES_SQL_STORE_H_

#include <atomic>
#include <cerrno>
#include <functional>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

#include "device/error.h"
#include "device/os/mutex.h"
#include "engines/engine.h"
#include "engines/sql/connection.h"
#include "engines/sql/dialect.h"

namespace testbed {

// An SqlTableReader is a session as its store sees it.
class SqlTableReader {
 public:
  virtual ~SqlTableReader() = default;
  // Closes the table if the session has it open for reads (SqlDialect::CloseForReads). Another
  // thread calls it while no session has a turn.
  virtual void LetGo(TableId table) = 0;
};

struct SqlLimits {
  size_t max_key_size = 0, max_value_size = 0;  // bytes
  uint32_t conflict_wait_ms = 10000;            // for how long a transaction is tried again
  // If true, a session whose address is lost goes on at the next address. The first address is
  // never called lost, because it has the store's own connection.
  bool goes_on = false;
};

class SqlStore {
 public:
  // A ConnectTo makes a connection to one of the server's addresses, counted from 0.
  using ConnectTo = std::function<std::unique_ptr<SqlConnection>(size_t address)>;
  // `engine` begins the sentences of errors. `schema` is the schema in which the tables are. If
  // `made` is not empty, it is called after a table or an index was made. `addresses` is at least
  // 1.
  SqlStore(std::string engine, std::unique_ptr<SqlDialect> dialect, std::string schema,
           SqlLimits limits, ConnectTo connect, std::function<void()> made, size_t addresses);

  // Returns the table's id, and makes the table when the server has none. Throws Error: kUsage for
  // a name that the server cannot have, and what a statement throws.
  TableId OpenTable(const std::string& table);
  // Returns the id of an index of the table, and makes the index when the server has none. Waits
  // until no session has a turn (Join). Throws Error: kUsage as OpenTable, for an index of an index
  // and for parts of 0 or more than 255 bytes; and what a statement throws.
  TableId OpenIndex(const std::string& index, TableId table, const std::vector<IndexPart>& parts);
  // Returns what statements on the table or index need. Throws Error (kUsage) for an id that
  // neither function has returned.
  SqlTable Table(TableId table) const;
  // Returns the tables that were opened, without the indexes, as statements name them.
  std::vector<std::string> TableNames() const;

  size_t addresses() const { return addresses_; }
  // Makes a connection of the caller's own. Throws what ConnectTo throws.
  std::unique_ptr<SqlConnection> Connect(size_t address = 0) const { return connect_(address); }
  // Connects to *address. If sessions go on at other addresses, passes over addresses that are lost
  // or that do not accept a connection, and sets *address to the one that does.
  std::unique_ptr<SqlConnection> ConnectFrom(size_t* address);
  // Marks an address as lost, for the reason `why`. Returns false, and marks nothing, if sessions
  // cannot go on without this address.
  bool MarkLost(size_t address, const std::string& why);
  // Returns why an address is lost; an empty text when it is not.
  std::string WhyLost(size_t address) const;
  // Returns what `connect` returns, which connects to the address. Throws LostConnection when it
  // fails and sessions can go on without the address.
  template <typename Connect>
  auto Reach(size_t address, const Connect& connect) const {
    try {
      return connect();
    } catch (const Error& error) {
      if (!GoesOnWithout(address)) throw;
      throw LostConnection(error.what(), EIO);
    }
  }
  // Calls `work` for each address that is not lost. When `work` throws LostConnection, marks that
  // address as lost (MarkLost). If sessions cannot go on without the address, the exception passes.
  void AtEach(const std::function<void(size_t address)>& work);
  // Where the dialect opens tables for reads, a session joins before its first turn and leaves
  // after its last, and uses its connection only as long as it holds a turn. So a table can get an
  // index: OpenIndex waits until no session has a turn, and makes all sessions close the table.
  void Join(SqlTableReader* reader);
  void Leave(SqlTableReader* reader);
  std::shared_lock<std::shared_mutex> Turn() {
    return opens_tables_ ? std::shared_lock(turns_) : std::shared_lock<std::shared_mutex>();
  }
  // Runs a statement on the store's own connection to the address, which the first call makes. The
  // connection lives as long as the store, and so does a lock that the server gives to it
  // (engines/sql/ownership.h).
  std::vector<SqlConnection::Row> Ask(const std::string& sql, size_t address = 0);
  // Returns the first value of the answer to `sql`; empty when there is none.
  std::string AskOne(const std::string& sql, size_t address = 0);

  // Returns whether a thread of the server that this machine's kernel account can follow serves the
  // store's own connection to the address (SqlConnection::server_thread).
  bool IsFollowed(size_t address);

  const SqlDialect& dialect() const { return *dialect_; }
  const SqlLimits& limits() const { return limits_; }
  const std::string& engine() const { return engine_; }
  const std::string& schema() const { return schema_; }  // without quotation marks
  // Counts a commit, for LazySync. A session calls it before it acknowledges the commit. Throws the
  // error of FailCommits.
  void NoteCommit() {
    commits_.fetch_add(1, std::memory_order_relaxed);
    if (failed_.load(std::memory_order_relaxed)) [[unlikely]]
      ThrowFailure();
  }
  // Makes NoteCommit throw from now on. The engine calls it after a failed sync of lazy durability:
  // commits that the sync was to make durable may be lost, and the next sync would succeed.
  void FailCommits(const Error& error);
  uint64_t commits() const { return commits_.load(std::memory_order_relaxed); }

 private:
  bool GoesOnWithout(size_t address) const { return limits_.goes_on && address != 0; }
  void CheckName(const std::string& name) const;
  std::string Qualified(const std::string& table) const;
  std::optional<TableId> Find(const std::string& name) const;
  TableId Add(const std::string& name, SqlTable table);
  [[noreturn]] void ThrowFailure() const;

  const std::string engine_;
  const std::unique_ptr<SqlDialect> dialect_;
  const std::string schema_;
  const SqlLimits limits_;
  const ConnectTo connect_;
  const std::function<void()> made_;
  const size_t addresses_;
  std::atomic<uint64_t> commits_{0};
  std::atomic<bool> failed_{false};

  mutable Mutex mutex_;  // protects the tables, failure_ and lost_
  std::optional<Error> failure_ GUARDED_BY(mutex_);
  std::vector<std::string> lost_ GUARDED_BY(mutex_);  // for each address why it is lost, or empty
  std::vector<std::string> names_ GUARDED_BY(mutex_);
  std::vector<SqlTable> tables_ GUARDED_BY(mutex_);
  const bool opens_tables_;
  std::shared_mutex turns_;  // held exclusively while a table gets an index; before readers_mutex_
  Mutex readers_mutex_;
  std::vector<SqlTableReader*> readers_ GUARDED_BY(readers_mutex_);
  SqlConnection& Asked(size_t address) REQUIRES(asking_);

  Mutex asking_;
  std::vector<std::unique_ptr<SqlConnection>> connections_ GUARDED_BY(asking_);  // by address
};

}  // namespace testbed

#endif  // TESTBED_ENGINES_SQL_STORE_H_
