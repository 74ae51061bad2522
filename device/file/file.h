// A File is a file opened in a chosen IO mode. An engine whose file layer testbed can replace does
// all its IO through this class. So the mode is enforced and each call is counted in one place: on
// the calling thread, under its open IoScope, by kind of file (device/account/ledger.h).
//
//   FileOptions options;
//   options.kind = FileKind::kData;
//   options.mode = IoMode::kDirect;
//   auto file = File::Open(path, options);
//   file->Read(offset, buffer, n);
//
// In direct mode, a request whose offset, length or memory is not aligned to alignment() goes
// through an aligned bounce buffer: a read is widened to whole blocks, and a write first reads the
// blocks that it covers in part. An aligned request is one system call.
// In mmap mode, reads copy from a shared mapping of the file, and View returns the bytes in place.
// Writes go through the page cache, so mapping and writes agree.
//
// Methods throw Error (kIo) with errno when the system refuses, and Error (kCorruption) when the
// file ends before the bytes asked for.
//
// Thread-safe, with three exceptions. Truncate must not run while a view of the part that it cuts
// off is in use. In direct mode two threads must not write parts of one block at once. In direct
// mode, too, a write whose end is not aligned may pad the file's last block and then cut the
// padding off, so no other thread may make the file longer meanwhile.
#ifndef TESTBED_DEVICE_FILE_FILE_H_
#define TESTBED_DEVICE_FILE_FILE_H_

#include <sys/stat.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/account/ledger.h"
#include "device/error.h"
#include "device/file/aligned_buffer.h"
#include "device/file/read_trace.h"
#include "device/os/mutex.h"

namespace testbed {

enum class IoMode : uint8_t { kDirect, kBuffered, kMmap };
const char* IoModeName(IoMode mode);  // "direct", "buffered", "mmap"

// An Advice is the access pattern that the kernel is told to expect, by posix_fadvise(2) for
// buffered files and by madvise(2) for mappings. kWillNeed announces each range before it is
// touched, so that a page of several blocks is one read whatever read_ahead_kb is; it has this
// effect in mmap mode only. Direct IO ignores the advice.
enum class Advice : uint8_t { kNormal, kRandom, kSequential, kWillNeed };
const char* AdviceName(Advice advice);

struct FileOptions {
  enum Create : uint8_t {
    kMustExist,   // fails when the file is absent
    kMayExist,    // creates the file when it is absent
    kMustCreate,  // fails when the file exists
    kTruncate,    // creates the file, or empties it when it exists
  };
  FileKind kind = FileKind::kData;
  IoMode mode = IoMode::kBuffered;
  Advice advice = Advice::kNormal;
  Create create = kMustExist;
  bool read_only = false;
  bool dsync = false;  // O_DSYNC: each write is durable when it returns
};

class File {
 public:
  // Opens the file and tells the ledger its kind. Throws Error (kUsage) when direct IO is asked for
  // and the file system has none, or says that it has none for this file (direct_io.h). Throws
  // Error (kIo) when the open fails otherwise, and when `path` leads to a pipe, a socket or a
  // device, for which it does not wait.
  static std::unique_ptr<File> Open(const std::string& path, const FileOptions& options);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // Reads exactly n bytes at offset. Throws Error (kCorruption) when the file ends before.
  void Read(uint64_t offset, void* buffer, size_t n);
  // Reads n bytes at offset, or fewer when the file ends before. Returns the number of bytes read.
  size_t ReadSome(uint64_t offset, void* buffer, size_t n);
  // Returns the n bytes at offset in place; mmap mode only. The view is valid until the File is
  // destroyed. Throws Error (kCorruption) when the file ends before. A disk error in the mapping is
  // a signal, not an Error.
  std::string_view View(uint64_t offset, size_t n);
  // Writes n bytes at offset; the file grows if they lie beyond its end. They are durable after
  // Sync, or at once with FileOptions::dsync.
  void Write(uint64_t offset, const void* data, size_t n);
  // Writes n bytes so that after a power cut the file holds all of them or none: pwritev2(2) with
  // RWF_ATOMIC (Linux 6.11). Direct mode only; n is a power of two, at most MostAtomicBytes(), and
  // offset a multiple of n.
  void WriteAtomic(uint64_t offset, const void* data, size_t n);
  // Returns the most bytes that WriteAtomic can write to this file; 0 when the mode is not direct,
  // or when the file system, its device or the kernel has no such writes.
  size_t MostAtomicBytes() const;
  // Makes written bytes durable by fdatasync(2), or by fsync(2) with `metadata`, which makes the
  // file's times durable too, and calls CheckNamed. When a sync fails, the system marks the pages
  // clean all the same, and tells one caller only. So syncs of a File, and writes with
  // FileOptions::dsync, run one at a time, and after a failed one all later ones throw its error.
  void Sync(bool metadata = false);
  // Throws Error (kIo) when the file has no name left, so that its bytes vanish when it is closed.
  void CheckNamed() const;
  // Throws Error (kIo) if the system failed to write pages of the file back by itself, and neither
  // this method nor Sync has reported that through this File before. After such a failure a read
  // may return what the device held before. Costs one system call and does not wait for the device.
  // On overlayfs it finds no failure (IsOnOverlay, page_cache.h), and only Sync reports it.
  void CheckWriteBack() const;

