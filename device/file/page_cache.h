// Measures and empties the OS page cache of files.
//
//   DropResult dropped = DropPages(directory);  // before a run that should start cold
//   PageCacheUse use = Residency(directory);    // how much is cached, and how much of it is dirty
//
// A path may be a file or a directory tree. In a tree, symbolic links and special files are
// skipped, and a file that vanishes meanwhile is not an error. Residency comes from cachestat(2)
// (Linux 6.5), or from mincore(2) where cachestat is missing, refused or blind (overlayfs). Both
// need the file to be the user's own or writable. All functions throw Error (kIo) when the system
// refuses.
#ifndef TESTBED_DEVICE_FILE_PAGE_CACHE_H_
#define TESTBED_DEVICE_FILE_PAGE_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace testbed {

// PageCacheUse says what the page cache holds of one or several files. All values but `files` and
// `size` are bytes of whole pages.
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

// Returns whether the file is one of overlayfs, as in the root of a container. Its pages belong to
// the file of the layer below: calls on the overlay's own pages, cachestat(2) and
// sync_file_range(2), find none and succeed.
bool IsOnOverlay(int fd);
// Returns whether sync_file_range(2) gives this errno where there is no such call, or none for the
// file. Any other errno may be that of a write-back that failed, which the kernel tells a
// descriptor once; a device has more of them than EIO and ENOSPC (ENODATA, ETIMEDOUT, EREMOTEIO).
bool LacksRangeSync(int code);

// Returns whether the file is on a file system that has its files in memory alone (tmpfs, ramfs).
// Kernels since 6.6 accept direct IO there, though there is no device.
bool IsInMemory(int fd);
// Returns whether the file or directory at `path` is on such a file system; false when the system
// does not tell.
bool IsInMemory(const std::string& path);

// Returns the sum of the page cache's use over all files at or under `path`.
PageCacheUse Residency(const std::string& path);
// Returns the page cache's use by an open file; `path` is for error messages. With kMincore, tests
// check the two sources against each other.
PageCacheUse Residency(int fd, const std::string& path,
                       ResidencySource source = ResidencySource::kBest);

struct DropResult {
  PageCacheUse before, after;  // after.cached > 0 means that pages are mapped or still in use
  uint64_t dropped() const {
    return before.cached > after.cached ? before.cached - after.cached : 0;
  }
};

// Writes dirty pages back (fdatasync), evicts all pages (POSIX_FADV_DONTNEED) and checks that they
// are gone. It tries a few times, because the kernel passes over pages that are not yet on its
// lists. Pages that this or another process has mapped stay in the cache.
DropResult DropPages(const std::string& path);

}  // namespace testbed

#endif  // TESTBED_DEVICE_FILE_PAGE_CACHE_H_
