// An open LMDB environment (one data file, all tables in it), and the transactions on it.
//
//   Environment env(dir, settings);
//   Snapshot snapshot(&env);
//   snapshot.Refresh();                       // shows the newest commit
//   mdb_get(snapshot.txn(), ...);
//   MDB_txn* write = env.BeginWrite();        // waits for the writer before
//   mdb_put(write, ...);
//   env.CommitWrite(write);
//
// LMDB's codes become Error here: Check and Fail know the sentence that each means. Environment is
// thread-safe; a Snapshot belongs to one thread at a time; a write transaction ends on the thread
// on which it began, because LMDB holds a lock of that thread meanwhile.
#ifndef TESTBED_ENGINES_LMDB_ENVIRONMENT_H_
#define TESTBED_ENGINES_LMDB_ENVIRONMENT_H_

#include <lmdb.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "device/error.h"
#include "device/os/dir_lock.h"
#include "engines/engine.h"
#include "engines/lmdb/settings.h"

namespace testbed::lmdb {

class Environment {
 public:
  // Opens the database in `dir`, or makes one. Nothing is left when it cannot be made.
  Environment(const std::string& dir, const Settings& settings);
  ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  const std::string& dir() const { return dir_; }
  const Settings& settings() const { return settings_; }
  MDB_envinfo Info() const;
  size_t longest_key() const { return longest_key_; }
  // The number of the newest commit; they count up by one.
  uint64_t LastCommit() const { return Info().me_last_txnid; }

  // Throws when this thread has a write transaction open.
  TableId OpenTable(const std::string& table);
  // LMDB's handles by TableId, and how many there are.
  std::vector<MDB_dbi> Tables() const;
  uint32_t table_count() const { return table_count_.load(std::memory_order_acquire); }
  // Of all tables in the file, opened or not.
  std::vector<MDB_dbi> AllTables() const;

  // Begins the write transaction, waiting for that of another thread. Throws when this thread has
  // one already, and after the lazy sync has failed.
  MDB_txn* BeginWrite();
  // Both end it, whatever happens.
  void CommitWrite(MDB_txn* txn);
  void AbortWrite(MDB_txn* txn);
  // Throws when the write transaction under way is not of this thread.
  void CheckWriter() const;

  // Makes durable what was committed.
  void Sync();
  // The first failure of a sync that no commit waits for; thrown to whoever writes next.
  void NoteSyncFailure(const Error& error);

  void Check(int code, const char* doing) const {
    if (code != 0) [[unlikely]]
      Fail(code, doing);
  }
  // Throws the Error that `code` means; `doing` is a phrase, as in "reading a row".
  [[noreturn]] void Fail(int code, const std::string& doing) const;

 private:
  void Open();
  void OpenFound();
  MDB_dbi FindOrCreate(const std::string& table);
  void RegisterFiles() const;
  [[noreturn]] void ThrowSyncFailure() const;

  const std::string dir_;
  Settings settings_;
  DirLock lock_;
  MDB_env* env_ = nullptr;
  size_t longest_key_ = 0;
  std::atomic<uintptr_t> writer_{0};  // the thread that writes

  // One table is opened at a time. Taken before LMDB's write lock; mutex_ never is, because a
  // writer may ask for the tables.
  std::mutex opening_;
  mutable std::mutex mutex_;  // guards what follows
  struct Table {
    std::string name;
    MDB_dbi dbi;
  };
  std::vector<Table> all_;          // that the file has
  std::vector<std::string> names_;  // of those opened, by TableId
  std::vector<MDB_dbi> tables_;     // the same
  std::optional<Error> sync_failure_;
  std::atomic<uint32_t> table_count_{0};
  std::atomic<bool> sync_failed_{false};

  friend class Snapshot;
};

// A read transaction that is made once and shows a new commit when asked to. It takes a place among
// LMDB's readers as long as it lives. While it shows a commit, pages that later commits free are
// not used again.
class Snapshot {
 public:
  explicit Snapshot(Environment* env) : env_(env) {}
  ~Snapshot() {
    if (txn_ != nullptr) ::mdb_txn_abort(txn_);
  }
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  // Shows the newest commit, with all tables. Returns false when it did so before: cursors on it
  // stand where they stood; otherwise they must be renewed.
  bool Refresh();
  // Shows nothing. What was read is no longer valid.
  void Release() {
    if (!showing_) return;
    ::mdb_txn_reset(txn_);
    showing_ = false;
  }
  MDB_txn* txn() const { return txn_; }

 private:
  Environment* const env_;
  MDB_txn* txn_ = nullptr;
  bool showing_ = false;
  uint64_t commit_ = 0;
  uint32_t tables_ = 0;  // that it knows
};

// The file that holds a database, and the one with LMDB's locks.
std::string DataFile(const std::string& dir);
std::string LockFile(const std::string& dir);

}  // namespace testbed::lmdb

#endif  // TESTBED_ENGINES_LMDB_ENVIRONMENT_H_
