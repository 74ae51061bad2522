// The system calls that failing_disk.h replaces in the test program. They also watch the mapped
// pages that a failed msync marked as clean, because a write to one makes it dirty again.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <string>

#include "tests/unit/engines/failing_disk/failing_disk_model.h"

// Functions of the sanitizers, which must know each mapping.
extern "C" {
__attribute__((weak)) void* __interceptor_mmap(void*, size_t, int, int, int, off_t);
__attribute__((weak)) int __interceptor_munmap(void*, size_t);
}

namespace testbed::disk_model {
namespace {

struct sigaction old_handler;

// Handles a write to a watched page: the page becomes dirty, and is not watched any more.
void OnFault(int, siginfo_t* info, void*) {
  char* const at = static_cast<char*>(info->si_addr);
  {
    const Hold hold;
    for (Mapping& map : TheModel().mappings) {
      if (at < map.begin || at >= map.begin + map.bytes) continue;
      const auto block = static_cast<uint64_t>(at - map.begin) / kBlock;
      if (const auto found = map.file->blocks.find(block); found != map.file->blocks.end()) {
        found->second = true;
      }
      ::mprotect(map.begin + block * kBlock, kBlock, PROT_READ | PROT_WRITE);
      return;
    }
  }
  ::sigaction(SIGSEGV, &old_handler, nullptr);  // a fault of another kind
}

void WatchLostPages(const Mapping& map) {
  static const bool once = [] {
    struct sigaction action = {};
    action.sa_sigaction = OnFault;
    action.sa_flags = SA_SIGINFO;
    return ::sigaction(SIGSEGV, &action, &old_handler) == 0;
  }();
  static_cast<void>(once);
  for (const auto& [block, dirty] : map.file->blocks) {
    if (dirty || block * kBlock >= map.bytes) continue;
    ::mprotect(map.begin + block * kBlock, kBlock, PROT_READ);
  }
}

}  // namespace

void WatchLostPages(DeviceFile* file) {
  for (const Mapping& map : TheModel().mappings) {
    if (map.file.get() == file) WatchLostPages(map);
  }
}

namespace {

// Calls `use` under the lock when the descriptor is of a file of the directory, otherwise `real`.
// Returns the result.
template <typename Use, typename Real>
auto WithFile(int fd, const Use& use, const Real& real) -> decltype(real()) {
  if (!Hold::IsFree()) return real();
  const Hold hold;
  const FileRef file = TheModel().FileAt(PathOf(fd));
  return file == nullptr ? real() : use(file.get());
}

int SyncCall(int fd, long call) {
  if (!Hold::IsFree()) return static_cast<int>(::syscall(call, fd));
  Model& model = TheModel();
  const Hold hold;
  const std::string path = PathOf(fd);
  if (const FileRef file = model.FileAt(path)) {
    const bool fails = model.Fails(DiskCall::kSync, file->path);
    const bool tells = !fails && model.TellsOfWriteBack(fd, *file);
    const int error = errno;
    if (!model.is_cut) model.Sync(file.get(), fails);
    errno = error;
    return fails || tells ? -1 : 0;
  }
  if (path == model.dir || model.Has(path)) {
    if (model.Fails(DiskCall::kSyncDirectory)) return -1;
    model.SyncNames(path);
    return 0;
  }
  // Files beside the directory, such as copies of it, need not be durable, so their syncs are left
  // out.
  if (path.starts_with(model.dir)) return 0;
  return static_cast<int>(::syscall(call, fd));
}

// Handles sync_file_range, which the tested programs call only to learn of write-back errors.
int SyncRangeCall(int fd, off_t at, off_t n, unsigned flags) {
  return WithFile(
      fd, [&](DeviceFile* file) { return TheModel().TellsOfWriteBack(fd, *file) ? -1 : 0; },
      [&] { return static_cast<int>(::syscall(SYS_sync_file_range, fd, at, n, flags)); });
}

ssize_t WriteCall(int fd, const void* data, size_t n, off_t at) {
  const auto real = [&] { return RealPwrite(fd, data, n, at); };
  return WithFile(
      fd,
      [&](DeviceFile* file) -> ssize_t {
        const bool fails = TheModel().Fails(DiskCall::kWrite, file->path);
        if (TheModel().is_cut) return -1;
        const int error = errno;
        const bool is_short = fails && error == 0;
        const bool direct = (::fcntl(fd, F_GETFL) & O_DIRECT) != 0;
        const size_t fitting = TheModel().Fitting(file->path, static_cast<uint64_t>(at), n);
        if (fitting == 0 && n > 0 && !fails) {
          errno = ENOSPC;
          return -1;
        }
        size_t part = fails ? n / 2 : fitting;
        if (direct && fails) part = part / kBlock * kBlock;
        if (is_short && part == 0) part = n;
        const auto from = static_cast<uint64_t>(at);
        TheModel().KeepEarlier(file, from, from + part);
        const ssize_t done = part == 0 ? 0 : RealPwrite(fd, data, part, at);
        if (done > 0) {
          TheModel().MarkDirty(file, static_cast<uint64_t>(at), static_cast<uint64_t>(at + done));
          const uint64_t begin = static_cast<uint64_t>(at) / kBlock;
          const uint64_t end = static_cast<uint64_t>(at + done - 1) / kBlock + 1;
          if (direct)
            file->stuck.erase(file->stuck.lower_bound(begin), file->stuck.lower_bound(end));
          for (uint64_t block = begin; block < end; ++block) {
            direct ? static_cast<void>(file->direct.insert(block))
                   : static_cast<void>(file->direct.erase(block));
          }
        }
        // A file that is opened with O_DSYNC is written by such descriptors alone, so all its dirty
        // blocks are from this write.
        if ((::fcntl(fd, F_GETFL) & O_DSYNC) != 0) TheModel().Sync(file, fails && !is_short);
        if (!fails || is_short) return done;
        errno = error;
        return -1;
      },
      real);
}

// Returns how many bytes of a read succeed: all, those of its first part, or -1 when it fails.
ssize_t PartRead(int fd, size_t n) {
  const auto all = static_cast<ssize_t>(n);
  if (!Hold::IsFree()) return all;
  Model& model = TheModel();
  const Hold hold;
  if (model.fault.call != DiskCall::kRead || model.is_cut) return all;
  if (model.FileAt(PathOf(fd)) == nullptr || !model.Fails(DiskCall::kRead)) return all;
  if (model.fault.error != 0) return -1;
  const size_t part = n / 2 / kBlock * kBlock;  // whole blocks, as of a direct read
  return part == 0 ? all : static_cast<ssize_t>(part);
}

// Handles pread. A direct read bypasses the page cache, so for blocks that a failed sync has lost
// it returns the contents of the device.
ssize_t ReadCall(int fd, void* to, size_t n, off_t at) {
  const ssize_t part = PartRead(fd, n);
  if (part < 0) return part;
  n = static_cast<size_t>(part);
  const auto real = [&] { return static_cast<ssize_t>(::syscall(SYS_pread64, fd, to, n, at)); };
  if (!Hold::IsFree() || (::fcntl(fd, F_GETFL) & O_DIRECT) == 0) return real();
  return WithFile(
      fd,
      [&](DeviceFile* file) -> ssize_t {
        const ssize_t got = real();
        for (ssize_t i = 0; i < got; i += kSector) {
          const uint64_t from = static_cast<uint64_t>(at + i);
          const auto found = file->blocks.find(from / kBlock);
          if (found == file->blocks.end() || found->second) continue;
          if (file->direct.contains(from / kBlock)) continue;
          char* const sector = static_cast<char*>(to) + i;
          const size_t length = std::min<size_t>(kSector, static_cast<size_t>(got - i));
          std::fill_n(sector, length, '\0');
          if (from < file->bytes.size()) file->bytes.copy(sector, length, from);
        }
        return got;
      },
      real);
}

int TruncateCall(int fd, off_t size) {
  return WithFile(
      fd,
      [&](DeviceFile* file) {
        if (TheModel().Fails(DiskCall::kTruncate)) return -1;
        const uint64_t end = SizeOf(file->path);
        TheModel().MarkDirty(file, static_cast<uint64_t>(size), end);
        TheModel().NoteFreed(file, static_cast<uint64_t>(size), end + kBlock);
        return static_cast<int>(::syscall(SYS_ftruncate, fd, size));
      },
      [&] { return static_cast<int>(::syscall(SYS_ftruncate, fd, size)); });
}

int AllocateCall(int fd, int mode, off_t at, off_t n) {
  const auto real = [&] { return static_cast<int>(::syscall(SYS_fallocate, fd, mode, at, n)); };
  return WithFile(
      fd,
      [&](DeviceFile* file) {
        if (TheModel().Fails(DiskCall::kAllocate, file->path)) return -1;
        const auto begin = static_cast<uint64_t>(at), bytes = static_cast<uint64_t>(n);
        constexpr int kNoGrowth = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
        if ((mode & kNoGrowth) == 0 && TheModel().Fitting(file->path, begin, bytes) < bytes) {
          errno = ENOSPC;
          return -1;
        }
        if ((mode & FALLOC_FL_PUNCH_HOLE) != 0) {
          TheModel().MarkDirty(file, static_cast<uint64_t>(at), static_cast<uint64_t>(at + n));
          TheModel().NoteFreed(file, static_cast<uint64_t>(at), static_cast<uint64_t>(at + n));
        }
        return real();
      },
      real);
}

std::string DirectoryOf(const std::string& path) {
  return std::filesystem::path(path).parent_path();
}

int OpenCall(int at, const char* path, int flags, unsigned mode) {
  const auto real = [&] { return static_cast<int>(::syscall(SYS_openat, at, path, flags, mode)); };
  Model& model = TheModel();
  if (!Hold::IsFree()) return real();
  const Hold hold;
  if (!model.Has(path)) return real();
  if ((flags & (O_TRUNC | O_CREAT)) == 0) {
    const int fd = real();
    const FileRef file = fd < 0 ? nullptr : model.FileAt(path);
    if (file != nullptr) model.told[fd] = file->write_back_errors;
    return fd;
  }
  if (model.is_cut) {
    errno = EIO;
    return -1;
  }
  const uint64_t size = SizeOf(path);
  const bool is_new = ::access(path, F_OK) != 0;
  if (is_new && (flags & O_CREAT) != 0 && model.Fails(DiskCall::kCreate, path)) return -1;
  const int fd = real();
  if (fd < 0) return fd;
  if (is_new) model.Forget(path);  // the inode number may be that of a removed file
  const FileRef file = model.FileAt(path);
  if (file != nullptr) model.told[fd] = file->write_back_errors;
  if (file != nullptr && (flags & O_TRUNC) != 0) {
    model.MarkDirty(file.get(), 0, size);
    model.NoteFreed(file.get(), 0, size + kBlock);
  }
  if (is_new) model.NoteNames({DirectoryOf(path)});
  return fd;
}

int CloseCall(int fd) {
  const auto real = [&] { return static_cast<int>(::syscall(SYS_close, fd)); };
  bool fails = false;
  if (Hold::IsFree()) {
    const Hold hold;
    TheModel().told.erase(fd);
    fails = TheModel().Has(PathOf(fd)) && TheModel().Fails(DiskCall::kClose);
  }
  const int error = errno;
  const int result = real();  // the descriptor is gone in any case
  if (fails) errno = error;
  return fails ? -1 : result;
}

int RenameCall(const char* from, const char* to) {
  const auto real = [&] {
    return static_cast<int>(::syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to));
  };
  Model& model = TheModel();
  if (!Hold::IsFree()) return real();
  const Hold hold;
  if (!model.Has(from)) return real();
  if (model.Fails(DiskCall::kRename)) return -1;
  model.Forget(to);
  static_cast<void>(model.FileAt(from));
  const int result = real();
  if (result == 0) model.NoteRename(from, to);
  return result;
}

// Handles readdir, which returns null for an error as at the end of the directory; only errno
// differs.
dirent* ListCall(DIR* directory, const char* call) {
  using List = dirent* (*)(DIR*);
  const auto real = reinterpret_cast<List>(::dlsym(RTLD_NEXT, call));
  Model& model = TheModel();
  if (Hold::IsFree()) {
    const Hold hold;
    const std::string path = PathOf(::dirfd(directory));
    const bool ours = path == model.dir || model.Has(path);
    if (ours && model.fault.call == DiskCall::kList && model.Fails(DiskCall::kList)) return nullptr;
  }
  return real(directory);
}

std::string PathAt(int at, const char* path) {
  return path[0] == '/' || at == AT_FDCWD ? path : PathOf(at) + "/" + path;
}

int UnlinkCall(int at, const char* path, int flags) {
  const auto real = [&] { return static_cast<int>(::syscall(SYS_unlinkat, at, path, flags)); };
  Model& model = TheModel();
  if (!Hold::IsFree()) return real();
  const Hold hold;
  const std::string whole = PathAt(at, path);
  if (!model.Has(whole)) return real();
  if (model.Fails(DiskCall::kUnlink)) return -1;
  struct stat st = {};
  const bool is_directory = (flags & AT_REMOVEDIR) != 0 && ::stat(whole.c_str(), &st) == 0;
  if ((flags & AT_REMOVEDIR) == 0) model.Forget(whole);
  const int result = real();
  if (result != 0) return result;
  if (is_directory) model.directories.erase(st.st_ino);  // another may get its number
  model.NoteNames({DirectoryOf(whole)});
  return result;
}

int MsyncCall(void* at, size_t n, int flags) {
  if (Hold::IsFree()) {
    Model& model = TheModel();
    const Hold hold;
    for (const Mapping& map : model.mappings) {
      if (map.begin != at) continue;
      const bool fails = model.Fails(DiskCall::kMsync);
      const bool tells = !fails && model.TellsOfWriteBack(map.fd, *map.file);
      const int error = errno;
      if (!model.is_cut) model.Sync(map.file.get(), fails);
      errno = error;
      return fails || tells ? -1 : 0;
    }
  }
  return static_cast<int>(::syscall(SYS_msync, at, n, flags));
}

int UnmapCall(void* at, size_t n) {
  if (Hold::IsFree()) {
    Model& model = TheModel();
    const Hold hold;
    const auto found = std::find_if(model.mappings.begin(), model.mappings.end(),
                                    [at](const Mapping& map) { return map.begin == at; });
    if (found != model.mappings.end()) {
      const FileRef file = found->file;
      model.FindMappedChanges(file.get());
      model.mappings.erase(found);
      file->is_mapped = std::any_of(model.mappings.begin(), model.mappings.end(),
                                    [&](const Mapping& map) { return map.file == file; });
    }
  }
  if (__interceptor_munmap != nullptr) return __interceptor_munmap(at, n);
  return static_cast<int>(::syscall(SYS_munmap, at, n));
}

void* MapCall(void* hint, size_t n, int protection, int flags, int fd, off_t at) {
  void* const map =
      __interceptor_mmap != nullptr
          ? __interceptor_mmap(hint, n, protection, flags, fd, at)
          : reinterpret_cast<void*>(::syscall(SYS_mmap, hint, n, protection, flags, fd, at));
  // Mappings that the model itself makes are left alone.
  if (fd < 0 || !Hold::IsFree() || map == MAP_FAILED || (protection & PROT_WRITE) == 0 ||
      (flags & MAP_SHARED) == 0) {
    return map;
  }
  Model& model = TheModel();
  const Hold hold;
  const FileRef file = model.FileAt(PathOf(fd));
  if (file == nullptr) return map;
  file->is_mapped = true;
  model.mappings.push_back({static_cast<char*>(map), n, file, fd});
  WatchLostPages(model.mappings.back());
  return map;
}

int AdviseCall(int fd, off_t at, off_t n, int advice) {
  if (advice == POSIX_FADV_DONTNEED && Hold::IsFree()) {
    const Hold hold;
    const std::string path = PathOf(fd);
    const FileRef file = TheModel().FileAt(path);
    if (file != nullptr && !TheModel().is_cut) TheModel().DropCleanPages(file.get());
    // The kernel drops only clean pages, and no sync of the program has reached the real file, so
    // it is synced here.
    if (path.starts_with(TheModel().dir)) ::syscall(SYS_fdatasync, fd);
  }
  return ::syscall(SYS_fadvise64, fd, at, n, advice) == 0 ? 0 : errno;
}

unsigned ModeOf(int flags, va_list* arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(*arguments, unsigned) : 0;
}

}  // namespace
}  // namespace testbed::disk_model

