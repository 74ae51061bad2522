// FileSystem implements WiredTiger's file-system extension (WT_FILE_SYSTEM, WT_FILE_HANDLE) with
// File (device/file/file.h), so that WiredTiger's IO uses the IO mode of the run and each call is
// counted.
//
//   FileSystem files({.io = IoMode::kDirect, .alignment = 4096});
//   FileSystem::Install install(&files);        // for wiredtiger_open on this thread
//   config += FileSystem::kExtension;
//   wiredtiger_open(dir.c_str(), errors.handler(), config.c_str(), &connection);
//
// Kinds of file: *.wt are data (the tables, and WiredTigerHS.wt, which holds old versions of rows).
// WiredTigerLog.*, WiredTigerPreplog.* and WiredTigerTmplog.* are log. All other files are meta:
// WiredTiger.wt (the catalogue, also a b-tree), WiredTiger.turtle, WiredTiger, WiredTiger.lock.
//
// B-tree files, including the catalogue, are opened in the IO mode of the run. The log is buffered,
// or direct with direct_io=(log) in the connection's configuration. Other files are buffered.
//
// The IO of WiredTiger's own threads (eviction, log, sweep) is charged to eviction, or to log-write
// when it is on a log file. When WiredTiger makes an application thread evict pages, the IO stays
// charged to the operation of that thread.
//
// In mmap mode a read copies the bytes out of the mapping, because WiredTiger reads pages of a
// table into memory of its own.
//
// A callback never throws: it turns an exception into a return code (FileError in errors.h).
// Thread-safe. The FileSystem must outlive the connection.
#ifndef TESTBED_ENGINES_WIREDTIGER_FILE_SYSTEM_H_
#define TESTBED_ENGINES_WIREDTIGER_FILE_SYSTEM_H_

#include <wiredtiger.h>

#include <atomic>
#include <string>
#include <string_view>

#include "device/file/file.h"

namespace testbed::wiredtiger {

// ThreadState is what the file layer knows about the calling thread.
struct ThreadState {
  // This is true on a thread of testbed's, which has called a Session or the Engine, and false on
  // WiredTiger's own threads.
  bool application = false;
  uint64_t data_reads = 0;  // number of this thread's reads from data files
  uint64_t log_syncs = 0;   // number of this thread's syncs of log files
};
inline constinit thread_local ThreadState thread_state;

class FileSystem {
 public:
  struct Options {
    IoMode io = IoMode::kBuffered;
    Advice advice = Advice::kNormal;  // advice for b-tree files
    // This is the alignment in bytes of WiredTiger's direct requests (its buffer_alignment); 0 = no
    // direct IO. Opening a file on a device that needs a larger alignment fails.
    size_t alignment = 0;
    bool log_dsync = false;  // log files have O_DSYNC: transaction_sync=(method=dsync)
  };

  // As a part of wiredtiger_open's configuration, this text loads the extension.
  static constexpr std::string_view kExtension =
      ",extensions=[local={entry=testbed_wiredtiger_file_system,early_load=true}]";

  // While an Install exists, connections that its thread opens use the file system.
  class Install {
   public:
    explicit Install(FileSystem* files);
    ~Install();
    Install(const Install&) = delete;
    Install& operator=(const Install&) = delete;
  };

  explicit FileSystem(const Options& options);
  FileSystem(const FileSystem&) = delete;
  FileSystem& operator=(const FileSystem&) = delete;

  static FileKind KindOf(std::string_view path);
  WT_FILE_SYSTEM* interface() { return &c_; }
  const Options& options() const { return options_; }
  // Returns the bytes written to log files, without the zeros that fill a file ahead of records.
  uint64_t log_bytes_written() const { return log_bytes_.load(std::memory_order_relaxed); }
  // Returns how many direct requests File had to copy, because their offset, length or memory was
  // not aligned.
  uint64_t copied_requests() const { return copied_.load(std::memory_order_relaxed); }

 private:
  friend struct FileSystemCalls;
  struct C : WT_FILE_SYSTEM {
    C() : WT_FILE_SYSTEM{} {}
    FileSystem* owner = nullptr;
  };
  C c_;
  const Options options_;
  std::atomic<uint64_t> log_bytes_{0};
  std::atomic<uint64_t> copied_{0};
};

}  // namespace testbed::wiredtiger

#endif  // TESTBED_ENGINES_WIREDTIGER_FILE_SYSTEM_H_
