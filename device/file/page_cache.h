// Measures, empties and holds the OS page cache of files.
//
//   DropResult dropped = DropPages(directory);  // before a run that should start cold
//   PageCacheUse use = Residency(directory);    // how much is cached, and how much of it is dirty
//   PageHold hold(path);                        // keeps pages in the cache while it lives
//
// A path may be a file or a directory tree. In a tree, symbolic links and special files are
// skipped, and a file that vanishes meanwhile is not an error. Residency comes from cachestat(2)
// (Linux 6.5), or from mincore(2) where cachestat is missing or refused. Both need the file to be
// the user's own or writable. All functions throw Error (kIo) when the system refuses.
#ifndef TESTBED_DEVICE_FILE_PAGE_CACHE_H_
#define TESTBED_DEVICE_FILE_PAGE_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace testbed {

// What the page cache holds of some files. All but `files` and `size` are bytes of whole pages.
struct PageCacheUse {
  uint64_t files = 0;  // number of files
  uint64_t size = 0;   // sum of the files' lengths in bytes
  uint64_t cached = 0;
  uint64_t dirty = 0, writeback = 0;  // parts of `cached`; 0 where only mincore works
  uint64_t evicted = 0;               // pages that were cached once and have been evicted
  bool exact = true;                  // false when mincore(2) was the source for some file
  PageCacheUse& operator+=(const PageCacheUse& o);
};

enum class ResidencySource : uint8_t { kBest, kMincore };

// Returns the sum over all files at or under `path`.
PageCacheUse Residency(const std::string& path);
// Returns the use of an open file; `path` is for error messages. kMincore lets tests check the two
// sources against each other.
PageCacheUse Residency(int fd, const std::string& path,
                       ResidencySource source = ResidencySource::kBest);

struct DropResult {
  PageCacheUse before, after;  // after.cached > 0 means that pages are mapped or still in use
  uint64_t dropped() const {
    return before.cached > after.cached ? before.cached - after.cached : 0;
  }
};

// Writes dirty pages back (fdatasync), evicts all pages (POSIX_FADV_DONTNEED) and checks that they
// are gone. It tries a few times, as the kernel passes over pages that are on their way to its
// lists. Pages stay that this or another process has mapped.
DropResult DropPages(const std::string& path);

// Keeps the pages of files in the page cache. A PageHold maps the files and populates the mappings,
// which also exempts the pages from proactive reclaim by DAMON (host.h). Memory pressure, such as
// that of a memory budget smaller than the files, still evicts them; Resident() tells. A mapping
// covers the length that its file had when the hold was made. A page is charged to the memory
// cgroup of the process that read it first. Not thread-safe.
class PageHold {
 public:
  // Maps the file, or all files under the directory, and reads them in.
  explicit PageHold(const std::string& path);
  ~PageHold();
  PageHold(PageHold&& other) noexcept : maps_(std::exchange(other.maps_, {})) {}
  PageHold& operator=(PageHold&&) = delete;

  // Reads the pages that were evicted meanwhile back in.
  void Refresh();
  uint64_t size() const;      // bytes of the mappings, in whole pages
  uint64_t Resident() const;  // bytes of these that are in the page cache now

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
