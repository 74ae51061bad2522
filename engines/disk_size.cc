#include "engines/disk_size.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

namespace testbed {

// btree punches a hole behind each page that is compressed in its place.
uint64_t FileBytesOnDisk(const std::string& path) {
  constexpr uint64_t kUnit = 512;  // unit of st_blocks on every file system
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return 0;
  return std::min(static_cast<uint64_t>(status.st_size),
                  static_cast<uint64_t>(status.st_blocks) * kUnit);
}

DiskSize DiskSizeOf(const std::string& dir, const std::function<bool(const std::string&)>& is_log) {
  DiskSize size;
  std::error_code error;
  std::filesystem::recursive_directory_iterator at(dir, error);
  for (; !error && at != std::filesystem::recursive_directory_iterator(); at.increment(error)) {
    const bool log = is_log(at->path().lexically_relative(dir).string());
    (log ? size.log_bytes : size.data_bytes) += FileBytesOnDisk(at->path().string());
  }
  return size;
}

}  // namespace testbed
