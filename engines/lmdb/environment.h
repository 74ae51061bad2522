// An Environment is an open LMDB database, one data file with all tables in it. A Snapshot is a
// read transaction on it.
//
//   Environment env(dir, settings);
//   Snapshot snapshot(&env);
//   snapshot.Refresh();                       // shows the newest commit
//   env.Check(mdb_get(snapshot.txn(), table, &key, &value), "reading a row");
//   MDB_txn* write = env.BeginWrite();        // waits until no other thread writes
//   env.Check(mdb_put(write, table, &key, &value, 0), "writing a row");
//   env.CommitWrite(write);
//
// Check and Fail turn LMDB's codes into Error. An Environment is thread-safe. A Snapshot may be
// used by one thread at a time. A write transaction must end on the thread on which it began,
// because that thread holds LMDB's write lock.
#ifndef TESTBED_ENGINES_LMDB_ENVIRONMENT_H_
#define TESTBED_ENGINES_LMDB_ENVIRONMENT_H_

#include <lmdb.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/error.h"
#include "device/file/write_back_watch.h"
#include "device/os/dir_lock.h"
#include "engines/data_file/commit_failure.h"
#include "engines/data_file/one_writer.h"
#include "engines/engine.h"
#include "engines/lmdb/settings.h"
#include "engines/open_tables.h"

namespace testbed::lmdb {

class Environment {
 public:
  // Opens the database in `dir`, creating it when `dir` holds none. Throws Error when it cannot;
  // then no file of a new database is left. kUsage: another process has it open, it has another
  // page size, or there is no address space for map_size. kCorruption: the data file is missing
  // beside its lock file, or is empty.
  Environment(const std::string& dir, const Settings& settings);
  ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  const std::string& dir() const { return dir_; }
  const Settings& settings() const { return settings_; }
  MDB_envinfo Info() const;
  size_t longest_key() const { return longest_key_; }  // in bytes
  size_t longest_value() const { return UINT32_MAX; }
  // Returns the number of the newest commit. Commits are numbered consecutively.
  uint64_t LastCommit() const { return Info().me_last_txnid; }

  // Returns the table's id, and creates the table when it does not exist. Throws Error (kUsage) for
  // a name that LMDB cannot have, and Error (kRun) when a new table is opened while this thread has
  // a write transaction open.
  TableId OpenTable(const std::string& table);
  // Returns LMDB's handles of all tables of the file, by TableId.
  std::vector<MDB_dbi> Tables() const { return tables_.Handles(); }
  uint32_t table_count() const { return tables_.count(); }

  // Begins the write transaction, after waiting for the end of another thread's. Throws Error
  // (kRun) when this thread has a write transaction already. After a failed commit or sync, throws
  // its Error (commit_failure.h).
  MDB_txn* BeginWrite();
  // CommitWrite and AbortWrite end the transaction, even when CommitWrite throws.
  void CommitWrite(MDB_txn* txn);
  void AbortWrite(MDB_txn* txn);
  // Throws Error (kRun) unless the calling thread has the open write transaction.
  void CheckWriter() const { writer_.CheckThis(); }
  // Returns whether the calling thread has the open write transaction.
  bool IsWriter() const { return writer_.IsThisThread(); }

  // Makes all commits durable. With sync durability they are durable already. Once a sync or a
  // commit has failed, each later call of Sync and of BeginWrite throws its error.
  void Sync();

  void Check(int code, const char* doing) const {
    if (code != 0) [[unlikely]]
      Fail(code, doing);
  }
  // Throws the Error for LMDB's `code`. `doing` names what failed in the sentence: "reading a row".
  [[noreturn]] void Fail(int code, const std::string& doing) const;

 private:
  void Open();
  void OpenFound();
  MDB_dbi Create(const std::string& table);
  void SyncFile();

  const std::string dir_;
  Settings settings_;
  DirLock lock_;
  std::optional<WriteBackWatch> watch_;  // watches the data file
  MDB_env* env_ = nullptr;
  size_t longest_key_ = 0;
  OneWriter writer_{"lmdb"};
  OpenTables<MDB_dbi> tables_;
  CommitFailure failure_;

  friend class Snapshot;
};

// A Snapshot is a read transaction that is used again and again: Refresh makes it show the newest
// commit. From its first Refresh until its destruction it takes a slot of LMDB's reader table.
// While it shows a commit, LMDB does not reuse the pages that later commits free. Not thread-safe.
class Snapshot {
 public:
  explicit Snapshot(Environment* env) : env_(env) {}
  ~Snapshot() {
    if (txn_ != nullptr) ::mdb_txn_abort(txn_);
  }
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  // Shows the newest commit, with all tables. Returns false when the snapshot showed that commit
  // already; then its cursors keep their positions. When it returns true, the caller must renew the
  // cursors on this snapshot.
  bool Refresh();
  // Stops showing a commit. Bytes that were read from the snapshot are no longer valid.
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
  uint64_t commit_ = 0;  // number of the commit that the snapshot shows
  uint32_t tables_ = 0;  // Environment::table_count() at the last Refresh
};

// DataFile returns the path of the database file, and LockFile that of LMDB's lock file.
std::string DataFile(const std::string& dir);
std::string LockFile(const std::string& dir);

}  // namespace testbed::lmdb

#endif  // TESTBED_ENGINES_LMDB_ENVIRONMENT_H_
