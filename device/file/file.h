// A file opened in a chosen IO mode. Every engine that lets us put our files under it does all its
// IO through this class, so the mode is enforced in one place and each call is counted in one
// place: on the calling thread, under its open IoScope, by kind of file (device/account/ledger.h).
//
//   FileOptions options;
//   options.kind = FileKind::kData;
//   options.mode = IoMode::kDirect;
//   auto file = File::Open(path, options);
//   file->Read(offset, buffer, n);
//
// Direct mode handles alignment: a request whose offset, length or memory is not aligned to
// alignment() goes through an aligned bounce buffer (reads are widened; a write reads back the
// blocks it covers in part). Aligned requests go straight to the system call, one each.
// In mmap mode reads are served from a shared mapping of the file (View gives the bytes in place);
// writes go through the page cache, so both see the same bytes.
//
// Errors throw Error (kIo with errno; kCorruption for an unexpected end of file). A File may be
// used by several threads at once; Truncate must not run while a view of what it cuts off is in
// use.
#ifndef TESTBED_DEVICE_FILE_FILE_H_
#define TESTBED_DEVICE_FILE_FILE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "device/account/ledger.h"
#include "device/file/read_trace.h"

namespace testbed {

enum class IoMode : uint8_t { kDirect, kBuffered, kMmap };
const char* IoModeName(IoMode mode);  // "direct", "buffered", "mmap"

// What the kernel is told about the access pattern: posix_fadvise(2) for buffered files, madvise(2)
// for mappings. kWillNeed (mmap only) also announces each range before it is touched, which makes a
// page of several blocks one read whatever read_ahead_kb says. Has no meaning for direct IO.
enum class Advice : uint8_t { kNormal, kRandom, kSequential, kWillNeed };
const char* AdviceName(Advice advice);

struct FileOptions {
  enum Create : uint8_t {
    kMustExist,   // an error when it is absent
    kMayExist,    // created when absent
    kMustCreate,  // an error when it exists
    kTruncate,    // created or emptied
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
  static std::unique_ptr<File> Open(const std::string& path, const FileOptions& options);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // Reads exactly n bytes at offset; throws when the file ends before.
  void Read(uint64_t offset, void* buffer, size_t n);
  // Reads up to n bytes, fewer only at the end of the file; returns how many.
  size_t ReadSome(uint64_t offset, void* buffer, size_t n);
  // The bytes in place; mmap mode only. Valid until the File is closed.
  std::string_view View(uint64_t offset, size_t n);
  void Write(uint64_t offset, const void* data, size_t n);
  // The same, of a power of two of bytes at a multiple of it, so that after a power cut all of them
  // are there or none: pwritev2(2) with RWF_ATOMIC (Linux 6.11). Direct mode only.
  void WriteAtomic(uint64_t offset, const void* data, size_t n);
  // How many bytes WriteAtomic can write here; 0 where the file system, its device or the kernel
  // has no such writes.
  size_t MostAtomicBytes() const;
  // Makes written bytes durable: fdatasync(2), or fsync(2) when the metadata matters too.
  void Sync(bool metadata = false);

  uint64_t Size() const;
  uint64_t AllocatedBytes() const;  // that it takes on the device, holes left out
  void Truncate(uint64_t size);
  // Counts a read that the caller has the kernel do by other means (read_ring.h).
  void CountStartedRead(uint64_t offset, size_t n) const;

  // Reserves space for [offset, offset+n): fallocate(2). The file grows to its end, unless
  // keep_size. Returns false where the file system has no fallocate.
  bool Allocate(uint64_t offset, uint64_t n, bool keep_size = false);
  // Gives the space of whole blocks in [offset, offset+n) back; they read as zeros. Returns false
  // where the file system has no holes: then nothing happened.
  bool Punch(uint64_t offset, uint64_t n);
  // Tells the kernel that a range will be read soon (readahead) or is no longer needed.
  void Prefetch(uint64_t offset, uint64_t n);
  void Forget(uint64_t offset, uint64_t n);

  const std::string& path() const { return path_; }
  const FileOptions& options() const { return options_; }
  int fd() const { return fd_; }
  // What offset, length and memory of a direct request must be multiples of; 1 in other modes.
  size_t alignment() const { return alignment_; }

 private:
  File(std::string path, const FileOptions& options, int fd);
  size_t ReadDirect(uint64_t offset, char* buffer, size_t n);
  void WriteDirect(uint64_t offset, const char* data, size_t n);
  size_t PreadAll(uint64_t offset, char* buffer, size_t n);
  void PwriteAll(uint64_t offset, const char* data, size_t n);
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
  // Mapping of mmap mode. It grows by mapping anew; old mappings stay until close, as views may
  // point into them.
  std::atomic<const char*> map_{nullptr};
  std::atomic<uint64_t> map_size_{0};
  std::atomic<uint64_t> known_size_{0};  // the file was at least this long when last looked at
  std::mutex map_mutex_;
  std::vector<std::pair<void*, size_t>> old_maps_;
};

// Makes creation, renaming and removal of entries in a directory durable.
void SyncDirectory(const std::string& directory);
// What madvise(2) is told for an advice.
int MadviseValue(Advice advice);

// An owned block of memory aligned for direct IO.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(size_t size, size_t alignment = 4096);
  ~AlignedBuffer();
  AlignedBuffer(AlignedBuffer&& other) noexcept { *this = std::move(other); }
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept;
  char* data() { return data_; }
  const char* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  char* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_FILE_FILE_H_
