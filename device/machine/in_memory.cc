#include "device/machine/in_memory.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "device/file/page_cache.h"
#include "device/os/sys_file.h"

namespace testbed {
namespace {

constexpr int kMostLayers = 8;  // file systems and devices, one on the other, that are looked at

bool IsRamDisk(const std::string& name) {
  return name.starts_with("zram") ||
         (name.starts_with("ram") && name.find_first_not_of("0123456789", 3) == std::string::npos);
}

// Returns the directory of the upper layer of the overlay that holds `path`; empty when it is on
// none.
std::string UpperLayer(const std::string& path, const std::string& prefix) {
  const std::optional<Mount> mount = MountOf(path, prefix);
  return mount && mount->type == "overlay" ? mount->OptionValue("upperdir") : "";
}

bool DeviceInMemory(const BlockDevice& device, const std::string& prefix, int layers);

bool FilesInMemory(const std::string& path, const std::string& prefix, int layers) {
  if (layers == 0) return false;
  if (IsInMemory(path)) return true;
  const std::string upper = UpperLayer(path, prefix);
  if (upper.starts_with('/')) return FilesInMemory(upper, prefix, layers - 1);
  const std::optional<BlockDevice> device = BlockDevice::Find(path);
  return device && DeviceInMemory(*device, prefix, layers);
}

bool DeviceInMemory(const BlockDevice& device, const std::string& prefix, int layers) {
  return std::any_of(device.disks().begin(), device.disks().end(), [&](const std::string& disk) {
    if (IsRamDisk(disk)) return true;
    // The name of an image that was removed ends with " (deleted)". Its directory is still
    // there.
    const std::filesystem::path image = ReadLine("/sys/block/" + disk + "/loop/backing_file");
    return image.is_absolute() && FilesInMemory(image.parent_path().string(), prefix, layers - 1);
  });
}

}  // namespace

bool LiesInMemory(const std::string& path, const std::string& prefix) {
  return FilesInMemory(path, prefix, kMostLayers);
}

bool LiesInMemory(const BlockDevice& device) { return DeviceInMemory(device, "", kMostLayers); }

}  // namespace testbed
