#include "device/file/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "device/error.h"
#include "device/file/direct_io.h"
#include "device/file/directory.h"
#include "device/file/file_faults.h"
#include "device/file/page_cache.h"
#include "device/os/dir_lock.h"
#include "device/os/interrupted.h"
#include "device/os/mutex.h"
#include "device/os/regular_file.h"

namespace testbed {
namespace {

constexpr uint64_t kBlock = 4096;
// The size of a mapping is a multiple of this many bytes, so that a growing file is rarely mapped
// anew.
constexpr uint64_t kMapStep = 64ull << 20;

uint64_t RoundDown(uint64_t n, uint64_t to) { return n / to * to; }
uint64_t RoundUp(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

bool Counting() { return Ledger::Get().depth() != AccountDepth::kOff; }

int OpenFlags(const FileOptions& options) {
  int flags = options.read_only ? O_RDONLY : O_RDWR;
  if (options.mode == IoMode::kDirect) flags |= O_DIRECT;
  if (options.dsync) flags |= O_DSYNC;
  switch (options.create) {
    case FileOptions::kMustExist:
      break;
    case FileOptions::kMayExist:
      flags |= O_CREAT;
      break;
    case FileOptions::kMustCreate:
      flags |= O_CREAT | O_EXCL;
      break;
    case FileOptions::kTruncate:
      // With O_NOFOLLOW no symbolic link under the name can make this empty another file.
      flags |= O_CREAT | O_TRUNC | O_NOFOLLOW;
      break;
  }
  return flags;
}

#ifndef RWF_ATOMIC
#define RWF_ATOMIC 0x00000040  // linux/fs.h of 6.11
#endif

// Returns the size of a page of memory: 4 KiB, and up to 64 KiB on ARM and POWER.
uint64_t MemoryPage() {
  static const auto bytes = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

int FallocateFile(int fd, int mode, uint64_t offset, uint64_t n) {
  return Uninterrupted(
      [&] { return ::fallocate(fd, mode, static_cast<off_t>(offset), static_cast<off_t>(n)); });
}

int FadviseValue(Advice advice) {
  if (advice == Advice::kRandom) return POSIX_FADV_RANDOM;
  return advice == Advice::kSequential ? POSIX_FADV_SEQUENTIAL : POSIX_FADV_NORMAL;
}

Error UnexpectedEnd(const std::string& path, uint64_t offset, size_t n) {
  return Error(Error::kCorruption, "file " + path + " ends before byte " +
                                       std::to_string(offset + n) +
                                       ": it was cut short after it was written");
}

}  // namespace

int MadviseValue(Advice advice) {
  switch (advice) {
    case Advice::kRandom:
      return MADV_RANDOM;
    case Advice::kSequential:
      return MADV_SEQUENTIAL;
    default:
      return MADV_NORMAL;
  }
}

const char* IoModeName(IoMode mode) {
  static constexpr const char* kNames[] = {"direct", "buffered", "mmap"};
  return kNames[static_cast<size_t>(mode)];
}

const char* AdviceName(Advice advice) {
  static constexpr const char* kNames[] = {"normal", "random", "sequential", "willneed"};
  return kNames[static_cast<size_t>(advice)];
}

std::unique_ptr<File> File::Open(const std::string& path, const FileOptions& options) {
  if (const int fault = FileFaults::Next(options.create != FileOptions::kMustExist)) {
    throw Error::Io("open", path, fault);
  }
  if (!options.read_only) CheckLockedDirectory(path);
  const int fd = OpenRegularFile(path, OpenFlags(options));
  if (fd < 0) {
    if (errno == EINVAL && options.mode == IoMode::kDirect) throw NoDirectIo(path, false);
    if (errno == ELOOP && options.create == FileOptions::kTruncate) {
      throw Error(Error::kIo,
                  "cannot create " + path +
                      ": a symbolic link has its name, which is not followed; remove the link",
                  ELOOP);
    }
    throw Error::Io("open", path, errno);
  }
  if (options.mode == IoMode::kDirect && DirectIoOf(fd).in_page_cache) {
    ::close(fd);
    throw NoDirectIo(path, true);
  }
  return std::unique_ptr<File>(new File(path, options, fd));
}

File::File(std::string path, const FileOptions& options, int fd)
    : path_(std::move(path)), options_(options), fd_(fd) {
  struct stat st;
  if (::fstat(fd_, &st) == 0) Ledger::Get().OpenFile(st.st_dev, st.st_ino, options_.kind);
  if (options_.mode == IoMode::kDirect) alignment_ = DirectAlignment(fd_);
  if (options_.mode == IoMode::kBuffered && options_.advice != Advice::kNormal) {
    ::posix_fadvise(fd_, 0, 0, FadviseValue(options_.advice));
  }
}

File::~File() {
  for (auto [address, size] : old_maps_) ::munmap(address, size);
  const char* map = map_.load();
  if (map != nullptr) ::munmap(const_cast<char*>(map), map_size_.load());
  struct stat st;
  const bool told = ::fstat(fd_, &st) == 0;
  const uint64_t opening = told ? Ledger::Get().Opening(st.st_dev, st.st_ino) : 0;
  ::close(fd_);
  if (told) Ledger::Get().CloseFile(st.st_dev, st.st_ino, st.st_nlink != 0, opening);
}

bool File::Aligned(uint64_t offset, const void* memory, size_t n) const {
  return ((offset | n | reinterpret_cast<uintptr_t>(memory)) & (alignment_ - 1)) == 0;
}

size_t File::PreadAll(uint64_t offset, char* buffer, size_t n) {
  ThreadLedger& thread = Ledger::ThisThread();
  CallMark mark(options_.kind);
  if (const int fault = FileFaults::Next(false)) throw Error::Io("read", path_, fault);
  size_t done = 0;
  while (done < n) {
    const ssize_t r = Uninterrupted(
        [&] { return ::pread(fd_, buffer + done, n - done, static_cast<off_t>(offset + done)); });
    if (r < 0) throw Error::Io("read", path_, errno);
    if (Counting()) thread.CountRead(options_.kind, static_cast<uint64_t>(r));
    if (r == 0) break;
    done += static_cast<size_t>(r);
    // A short direct read means the end of the file; the rest of the request is not aligned.
    if (done < n && !Aligned(offset + done, buffer + done, n - done)) break;
  }
  return done;
}

void File::PwriteAll(uint64_t offset, const char* data, size_t n) {
  ThreadLedger& thread = Ledger::ThisThread();
  CallMark mark(options_.kind);
  if (const int fault = FileFaults::Next(true)) throw Error::Io("write", path_, fault);
  size_t done = 0;
  while (done < n) {
    const ssize_t r = Uninterrupted(
        [&] { return ::pwrite(fd_, data + done, n - done, static_cast<off_t>(offset + done)); });
    if (r < 0) throw Error::Io("write", path_, errno);
    if (Counting()) thread.CountWrite(options_.kind, static_cast<uint64_t>(r));
    done += static_cast<size_t>(r);
  }
}

size_t File::ReadDirect(uint64_t offset, char* buffer, size_t n) {
  if (Aligned(offset, buffer, n)) return PreadAll(offset, buffer, n);
  const uint64_t begin = RoundDown(offset, alignment_);
  const uint64_t end = RoundUp(offset + n, alignment_);
  AlignedBuffer bounce(end - begin, std::max<size_t>(alignment_, kBlock));
  const size_t got = PreadAll(begin, bounce.data(), end - begin);
  const size_t skip = offset - begin;
  if (got <= skip) return 0;
  const size_t usable = std::min(n, got - skip);
  std::memcpy(buffer, bounce.data() + skip, usable);
  return usable;
}

void File::WriteDirect(uint64_t offset, const char* data, size_t n) {
  if (Aligned(offset, data, n)) return PwriteAll(offset, data, n);
  const uint64_t begin = RoundDown(offset, alignment_);
  const uint64_t end = RoundUp(offset + n, alignment_);
  const uint64_t size = Size();
  AlignedBuffer bounce(end - begin, std::max<size_t>(alignment_, kBlock));
  std::memset(bounce.data(), 0, end - begin);
  // Only the first and the last block can hold old bytes that must survive.
  if (begin < offset) PreadAll(begin, bounce.data(), alignment_);
  if (end > offset + n && end - alignment_ < size &&
      (begin == offset || end - alignment_ != begin)) {
    PreadAll(end - alignment_, bounce.data() + (end - alignment_ - begin), alignment_);
  }
  std::memcpy(bounce.data() + (offset - begin), data, n);
  PwriteAll(begin, bounce.data(), end - begin);
  if (end > std::max(size, offset + n)) Truncate(std::max(size, offset + n));
}

const char* File::Mapped(uint64_t offset, size_t n) {
  // Touching a page past the end of the file raises a fatal signal, so the size is checked first.
  if (offset + n > known_size_.load(std::memory_order_relaxed)) {
    LockGuard lock(map_mutex_);  // Truncate holds it, so that no length from before it is kept
    const uint64_t size = Size();
    if (offset + n > size) throw UnexpectedEnd(path_, offset, n);
    known_size_.store(size, std::memory_order_relaxed);
  }
  if (offset + n > map_size_.load(std::memory_order_acquire)) Remap(offset + n);
  const char* at = map_.load(std::memory_order_acquire) + offset;
  if (options_.advice == Advice::kWillNeed) {
    const uint64_t begin = RoundDown(offset, MemoryPage());
    ::madvise(const_cast<char*>(at) - (offset - begin), offset + n - begin, MADV_WILLNEED);
  }
  return at;
}

void File::Remap(uint64_t size) {
  LockGuard lock(map_mutex_);
  if (size <= map_size_.load(std::memory_order_relaxed)) return;
  const uint64_t bytes = RoundUp(std::max<uint64_t>(size, Size()), kMapStep);
  void* address = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd_, 0);
  if (address == MAP_FAILED) throw Error::Io("mmap", path_, errno);
  if (options_.advice != Advice::kNormal) {
    ::madvise(address, bytes, MadviseValue(options_.advice));
  }
  const char* old = map_.load(std::memory_order_relaxed);
  if (old != nullptr) old_maps_.emplace_back(const_cast<char*>(old), map_size_.load());
  // The address is stored first: a thread that sees the new size must see the mapping of that size.
  map_.store(static_cast<const char*>(address), std::memory_order_release);
  map_size_.store(bytes, std::memory_order_release);
}

size_t File::ReadSome(uint64_t offset, void* buffer, size_t n) {
  char* to = static_cast<char*>(buffer);
  if (options_.mode != IoMode::kMmap) NoteRead(offset, n, false);
  switch (options_.mode) {
    case IoMode::kDirect:
      return ReadDirect(offset, to, n);
    case IoMode::kBuffered:
      return PreadAll(offset, to, n);
    case IoMode::kMmap:
      break;
  }
  const uint64_t size = Size();
  if (offset >= size) return 0;
  n = std::min<uint64_t>(n, size - offset);
  std::string_view bytes = View(offset, n);
  std::memcpy(to, bytes.data(), n);
  return n;
}

void File::CountStartedRead(uint64_t offset, size_t n, bool mapped) const {
  NoteRead(offset, n, mapped);
  if (Counting()) Ledger::ThisThread().CountRead(options_.kind, n);
}

void File::Read(uint64_t offset, void* buffer, size_t n) {
  if (ReadSome(offset, buffer, n) != n) throw UnexpectedEnd(path_, offset, n);
}

std::string_view File::View(uint64_t offset, size_t n) {
  const char* const bytes = Mapped(offset, n);
  CountStartedRead(offset, n, true);
  return {bytes, n};
}

void File::Write(uint64_t offset, const void* data, size_t n) {
  const char* from = static_cast<const char*>(data);
  const auto write = [&] {
    options_.mode == IoMode::kDirect ? WriteDirect(offset, from, n) : PwriteAll(offset, from, n);
  };
  options_.dsync ? Durably(write) : write();
}

void File::WriteAtomic(uint64_t offset, const void* data, size_t n) {
  CallMark mark(options_.kind);
  const iovec part{const_cast<void*>(data), n};
  const auto write = [&] {
    if (const int fault = FileFaults::Next(true)) throw Error::Io("write", path_, fault);
    const ssize_t r = Uninterrupted(
        [&] { return ::pwritev2(fd_, &part, 1, static_cast<off_t>(offset), RWF_ATOMIC); });
    if (r != static_cast<ssize_t>(n))
      throw Error::Io("write as a whole", path_, r < 0 ? errno : EIO);
  };
  options_.dsync ? Durably(write) : write();
  if (Counting()) Ledger::ThisThread().CountWrite(options_.kind, n);
}

size_t File::MostAtomicBytes() const {
  // struct statx with the fields of Linux 6.11, which the C library may not have yet.
  constexpr unsigned kWriteAtomic = 0x10000;
  constexpr size_t kUnitMax = 0xac;
  alignas(8) char fields[256] = {};
  if (options_.mode != IoMode::kDirect ||
      ::syscall(SYS_statx, fd_, "", AT_EMPTY_PATH, kWriteAtomic, fields) != 0) {
    return 0;
  }
  uint32_t mask, most;
  std::memcpy(&mask, fields, sizeof mask);
  std::memcpy(&most, fields + kUnitMax, sizeof most);
  return (mask & kWriteAtomic) != 0 ? most : 0;
}

void File::Sync(bool metadata) {
  CallMark mark(options_.kind);
  Durably([&] {
    if (const int fault = FileFaults::Next(true)) throw Error::Io("fsync", path_, fault);
    if (Counting()) Ledger::ThisThread().CountSync(options_.kind);
    // An interrupted sync has not reported any failure yet, so the repeated call still reports it.
    if (Uninterrupted([&] { return metadata ? ::fsync(fd_) : ::fdatasync(fd_); }) != 0) {
      throw Error::Io("fsync", path_, errno);
    }
    CheckNamed();
  });
}

struct stat File::Stat() const {
  struct stat st;
  if (::fstat(fd_, &st) != 0) throw Error::Io("stat", path_, errno);
  return st;
}

void File::CheckNamed() const { CheckHasName(fd_, path_); }
uint64_t File::Size() const { return static_cast<uint64_t>(Stat().st_size); }
uint64_t File::AllocatedBytes() const { return static_cast<uint64_t>(Stat().st_blocks) * 512; }

void File::Truncate(uint64_t size) {
  LockGuard lock(map_mutex_);
  known_size_.store(0, std::memory_order_relaxed);
  if (const int fault = FileFaults::Next(true)) throw Error::Io("truncate", path_, fault);
  CallMark mark(options_.kind);
  if (Uninterrupted([&] { return ::ftruncate(fd_, static_cast<off_t>(size)); }) != 0) {
    throw Error::Io("truncate", path_, errno);
  }
}

bool File::Allocate(uint64_t offset, uint64_t n, bool keep_size) {
  if (const int fault = FileFaults::Next(true)) throw Error::Io("allocate", path_, fault);
  CallMark mark(options_.kind);
  if (FallocateFile(fd_, keep_size ? FALLOC_FL_KEEP_SIZE : 0, offset, n) == 0) return true;
  if (errno != EOPNOTSUPP) throw Error::Io("allocate", path_, errno);
  return false;
}

bool File::Punch(uint64_t offset, uint64_t n) {
  if (const int fault = FileFaults::Next(true)) throw Error::Io("punch a hole into", path_, fault);
  CallMark mark(options_.kind);
  if (FallocateFile(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, n) == 0) return true;
  if (errno != EOPNOTSUPP) throw Error::Io("punch a hole into", path_, errno);
  return false;
}

void File::CheckWriteBack() const {
  // The kernel has no pages to wait for beyond the end of the file. It then reports each failure
  // that it has not reported to this descriptor yet (errseq_t, include/linux/errseq.h).
  constexpr off_t kBeyond = off_t{1} << 62;
  const int fault =
      ::sync_file_range(fd_, kBeyond, 1, SYNC_FILE_RANGE_WAIT_BEFORE) == 0 ? 0 : errno;
  if (fault != 0 && !LacksRangeSync(fault)) throw Error::Io("sync_file_range", path_, fault);
}

void File::Prefetch(uint64_t offset, uint64_t n) {
  CallMark mark(options_.kind);
  ::posix_fadvise(fd_, static_cast<off_t>(offset), static_cast<off_t>(n), POSIX_FADV_WILLNEED);
}

void File::Forget(uint64_t offset, uint64_t n) {
  ::posix_fadvise(fd_, static_cast<off_t>(offset), static_cast<off_t>(n), POSIX_FADV_DONTNEED);
}

void SyncDirectory(const std::string& directory) {
  if (const int fault = FileFaults::Next(true)) throw Error::Io("fsync", directory, fault);
  CheckLockedDirectory(directory);
  const int fd =
      Uninterrupted([&] { return ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (fd < 0) throw Error::Io("open", directory, errno);
  CallMark mark(FileKind::kMeta);
  const int r = Uninterrupted([&] { return ::fsync(fd); });
  const int code = errno;
  ::close(fd);
  if (r != 0) throw Error::Io("fsync", directory, code);
}

}  // namespace testbed
