// A Connection is one of SQLite's connections to the database, with its prepared statements and its
// page cache. CacheShares divides the engine's cache among the connections.
//
//   Connection connection(&vfs, settings, &shares, [&](TableId table) { return Name(table); },
//                         /*creates=*/true);
//   {
//     Connection::Call call(&connection);               // one thread at a time
//     Statement get = connection.Take(table, Query::kGet);
//     get.BindBlob(1, key);
//     if (get.Step("reading a row")) Use(get.Column(0));
//     connection.Give(std::move(get));
//   }
//
// SQLite's own mutex of a connection is off. Each use of a connection and of its statements must be
// inside a Call, which locks the connection: other threads read its counters and change the size of
// its cache between two calls. Calls of one thread do not nest.
#ifndef TESTBED_ENGINES_SQLITE_CONNECTION_H_
#define TESTBED_ENGINES_SQLITE_CONNECTION_H_

#include <sqlite3.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/os/mutex.h"
#include "engines/engine.h"
#include "engines/sqlite/settings.h"
#include "engines/sqlite/vfs.h"

namespace testbed::sqlite {

class Connection;

// CacheShares gives each connection in use the same share of the cache, because SQLite has a cache
// for each connection. A connection is in use from its first call until the other connections
// together have made some 16,000 to 32,000 calls while it made none; then its pages are freed.
// Thread-safe.
class CacheShares {
 public:
  explicit CacheShares(uint64_t bytes) : bytes_(bytes) {}
  // Changes the size of the whole cache. A connection in a call gets its new share with the next.
  void SetBytes(uint64_t bytes);
  uint64_t bytes() const;
  // A connection calls Add and Remove at its begin and end. It stays owned by the caller.
  void Add(Connection* connection);
  void Remove(Connection* connection);
  // Counts calls of `connection`, whose mutex the caller holds. Divides the cache anew when the set
  // of connections in use has changed.
  void Note(Connection* connection);
  // Returns a number that changes with each division.
  uint32_t division() const { return division_.load(std::memory_order_relaxed); }
  // Returns the bytes of a connection; 0 when it is not in use.
  uint64_t ShareOf(const Connection& connection) const;

 private:
  static constexpr uint64_t kIdleTurns = 64;
  void Divide(Connection* locked) REQUIRES(mutex_);

  mutable Mutex mutex_;  // locked after the mutex of a connection
  uint64_t bytes_ GUARDED_BY(mutex_);
  uint64_t turns_ GUARDED_BY(mutex_) = 0;  // number of calls of Note
  uint64_t in_use_ GUARDED_BY(mutex_) = 0;
  std::vector<Connection*> connections_ GUARDED_BY(mutex_);
  std::atomic<uint32_t> division_{0};
};

// A Query is a kind of statement that a connection prepares for each table.
enum class Query : uint8_t {
  kGet,
  kPut,
  kErase,
  kFrom,      // rows from a key on, in ascending order
  kAfter,     // rows after a key, in ascending order
  kDownFrom,  // rows up to a key, in descending order
  kBefore,    // rows before a key, in descending order
  kLast,      // all rows in descending order
  kCount
};

// A Statement is taken from its connection and given back to it. Move-only.
class Statement {
 public:
  Statement() = default;
  Statement(Connection* connection, sqlite3_stmt* stmt, TableId table, Query query)
      : connection_(connection), stmt_(stmt), table_(table), query_(query) {}
  explicit operator bool() const { return stmt_ != nullptr; }
  Query query() const { return query_; }
  Connection* connection() const { return connection_; }

  // Binds the bytes, which must not change until the statement is reset.
  void BindBlob(int parameter, std::string_view bytes);
  // Returns whether there is a row. On a failure it gives the statement back, so that this object
  // is empty, and throws Error.
  bool Step(const char* doing);
  // Returns a column of the row. It is valid until the next Step or Reset.
  std::string_view Column(int column) const;
  void Reset() { ::sqlite3_reset(stmt_); }

