// Finds where the bytes of a file lie on the device of its file system, and which of its space was
// never written (FIEMAP; Linux, Documentation/filesystems/fiemap.rst).
#ifndef TESTBED_DEVICE_FILE_EXTENTS_H_
#define TESTBED_DEVICE_FILE_EXTENTS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace testbed {

struct FileExtent {
  uint64_t physical;  // offset on the device, in bytes
  uint64_t bytes;
};

// Returns the extents that have a place on the device, in the order of the file. Bytes that are
// still in the page cache alone may not have a place yet, and are left out then. Throws Error (kIo)
// when the file cannot be opened or its file system does not tell.
std::vector<FileExtent> FileExtents(const std::string& path);

struct FileRange {
  uint64_t begin = 0, end = 0;  // offsets in the file
};

// Returns the first range of the file at or behind `offset` that was written. All bytes before it
// are zeros: holes, and space that was reserved and never written. Pages of the cache that hold
// such zeros do not count as written, as they do for SEEK_DATA of lseek(2). The range begins at
// UINT64_MAX when no written one follows, and is all of the file from `offset` on when the file
// system does not tell.
FileRange NextWritten(int fd, uint64_t offset);

}  // namespace testbed

#endif  // TESTBED_DEVICE_FILE_EXTENTS_H_