extern "C" {
using namespace testbed::disk_model;  // NOLINT: the names are the system's

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const unsigned mode = ModeOf(flags, &arguments);
  va_end(arguments);
  return OpenCall(AT_FDCWD, path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const unsigned mode = ModeOf(flags, &arguments);
  va_end(arguments);
  return OpenCall(AT_FDCWD, path, flags, mode);
}
ssize_t pwrite(int fd, const void* data, size_t n, off_t at) { return WriteCall(fd, data, n, at); }
ssize_t pwrite64(int fd, const void* data, size_t n, off64_t at) {
  return WriteCall(fd, data, n, at);
}
ssize_t pread(int fd, void* to, size_t n, off_t at) { return ReadCall(fd, to, n, at); }
ssize_t pread64(int fd, void* to, size_t n, off64_t at) { return ReadCall(fd, to, n, at); }
int fdatasync(int fd) { return SyncCall(fd, SYS_fdatasync); }
int fsync(int fd) { return SyncCall(fd, SYS_fsync); }
int sync_file_range(int fd, off64_t at, off64_t n, unsigned flags) {
  return SyncRangeCall(fd, at, n, flags);
}
int ftruncate(int fd, off_t size) noexcept { return TruncateCall(fd, size); }
int ftruncate64(int fd, off64_t size) noexcept { return TruncateCall(fd, size); }
int fallocate(int fd, int mode, off_t at, off_t n) { return AllocateCall(fd, mode, at, n); }
int fallocate64(int fd, int mode, off64_t at, off64_t n) { return AllocateCall(fd, mode, at, n); }
int close(int fd) { return CloseCall(fd); }
int rename(const char* from, const char* to) noexcept { return RenameCall(from, to); }
int unlink(const char* path) noexcept { return UnlinkCall(AT_FDCWD, path, 0); }
int unlinkat(int at, const char* path, int flags) noexcept { return UnlinkCall(at, path, flags); }
int remove(const char* path) noexcept {
  const int result = UnlinkCall(AT_FDCWD, path, 0);
  return result == 0 || errno != EISDIR ? result : UnlinkCall(AT_FDCWD, path, AT_REMOVEDIR);
}
dirent* readdir(DIR* directory) { return ListCall(directory, "readdir"); }
dirent64* readdir64(DIR* directory) {
  return reinterpret_cast<dirent64*>(ListCall(directory, "readdir64"));
}
int msync(void* at, size_t n, int flags) { return MsyncCall(at, n, flags); }
void* mmap(void* hint, size_t n, int protection, int flags, int fd, off_t at) noexcept {
  return MapCall(hint, n, protection, flags, fd, at);
}
void* mmap64(void* hint, size_t n, int protection, int flags, int fd, off64_t at) noexcept {
  return MapCall(hint, n, protection, flags, fd, at);
}
int munmap(void* at, size_t n) noexcept { return UnmapCall(at, n); }
int posix_fadvise(int fd, off_t at, off_t n, int advice) { return AdviseCall(fd, at, n, advice); }
}