 private:
  friend class Connection;
  Connection* connection_ = nullptr;
  sqlite3_stmt* stmt_ = nullptr;
  TableId table_ = 0;
  Query query_ = Query::kGet;
};

class Connection {
 public:
  // A NameOf returns a table's name in SQL, quoted. Take calls it while the connection is locked.
  using NameOf = std::function<std::string(TableId)>;
  // Opens the database. A connection that `creates` the database sets its page size. Throws Error.
  Connection(Vfs* vfs, const Settings& settings, CacheShares* shares, NameOf name_of, bool creates);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  class Call {
   public:
    // The analysis cannot follow a lock that is a member.
    explicit Call(Connection* connection) NO_THREAD_SAFETY_ANALYSIS : lock_(connection->mutex_) {
      connection->Enter();
    }

   private:
    const LockGuard lock_;
  };

  // The functions below, up to CountsInCall, must be called inside a Call.
  sqlite3* db() const { return db_; }
  // Returns a reset statement: one that was given back, or else a new one.
  Statement Take(TableId table, Query query);
  // Resets the statement and keeps it for the next Take.
  void Give(Statement statement);
  // Runs SQL that returns no rows, or a PRAGMA. Returns the value of the PRAGMA.
  std::string Run(const std::string& sql, const char* doing);
  void Begin() { RunPrepared(&begin_, "BEGIN IMMEDIATE", "beginning to write"); }
  void Commit() { RunPrepared(&commit_, "COMMIT", "committing"); }
  // Rolls the transaction back. Does nothing when no transaction is open, because a failed call may
  // have ended it.
  void Rollback();
  uint64_t wal_pages() const { return wal_pages_; }  // pages in the WAL at the last commit
  // Sets how long the connection waits for locks that other connections hold.
  void set_busy_wait_ms(uint32_t ms) { busy_wait_ms_ = ms; }
  [[noreturn]] void Fail(int code, const char* doing) const;

  struct Counts {
    uint64_t hits = 0, misses = 0, cache_bytes = 0;
    Counts& operator+=(const Counts& o) {
      hits += o.hits, misses += o.misses, cache_bytes += o.cache_bytes;
      return *this;
    }
  };
  Counts CountsInCall();
  // Returns the counts. The caller must not be inside a Call.
  Counts LockedCounts() {
    LockGuard lock(mutex_);
    return CountsInCall();
  }

 private:
  friend class CacheShares;
  static constexpr uint32_t kCallsPerTurn = 256;
  void Enter() {
    Vfs::ForgetError();
    if (++calls_ % kCallsPerTurn == 0 || !in_use_.load(std::memory_order_relaxed)) [[unlikely]] {
      shares_->Note(this);
      TakeCounts();
    }
    if (division_ != shares_->division()) [[unlikely]]
      Resize();
  }
  void Configure(bool creates);
  void TakeCounts();
  void Resize();
  void SetCacheSize();  // sets the size of SQLite's cache to cache_bytes_
  sqlite3_stmt* Prepare(const std::string& sql, const char* doing) const;
  void RunPrepared(sqlite3_stmt** stmt, const char* sql, const char* doing);
  static int Busy(void* connection, int tries);

  Vfs* const vfs_;
  const Settings& settings_;  // settings of the database; Open sets the layout of tables
  CacheShares* const shares_;
  const NameOf name_of_;
  sqlite3* db_ = nullptr;
  Mutex mutex_;
  uint32_t busy_wait_ms_;
  uint32_t calls_ = 0;
  uint32_t division_ = 0;  // CacheShares::division() when cache_bytes_ was set
  uint64_t cache_bytes_ = 0;
  std::atomic<bool> in_use_{false};
  uint64_t turn_ = 0;  // CacheShares::turns_ at the last Note; CacheShares' mutex protects it
  uint64_t wal_pages_ = 0;
  uint64_t hits_ = 0, misses_ = 0;
  std::vector<std::vector<sqlite3_stmt*>> statements_;  // for Take, by table and query
  sqlite3_stmt *begin_ = nullptr, *commit_ = nullptr, *rollback_ = nullptr;
};

}  // namespace testbed::sqlite

#endif  // TESTBED_ENGINES_SQLITE_CONNECTION_H_
