// A Server is an embedded server with one database of testbed in a directory.
//
//   Server server(dir, settings);
//   TableId table = server.OpenTable("default");
//   server.Call([&] { connection.Run("SELECT 1"); });   // on a thread that the library knows
//
// Layout: `dir` is the server's data directory (ibdata1, ib_logfile0, ...); the tables are those of
// schema "testbed", each `k VARBINARY PRIMARY KEY, v LONGBLOB`. A secondary index is one of InnoDB,
// on a virtual column that is cut from v. Thread-safe.
#ifndef TESTBED_ENGINES_INNODB_SERVER_H_
#define TESTBED_ENGINES_INNODB_SERVER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/os/dir_lock.h"
#include "device/os/mutex.h"
#include "engines/engine.h"
#include "engines/innodb/connection.h"
#include "engines/innodb/library.h"
#include "engines/innodb/service_thread.h"
#include "engines/innodb/settings.h"
#include "engines/innodb/table_info.h"
#include "engines/lazy_sync.h"

namespace testbed::innodb {

inline constexpr char kSchema[] = "testbed";

// A HandlerOwner is a session as the server sees it. Its HANDLER on a table must be closed before
// the table gets an index.
class HandlerOwner {
 public:
  virtual ~HandlerOwner() = default;
  virtual void CloseHandler(TableId table) = 0;  // any thread may call it
};

class Server {
 public:
  // Starts a server for the database in `dir`, and makes the database if there is none. Leaves no
  // files of a database that could not be made.
  Server(const std::string& dir, const Settings& settings);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  const std::string& dir() const { return dir_; }
  const Settings& settings() const { return settings_; }
  const Library* library() const { return library_; }

  // Runs `work`, which may send statements. If the calling thread is the main thread, `work` runs
  // on the service thread (service_thread.h), and otherwise on the calling thread.
  template <typename Work>
  void Call(Work&& work) {
    if (OnMainThread()) {
      service_.Run(std::ref(work));
    } else {
      MakeThreadKnown();
      work();
    }
  }

  // Returns the table's id, and makes a table that is missing, durably. Throws Error.
  TableId OpenTable(const std::string& table);
  // Does the same for an index of a table, on which all sessions close their HANDLERs.
  TableId OpenIndex(const std::string& index, TableId table, const std::vector<IndexPart>& parts);
  // Throws Error (kUsage) for an id that neither function has returned.
  TableInfo Table(TableId table) const;
  // A session joins before it opens a HANDLER, and leaves before it is destroyed.
  void Join(HandlerOwner* session);
  void Leave(HandlerOwner* session);

  // A session calls it before it acknowledges a commit. Throws the error of a failed lazy sync.
  void NoteCommit() {
    if (lazy_ != nullptr) lazy_->ThrowIfFailed();
    commits_.fetch_add(1, std::memory_order_relaxed);
  }

  // Writes the pages that were changed before the call, and returns once a checkpoint lies behind
  // these changes. When no session writes meanwhile, no page is dirty afterwards.
  void WriteAll();
  void Settle();  // calls WriteAll when the purge of old rows is done or makes no progress
  // Returns when the buffer pool has its new size, in whole MiB. Throws what ResizePool throws.
  void Resize(uint64_t bytes);

  std::map<std::string, uint64_t> Status();  // numbers of SHOW GLOBAL STATUS, without "Innodb_"
  std::map<std::string, std::string> Variables();  // SHOW GLOBAL VARIABLES
  std::string log_file() const { return dir_ + "/ib_logfile0"; }

 private:
  // A Running is a loaded library in which a server runs. Threads that were known to the library
  // share the ownership, because they may end after the server.
  class Running;
  class ThreadPass;

  void MakeThreadKnown();
  void Start();
  void CheckOptions();
  void EndPurge() noexcept;
  void Stop();
  void Prepare();
  void SyncLazily();
  void RegisterFiles() const;
  bool HasSessions();
  std::vector<Connection::Row> Ask(const std::string& sql);
  TableId Add(const std::string& name, TableInfo info);
  std::optional<TableId> Find(const std::string& name) const;

  const std::string dir_;
  Settings settings_;
  DirLock lock_;
  std::shared_ptr<Running> running_;
  const Library* library_ = nullptr;  // library of running_
  ServiceThread service_;
  std::unique_ptr<Connection> connection_;  // used on the service thread
  std::unique_ptr<Connection> lazy_connection_;
  int log_fd_ = -1;
  std::atomic<uint64_t> commits_{0};
  mutable Mutex mutex_;                                // protects the two vectors below
  std::vector<std::string> names_ GUARDED_BY(mutex_);  // indexed by TableId
  std::vector<TableInfo> tables_ GUARDED_BY(mutex_);   // indexed by TableId
  Mutex sessions_mutex_;
  std::vector<HandlerOwner*> sessions_ GUARDED_BY(sessions_mutex_);
  Mutex making_;    // held while a table is made, so that none is used before a checkpoint has it
  Mutex changing_;  // held while server variables differ from the run's; locked after making_
  std::unique_ptr<LazySync> lazy_;  // declared last: its thread uses the other members
};

// Returns whether `dir` holds a database. Throws Error (kIo) when the system does not tell.
bool Recognises(const std::string& dir);

}  // namespace testbed::innodb

#endif  // TESTBED_ENGINES_INNODB_SERVER_H_
