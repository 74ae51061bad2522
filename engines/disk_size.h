// DiskSize is the space that an engine's files take on disk.
#ifndef TESTBED_ENGINES_DISK_SIZE_H_
#define TESTBED_ENGINES_DISK_SIZE_H_

#include <cstdint>
#include <functional>
#include <string>

namespace testbed {

struct DiskSize {  // in bytes; holes, and space behind the end of a file, are not counted
  uint64_t data_bytes = 0;
  uint64_t log_bytes = 0;  // bytes of the write-ahead log, including spare files
  // This is the space of data files that the engine allocated ahead of its use. It holds no data,
  // so it is not part of the total.
  uint64_t preallocated_bytes = 0;
  uint64_t total() const { return data_bytes + log_bytes; }
  DiskSize& operator+=(const DiskSize& o) {
    data_bytes += o.data_bytes;
    log_bytes += o.log_bytes;
    preallocated_bytes += o.preallocated_bytes;
    return *this;
  }
};

// Returns the bytes that a file takes on disk, without holes and without space that is allocated
// behind the end of the file. Returns 0 when the file does not exist.
uint64_t FileBytesOnDisk(const std::string& path);

// Returns the size of all files in `dir` and its subdirectories. A file counts as log when `is_log`
// returns true for its path within `dir`. Other threads may create and remove files meanwhile: a
// file that is gone counts 0 bytes.
DiskSize DiskSizeOf(const std::string& dir, const std::function<bool(const std::string&)>& is_log);

}  // namespace testbed

#endif  // TESTBED_ENGINES_DISK_SIZE_H_
