#include "device/file/page_cache.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "device/error.h"

namespace testbed {
namespace {

// cachestat(2) came with Linux 6.5 and is newer than the C library's headers.
#ifdef SYS_cachestat
constexpr long kCachestat = SYS_cachestat;
#else
constexpr long kCachestat = 451;
#endif
struct CachestatRange {
  uint64_t offset, length;  // a length of 0 reaches to the end of the file
};
struct CachestatPages {
  uint64_t cached, dirty, writeback, evicted, recently_evicted;
};

bool HasItsFilesInMemory(const struct statfs& fs) {
  return fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC;
}

uint64_t PageSize() {
  static const uint64_t size = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return size;
}

uint64_t WholePages(uint64_t bytes) { return (bytes + PageSize() - 1) / PageSize() * PageSize(); }

// An OpenFile is a file descriptor that closes itself.
class OpenFile {
 public:
  // Opens read-only, so that the files of a running engine stay unchanged. fd() is -1 when the file
  // has vanished.
  explicit OpenFile(const std::string& path)
      : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) {
    if (fd_ < 0 && errno != ENOENT) throw Error::Io("open", path, errno);
  }
  ~OpenFile() {
    if (fd_ >= 0) close(fd_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int fd() const { return fd_; }

 private:
  const int fd_;
};

// Returns the path itself, without links, if it is a regular file, and else the regular files under
// the directory.
std::vector<std::string> RegularFiles(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);  // the path itself may be a link
  if (!fs::exists(status)) throw Error::Io("stat", path, failed ? failed.value() : ENOENT);
  std::vector<std::string> files;
  if (fs::is_regular_file(status)) {
    files.push_back(fs::canonical(path, failed));
    return files;
  }
  // A recursive_directory_iterator would end the whole walk at a directory that has vanished.
  std::vector<std::string> left = {path};
  while (!left.empty()) {
    const std::string directory = std::move(left.back());
    left.pop_back();
    fs::directory_iterator at(directory, failed);
    const bool vanished = failed.value() == ENOENT && directory != path;
    if (failed && !vanished) throw Error::Io("opendir", directory, failed.value());
    while (at != fs::directory_iterator()) {
      std::error_code gone;
      const fs::file_status found = at->symlink_status(gone);
      if (fs::is_regular_file(found)) files.push_back(at->path());
      if (fs::is_directory(found)) left.push_back(at->path());
      at.increment(failed);
      if (failed && failed.value() != ENOENT) throw Error::Io("readdir", directory, failed.value());
    }
  }
  return files;
}

// Returns the bytes of a mapping that are in the page cache, in whole pages.
uint64_t CountResident(const char* data, size_t size) {
  constexpr size_t kChunk = size_t{1} << 30;
  std::vector<unsigned char> pages(WholePages(std::min(size, kChunk)) / PageSize());
  uint64_t resident = 0;
  for (size_t at = 0; at < size; at += kChunk) {
    const size_t n = std::min(kChunk, size - at);
    if (mincore(const_cast<char*>(data + at), n, pages.data()) != 0) return resident;
    const size_t count = WholePages(n) / PageSize();
    resident += static_cast<uint64_t>(
        std::count_if(pages.begin(), pages.begin() + static_cast<ptrdiff_t>(count),
                      [](unsigned char page) { return (page & 1) != 0; }));
  }
  return resident * PageSize();
}

void AskMincore(int fd, const std::string& path, PageCacheUse* use) {
  use->exact = false;
  if (use->size == 0) return;
  void* map = mmap(nullptr, use->size, PROT_READ, MAP_SHARED, fd, 0);
  if (map == MAP_FAILED) throw Error::Io("mmap", path, errno);
  use->cached = CountResident(static_cast<char*>(map), use->size);
  munmap(map, use->size);
}

// Writes a file's pages back and evicts them, once. Returns false when the file has vanished.
bool DropFile(const std::string& path, PageCacheUse* before, PageCacheUse* after) {
  const OpenFile file(path);
  if (file.fd() < 0) return false;
  *before = Residency(file.fd(), path);
  // A file that answers EROFS or EINVAL has no dirty pages.
  if (fdatasync(file.fd()) != 0 && errno != EROFS && errno != EINVAL) {
    throw Error::Io("fdatasync", path, errno);
  }
  if (const int code = posix_fadvise(file.fd(), 0, 0, POSIX_FADV_DONTNEED); code != 0) {
    throw Error::Io("fadvise", path, code);
  }
  *after = Residency(file.fd(), path);
  return true;
}

}  // namespace

PageCacheUse& PageCacheUse::operator+=(const PageCacheUse& o) {
  files += o.files, size += o.size, cached += o.cached, dirty += o.dirty;
  writeback += o.writeback, evicted += o.evicted, exact = exact && o.exact;
  return *this;
}

bool IsOnOverlay(int fd) {
  struct statfs fs;
  return ::fstatfs(fd, &fs) == 0 && fs.f_type == OVERLAYFS_SUPER_MAGIC;
}

// A sandbox may refuse the call (EPERM).
bool LacksRangeSync(int code) {
  return code == ENOSYS || code == EOPNOTSUPP || code == ESPIPE || code == EPERM;
}

bool IsInMemory(int fd) {
  struct statfs fs;
  return ::fstatfs(fd, &fs) == 0 && HasItsFilesInMemory(fs);
}

bool IsInMemory(const std::string& path) {
  struct statfs fs;
  return ::statfs(path.c_str(), &fs) == 0 && HasItsFilesInMemory(fs);
}

PageCacheUse Residency(int fd, const std::string& path, ResidencySource source) {
  struct stat info;
  if (fstat(fd, &info) != 0) throw Error::Io("fstat", path, errno);
  PageCacheUse use;
  use.files = 1;
  use.size = static_cast<uint64_t>(info.st_size);
  CachestatRange all{0, 0};
  CachestatPages pages{};
  if (source == ResidencySource::kBest && !IsOnOverlay(fd) &&
      syscall(kCachestat, fd, &all, &pages, 0) == 0) {
    use.cached = pages.cached * PageSize();
    use.dirty = pages.dirty * PageSize();
    use.writeback = pages.writeback * PageSize();
    use.evicted = pages.evicted * PageSize();
    return use;
  }
  AskMincore(fd, path, &use);
  return use;
}

PageCacheUse Residency(const std::string& path) {
  PageCacheUse sum;
  for (const std::string& name : RegularFiles(path)) {
    const OpenFile file(name);
    if (file.fd() >= 0) sum += Residency(file.fd(), name);
  }
  return sum;
}

DropResult DropPages(const std::string& path) {
  // Each file is dropped at least once, even if nothing of it seems cached, as pages may be on
  // their way in. All files share the waits, so that many files with mapped pages take no longer
  // than a single file.
  constexpr int kTries = 5;
  std::vector<std::string> left = RegularFiles(path);
  DropResult sum;
  for (int i = 0; i < kTries && !left.empty(); ++i) {
    if (i > 0) std::this_thread::sleep_for(std::chrono::milliseconds(2 << i));
    std::vector<std::string> still;
    for (const std::string& name : left) {
      PageCacheUse before, after;
      if (!DropFile(name, &before, &after)) continue;
      if (i == 0) sum.before += before;
      if (after.cached == 0 || i == kTries - 1) {
        sum.after += after;
      } else {
        still.push_back(name);
      }
    }
    left = std::move(still);
  }
  return sum;
}

}  // namespace testbed
