#include "engines/disk_size.h"

#include <filesystem>

namespace testbed {

DiskSize DiskSizeOf(const std::string& dir, const std::function<bool(const std::string&)>& is_log) {
  DiskSize size;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(dir, ignored)) {
    std::error_code gone;
    const uintmax_t bytes = entry.is_regular_file(gone) ? entry.file_size(gone) : 0;
    if (!gone) (is_log(entry.path().string()) ? size.log_bytes : size.data_bytes) += bytes;
  }
  return size;
}

}  // namespace testbed
