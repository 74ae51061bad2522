// WiredTiger's file-system extension point (WT_FILE_SYSTEM, WT_FILE_HANDLE) on device/file/file.h, so
// that WiredTiger's IO has the mode that was asked for and each call is counted and charged.
//
//   FileSystem files({.io = IoMode::kDirect, .alignment = 4096});
//   FileSystem::Install install(&files);        // for wiredtiger_open on this thread
//   wiredtiger_open(dir, handler, (config + FileSystem::kExtension).c_str(), &conn);
//
// The files of a database by kind: *.wt (tables, and WiredTigerHS.wt, which holds old versions of
// rows) are data; WiredTigerLog.* and WiredTigerPreplog.* are log; WiredTiger.wt (the catalogue, a
// b-tree too), WiredTiger.turtle, WiredTiger, WiredTiger.lock and what else there may be are meta.
// B-tree files, the catalogue included, are opened in the IO mode; log and the other files are
// buffered, the log direct if the connection says direct_io=(log).
//
// WiredTiger has threads of its own (eviction, log, sweep). What such a thread does is charged to
// eviction, or to log-write on log files; application threads that must help evicting stay charged
// to their own operation, because it is what the operation cost.
//
// Mapped files: WiredTiger has no use for a mapping of a live table, it reads pages into memory of
// its own. A read in mmap mode is therefore a copy out of the mapping.
//
// No exception leaves a callback: it becomes an errno and a sentence (errors.h). Thread-safe. The
// FileSystem must outlive the connection.
#ifndef TESTBED_ENGINES_WIREDTIGER_FILE_SYSTEM_H_
#define TESTBED_ENGINES_WIREDTIGER_FILE_SYSTEM_H_

#include <wiredtiger.h>

#include <atomic>
#include <string>
#include <string_view>

#include "device/file/file.h"

namespace testbed::wiredtiger {

// What the file layer knows of the calling thread.
struct ThreadState {
  // Set on threads that came through a Session or Engine; WiredTiger's own have it false.
  bool application = false;
  uint64_t data_reads = 0;  // blocks read from data files on this thread
};
inline constinit thread_local ThreadState thread_state;

class FileSystem {
 public:
  struct Options {
    IoMode io = IoMode::kBuffered;
    Advice advice = Advice::kNormal;  // for data files in that mode
    // What WiredTiger aligns its direct requests to (its buffer_alignment); a device that needs
    // more is an error. 0 = no direct IO.
    size_t alignment = 0;
    bool log_dsync = false;  // O_DSYNC log files: transaction_sync=(method=dsync)
  };

  // The part of wiredtiger_open's configuration that loads the extension.
  static constexpr std::string_view kExtension =
      ",extensions=[local={entry=testbed_wiredtiger_file_system,early_load=true}]";

  // While it lives, a connection opened by this thread uses the file system.
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
  uint64_t log_bytes_written() const { return log_bytes_.load(std::memory_order_relaxed); }
  // Direct requests that File had to copy, because WiredTiger's buffer was not aligned.
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