  uint64_t Size() const;            // in bytes
  uint64_t AllocatedBytes() const;  // bytes that the file takes on the device, without its holes
  void Truncate(uint64_t size);
  // Counts a read that was not made by pread(2): by io_uring (read_ring.h), or of a mapping.
  void CountStartedRead(uint64_t offset, size_t n, bool mapped = false) const;

  // Reserves space for [offset, offset+n) by fallocate(2). The file grows to offset+n, unless
  // `keep_size` is set. Returns false when the file system has no fallocate.
  bool Allocate(uint64_t offset, uint64_t n, bool keep_size = false);
  // Frees the space of the whole blocks in [offset, offset+n); the range then reads as zeros.
  // Returns false and changes nothing when the file system has no holes.
  bool Punch(uint64_t offset, uint64_t n);
  // Prefetch tells the kernel that the range will be read soon, and Forget that the range is no
  // longer needed. Both are hints: a refusal is not reported.
  void Prefetch(uint64_t offset, uint64_t n);
  void Forget(uint64_t offset, uint64_t n);

  const std::string& path() const { return path_; }
  const FileOptions& options() const { return options_; }
  int fd() const { return fd_; }
  // Returns the number of bytes of which offset, length and memory address of a direct request must
  // be multiples; 1 in other modes.
  size_t alignment() const { return alignment_; }

 private:
  struct stat Stat() const;  // throws Error when the system does not tell
  File(std::string path, const FileOptions& options, int fd);
  size_t ReadDirect(uint64_t offset, char* buffer, size_t n);
  void WriteDirect(uint64_t offset, const char* data, size_t n);
  size_t PreadAll(uint64_t offset, char* buffer, size_t n);
  void PwriteAll(uint64_t offset, const char* data, size_t n);
  // Performs `call`, which makes bytes durable. If an earlier call has failed, throws its error
  // instead (Sync).
  template <typename Call>
  void Durably(const Call& call) {
    LockGuard lock(sync_mutex_);
    if (sync_error_) throw Error(*sync_error_);
    try {
      call();
    } catch (const std::exception& error) {
      // Any exception counts as a failed sync. It may be a std::bad_alloc that was thrown while the
      // call made the Error for its failure.
      sync_error_ = Error::Of(error);
      throw;
    }
  }
  const char* Mapped(uint64_t offset, size_t n);
  void Remap(uint64_t size);
  bool Aligned(uint64_t offset, const void* memory, size_t n) const;
  void NoteRead(uint64_t offset, size_t n, bool mapped) const {
    if (options_.kind == FileKind::kData) ReadTrace::Note(trace_id_, offset, n, mapped);
  }

  const std::string path_;
  const FileOptions options_;
  const int fd_;
  const uint32_t trace_id_ = ReadTrace::NewFile();
  size_t alignment_ = 1;
  // This is the mapping of mmap mode. When the file outgrows it, the file is mapped anew. Old
  // mappings stay until the File is destroyed, as views may point into them.
  std::atomic<const char*> map_{nullptr};
  std::atomic<uint64_t> map_size_{0};
  std::atomic<uint64_t> known_size_{0};  // length of the file when Mapped() last asked for it
  Mutex sync_mutex_;                     // serializes Durably()
  std::optional<Error> sync_error_ GUARDED_BY(sync_mutex_);
  Mutex map_mutex_;  // serializes Remap(), Truncate() and changes of known_size_
  std::vector<std::pair<void*, size_t>> old_maps_ GUARDED_BY(map_mutex_);
};

// Makes the creation, renaming and removal of entries in a directory durable. Throws Error (kIo)
// when it cannot.
void SyncDirectory(const std::string& directory);
// Returns the MADV_ constant with which a whole mapping is advised. For kWillNeed it is
// MADV_NORMAL, as each range is announced by a call of its own.
int MadviseValue(Advice advice);

}  // namespace testbed

#endif  // TESTBED_DEVICE_FILE_FILE_H_
