#include "device/file/extents.h"

#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "device/error.h"
#include "device/os/regular_file.h"

namespace testbed {

std::vector<FileExtent> FileExtents(const std::string& path) {
  constexpr uint32_t kAtOnce = 256;
  const int fd = OpenRegularFile(path, O_RDONLY);
  if (fd < 0) throw Error::Io("open", path, errno);
  std::vector<FileExtent> extents;
  std::vector<uint64_t> memory((sizeof(fiemap) + kAtOnce * sizeof(fiemap_extent)) / 8 + 1);
  auto* map = reinterpret_cast<fiemap*>(memory.data());
  for (uint64_t from = 0; from != UINT64_MAX;) {
    *map = {};
    map->fm_start = from;
    map->fm_length = FIEMAP_MAX_OFFSET - from;
    map->fm_extent_count = kAtOnce;
    if (::ioctl(fd, FS_IOC_FIEMAP, map) != 0) {
      const int code = errno;
      ::close(fd);
      throw Error::Io("map the extents of", path, code);
    }
    bool last = map->fm_mapped_extents == 0;
    for (uint32_t i = 0; i < map->fm_mapped_extents; ++i) {
      const fiemap_extent& extent = map->fm_extents[i];
      last |= (extent.fe_flags & FIEMAP_EXTENT_LAST) != 0;
      from = extent.fe_logical + extent.fe_length;
      if ((extent.fe_flags & (FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC)) != 0) continue;
      extents.push_back({extent.fe_physical, extent.fe_length});
    }
    if (last) from = UINT64_MAX;
  }
  ::close(fd);
  return extents;
}

FileRange NextWritten(int fd, uint64_t offset) {
  constexpr uint32_t kAtOnce = 16;
  alignas(fiemap) std::array<char, sizeof(fiemap) + kAtOnce * sizeof(fiemap_extent)> memory;
  auto* map = reinterpret_cast<fiemap*>(memory.data());
  for (uint64_t from = offset;;) {
    *map = {};
    map->fm_start = from;
    map->fm_length = FIEMAP_MAX_OFFSET - from;
    map->fm_flags = FIEMAP_FLAG_SYNC;  // dirty pages may be the first data of reserved space
    map->fm_extent_count = kAtOnce;
    if (::ioctl(fd, FS_IOC_FIEMAP, map) != 0) return {offset, UINT64_MAX};
    for (uint32_t i = 0; i < map->fm_mapped_extents; ++i) {
      const fiemap_extent& extent = map->fm_extents[i];
      from = extent.fe_logical + extent.fe_length;
      if ((extent.fe_flags & FIEMAP_EXTENT_UNWRITTEN) == 0) {
        return {std::max(offset, static_cast<uint64_t>(extent.fe_logical)), from};
      }
      if ((extent.fe_flags & FIEMAP_EXTENT_LAST) != 0) return {UINT64_MAX, UINT64_MAX};
    }
    if (map->fm_mapped_extents == 0) return {UINT64_MAX, UINT64_MAX};
  }
}

}  // namespace testbed
