// A Vfs implements SQLite's operating system interface (sqlite3_vfs, sqlite3_io_methods) with File
// (device/file/file.h), so that SQLite's IO uses the IO mode of the run and each call is counted.
//
//   Vfs vfs({.dir = dir, .io = IoMode::kDirect});
//   sqlite3_open_v2(DatabaseFile(dir).c_str(), &db, flags, vfs.name());
//
// Kinds of file: the database is data and is opened in the IO mode of the run. The write-ahead log
// and the rollback journal are log, and SQLite's temporary files are temp; these are buffered,
// because SQLite writes them in pieces that direct IO does not allow.
//
// All connections of one Vfs share one File for each file, and they share the file lock and the
// index of the write-ahead log in memory (locks.h). Other programs are kept out by a lock on the
// bytes that SQLite's own VFS locks. A Vfs keeps a copy of the first 100 bytes of the database,
// from which it serves the read of the change counter that begins each transaction without WAL.
//
// In mmap mode SQLite reads pages in place (xFetch) while it does not write, at any offset. Its
// bound of 2 GiB on mmap_size applies to its own VFS only.
//
// A callback never throws. It keeps an Error for the calling thread, which TakeError returns, and
// returns one of SQLite's codes. A file whose sync has failed fails for good, because the kernel
// has dropped what it could not write. Thread-safe. Close the connections before the Vfs.
#ifndef TESTBED_ENGINES_SQLITE_VFS_H_
#define TESTBED_ENGINES_SQLITE_VFS_H_

#include <sqlite3.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "device/error.h"
#include "device/file/file.h"
#include "device/os/mutex.h"
#include "engines/sqlite/locks.h"

namespace testbed::sqlite {

// These return the paths of the database file, its write-ahead log and its rollback journal.
std::string DatabaseFile(const std::string& dir);
std::string WalFile(const std::string& dir);
std::string JournalFile(const std::string& dir);

// An OpenFile is an open file, shared by all connections that have it open.
class OpenFile {
 public:
  static constexpr size_t kHeader = 100;  // bytes of SQLite's database header

  // If `creates`, the file is new, and its first sync also syncs its directory.
  OpenFile(std::unique_ptr<File> file, bool creates);

  File& file() { return *file_; }
  FileKind kind() const { return file_->options().kind; }
  uint64_t size() const { return size_.load(std::memory_order_relaxed); }
  // Reads up to `n` bytes; returns fewer when the file ends before. Throws Error.
  size_t Read(uint64_t offset, void* buffer, size_t n);
  void Write(uint64_t offset, const void* data, size_t n);
  void Truncate(uint64_t size);
  void Sync();
  // Waits for a running sync, and then syncs unless nothing was written since the last sync.
  void SyncIfWritten();

  FileLock lock;  // lock of the database file

 private:
  bool ReadHeader(uint64_t offset, void* buffer, size_t n);
  void CheckSyncs();
  void SyncLocked() REQUIRES(sync_mutex_);

  const std::unique_ptr<File> file_;
  std::atomic<uint64_t> size_;
  std::atomic<bool> written_{false};  // set after each change: a sync meanwhile may miss it
  std::atomic<bool> failed_{false};
  // A sync holds this mutex until it has kept its failure. Otherwise the next sync would succeed,
  // although the bytes of the failed one may be lost. It is locked before mutex_.
  Mutex sync_mutex_;
  Mutex mutex_;
  bool sync_directory_ GUARDED_BY(mutex_);
  std::optional<Error> failure_ GUARDED_BY(mutex_);  // error of the sync that failed
  bool has_header_ GUARDED_BY(mutex_) = false;
  char header_[kHeader] GUARDED_BY(mutex_);
};

class Vfs {
 public:
  struct Options {
    std::string dir;
    IoMode io = IoMode::kBuffered;
    Advice advice = Advice::kNormal;
    bool read_only = false;
  };
  explicit Vfs(const Options& options);
  ~Vfs();
  Vfs(const Vfs&) = delete;
  Vfs& operator=(const Vfs&) = delete;

  const char* name() const { return name_.c_str(); }
  const Options& options() const { return options_; }

  // SyncLog and SyncData make written bytes durable. They throw Error when they cannot.
  void SyncLog();   // syncs the write-ahead log and the rollback journal, if they are open
  void SyncData();  // syncs the database
  // Waits until a connection gives up a lock of the database, but no longer than `most`.
  void WaitForLocks(std::chrono::milliseconds most) const;

  // Written has the blocks and bytes of the database, and the bytes of logs, written so far.
  struct Written {
    uint64_t blocks = 0, block_bytes = 0, log_bytes = 0;
  };
  Written written() const;
  // Returns the Error of the last callback that failed on this thread, and forgets the error.
  static std::optional<Error> TakeError();
  // Forgets that Error before each call of SQLite: it would pass for the cause of the next failure.
  static void ForgetError() noexcept;

 private:
  friend struct VfsCalls;
  std::shared_ptr<OpenFile> Open(const std::string& path, FileKind kind, bool create,
                                 bool temporary);
  std::shared_ptr<OpenFile> Find(const std::string& path) const;
  std::string TemporaryName();
  void LockOut(OpenFile* database) const;
  void CountWrite(FileKind kind, uint64_t bytes);

  const Options options_;
  const std::string name_;
  const std::string database_;  // path of the database file
  sqlite3_vfs c_{};
  WalIndex wal_index_;
  mutable Mutex mutex_;
  std::map<std::string, std::shared_ptr<OpenFile>> files_ GUARDED_BY(mutex_);  // by path
  std::atomic<uint64_t> blocks_{0}, block_bytes_{0}, log_bytes_{0};
};

}  // namespace testbed::sqlite

#endif  // TESTBED_ENGINES_SQLITE_VFS_H_
