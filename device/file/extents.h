// Where the bytes of a file lie on the device of its file system (FIEMAP; Linux,
// Documentation/filesystems/fiemap.rst).
#ifndef TESTBED_DEVICE_FILE_EXTENTS_H_
#define TESTBED_DEVICE_FILE_EXTENTS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace testbed {

struct FileExtent {
  uint64_t logical, physical;  // bytes from the beginning of the file, and of the device
  uint64_t bytes;
};

// The extents that have a place, in the order of the file. What was written and is still in the page
// cache alone may have none. Throws Error (kIo) when the file cannot be opened, or the file system
// does not tell.
std::vector<FileExtent> FileExtents(const std::string& path);

}  // namespace testbed

#endif  // TESTBED_DEVICE_FILE_EXTENTS_H_
