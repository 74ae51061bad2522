// The OS page cache of files: measure it, empty it, hold it.
//
//   DropResult dropped = DropPages(directory);      // before a run that should start cold
//   PageCacheUse use = Residency(directory);        // how much is cached, how much of it dirty
//   PageHold hold(path);                            // keeps a file's pages in the cache until it
//   ends
//
// Paths may be files or directory trees; symbolic links and special files are skipped, and a file
// that vanishes meanwhile is not an error. Residency comes from cachestat(2) (Linux 6.5), or from
// mincore(2) where that is missing or refused; both need the file to be the user's own or writable.
// Errors throw Error.
#ifndef TESTBED_DEVICE_FILE_PAGE_CACHE_H_
#define TESTBED_DEVICE_FILE_PAGE_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace testbed {

// In bytes of whole pages.
struct PageCacheUse {
  uint64_t files = 0;
  uint64_t size = 0;  // of the files
  uint64_t cached = 0;
  uint64_t dirty = 0, writeback = 0;  // parts of cached; 0 where only mincore works
  uint64_t evicted = 0;               // were cached once and have been evicted
  bool exact = true;                  // false when some file could only be asked by mincore(2)
  PageCacheUse& operator+=(const PageCacheUse& o);
};

enum class ResidencySource : uint8_t { kBest, kMincore };

PageCacheUse Residency(const std::string& path);
// Of an open file. kMincore is for kernels without cachestat(2), and to check one by the other.
PageCacheUse Residency(int fd, const std::string& path,
                       ResidencySource source = ResidencySource::kBest);

struct DropResult {
  PageCacheUse before, after;  // after.cached > 0: another process maps or keeps using pages
  uint64_t dropped() const {
    return before.cached > after.cached ? before.cached - after.cached : 0;
  }
};

// Writes dirty pages back (fdatasync) and evicts all pages (POSIX_FADV_DONTNEED), and looks whether
// they are gone; tries again a few times, as pages under way to the lists of the kernel are passed
// over. Pages that are mapped stay, whoever maps them.
DropResult DropPages(const std::string& path);

// Keeps the pages of files in the page cache: maps them and populates the mapping, which also
// exempts them from proactive reclaim by DAMON (host.h). Memory pressure, such as that of a memory
// budget smaller than the files, still evicts them: look at Resident(). The mapping covers the size
// each file had when it was taken. The pages are charged to the memory cgroup of whoever read them
// first.
class PageHold {
 public:
  explicit PageHold(const std::string& path);
  ~PageHold();
  PageHold(PageHold&& other) noexcept : maps_(std::exchange(other.maps_, {})) {}
  PageHold& operator=(PageHold&&) = delete;

  // Brings back pages that were evicted meanwhile; reads only what is missing.
  void Refresh();
  uint64_t size() const;      // bytes held, in whole pages
  uint64_t Resident() const;  // of these, how many are in the page cache now

 private:
  struct Map {
    char* data;
    size_t size;
    std::string path;
  };
  void Release();
  std::vector<Map> maps_;
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_FILE_PAGE_CACHE_H_
