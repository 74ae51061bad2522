// An Environment is an open database of libmdbx, one data file with all tables in it. A Snapshot is
// a read transaction on it. Both are what engines/data_file/snapshot_session.h asks for.
//
// Check and Fail turn libmdbx's codes into Error. An Environment is thread-safe. A Snapshot may be
// used by one thread at a time. A write transaction must end on the thread on which it began,
// because that thread holds libmdbx's write lock.
#ifndef TESTBED_ENGINES_MDBX_ENVIRONMENT_H_
#define TESTBED_ENGINES_MDBX_ENVIRONMENT_H_

#include <mdbx.h>

#include <atomic>
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
#include "engines/mdbx/settings.h"
#include "engines/open_tables.h"

namespace testbed::mdbx {

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
  MDBX_envinfo Info() const;
  size_t longest_key() const { return longest_key_; }  // in bytes
  size_t longest_value() const { return longest_value_; }
  // Returns a number that grows with each commit of this process.
  uint64_t commits() const { return commits_.load(std::memory_order_acquire); }

  // Returns the table's id, and creates the table when it does not exist. Throws Error (kUsage) for
  // a name that libmdbx cannot have, and Error (kRun) when a new table is opened while this thread
  // has a write transaction open.
  TableId OpenTable(const std::string& table);
  // Returns libmdbx's handles of all tables of the file, by TableId.
  std::vector<MDBX_dbi> Tables() const { return tables_.Handles(); }
  uint32_t table_count() const { return tables_.count(); }

  // Begins the write transaction, after waiting for the end of another thread's. Throws Error
  // (kRun) when this thread has a write transaction already. After a failed commit or sync, throws
  // its Error (commit_failure.h).
  MDBX_txn* BeginWrite();
  // CommitWrite and AbortWrite end the transaction, even when CommitWrite throws.
  void CommitWrite(MDBX_txn* txn);
  void AbortWrite(MDBX_txn* txn);
  // Throws Error (kRun) unless the calling thread has the open write transaction.
  void CheckWriter() const { writer_.CheckThis(); }
  // Returns whether the calling thread has the open write transaction.
  bool IsWriter() const { return writer_.IsThisThread(); }

  // Makes all commits durable. With sync durability they are durable already. Once a sync or a
  // commit has failed, each later call of Sync and of BeginWrite throws its error.
  void Sync();
  // Calls Sync for lazy durability, on the thread of LazySync. It throws nothing; the next
  // BeginWrite throws the error of a failed sync.
  void SyncLazily();

  void Check(int code, const char* doing) const {
    if (code != MDBX_SUCCESS) [[unlikely]]
      Fail(code, doing);
  }
  // Throws the Error for libmdbx's `code`. `doing` names what failed in the sentence: "reading a
  // row".
  [[noreturn]] void Fail(int code, const std::string& doing) const;

 private:
  friend class Snapshot;
  void Open();
  void OpenFound();
  void FindMapping();
  MDBX_dbi Create(const std::string& table);
  // Returns the length of the data file if its growth changes the advice of the mapping, else 0.
  uint64_t BytesToAdvise() const;
  void Advise() const;  // gives the mapping the run's advice (madvise)
  void SyncFile();

  const std::string dir_;
  Settings settings_;
  DirLock lock_;
  std::optional<WriteBackWatch> watch_;  // watches the data file
  MDBX_env* env_ = nullptr;
  size_t longest_key_ = 0, longest_value_ = 0;
  int fd_ = -1;                                  // libmdbx's descriptor of the data file
  uintptr_t mapping_ = 0;                        // address of the mapping of the data file
  size_t mapping_bytes_ = 0;                     // length of the mapping
  std::atomic<uint64_t> bytes_before_write_{0};  // BytesToAdvise() at the begin of the last write
  std::atomic<uint64_t> commits_{0};
  OneWriter writer_{"mdbx"};
  OpenTables<MDBX_dbi> tables_;
  CommitFailure failure_;
};

// A Snapshot is a read transaction that is used again and again: Refresh makes it show the newest
// commit. While it shows a commit, libmdbx does not reuse the pages that later commits free. Not
// thread-safe.
class Snapshot {
 public:
  explicit Snapshot(Environment* env) : env_(env) {}
  ~Snapshot() {
    if (txn_ != nullptr) ::mdbx_txn_abort(txn_);
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
    ::mdbx_txn_reset(txn_);
    showing_ = false;
  }
  MDBX_txn* txn() const { return txn_; }

 private:
  Environment* const env_;
  MDBX_txn* txn_ = nullptr;
  bool showing_ = false;
  uint64_t commits_ = 0;  // Environment::commits() at the last Refresh
  uint32_t tables_ = 0;   // Environment::table_count() at the last Refresh
};

// DataFile returns the path of the database file, and LockFile that of libmdbx's lock file.
std::string DataFile(const std::string& dir);
std::string LockFile(const std::string& dir);

}  // namespace testbed::mdbx

#endif  // TESTBED_ENGINES_MDBX_ENVIRONMENT_H_
