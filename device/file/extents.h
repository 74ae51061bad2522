// Finds where the bytes of a file lie on the device of its file system (FIEMAP; Linux,
// Documentation/filesystems/fiemap.rst).
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

}  // namespace testbed

#endif  // TESTBED_DEVICE_FILE_EXTENTS_H_
