#include "device/account/block_device.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "device/error.h"
#include "device/os/sys_file.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

// Reads the whole of a file of /sys or /proc, and returns it without the newline at its end.
std::optional<std::string> ReadText(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

std::optional<dev_t> ParseDev(const std::string& text) {
  unsigned major_number, minor_number;
  if (std::sscanf(text.c_str(), "%u:%u", &major_number, &minor_number) != 2) return std::nullopt;
  return makedev(major_number, minor_number);
}

// Returns the device under a file system that spans devices (btrfs), which gives its files numbers
// that no device has.
std::optional<dev_t> MountedFrom(const std::string& path) {
  const std::optional<uint64_t> mount = MountIdOf(path);
  if (!mount) return std::nullopt;
  const std::string source = MountSource(*mount);
  struct stat st;
  if (::stat(source.c_str(), &st) != 0 || !S_ISBLK(st.st_mode)) return std::nullopt;
  return st.st_rdev;
}

// Returns the device that a file lies on, or the device itself if the file is a device node.
std::optional<dev_t> VolumeOf(const std::string& path, const struct stat& st) {
  if (S_ISBLK(st.st_mode)) return st.st_rdev;
  if (major(st.st_dev) != 0) return st.st_dev;
  return MountedFrom(path);
}

// Returns the word in brackets of a list such as "[none] mq-deadline kyber", and any other text
// unchanged.
std::string Chosen(const std::string& list) {
  const size_t begin = list.find('[');
  const size_t end = list.find(']');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return list;
  return list.substr(begin + 1, end - begin - 1);
}

// Returns the difference of two times in milliseconds. The kernel prints them as 32-bit numbers,
// which begin at 0 again after 49.7 days of requests. Its counts have 64 bits.
uint64_t MsBetween(uint64_t before, uint64_t after) {
  return static_cast<uint32_t>(static_cast<uint32_t>(after) - static_cast<uint32_t>(before));
}

// Returns the directory of the whole disk: the parent of a partition's directory, and any other
// device's own.
fs::path DiskOf(const fs::path& device) {
  std::error_code error;
  return fs::exists(device / "partition", error) ? device.parent_path() : device;
}

}  // namespace

std::string MountSource(uint64_t mount_id, const std::string& prefix) {
  for (const Mount& mount : ReadMounts(prefix)) {
    if (mount.id == mount_id && mount.source.starts_with("/dev/")) return mount.source;
  }
  return "";
}

std::vector<std::string> DisksBelow(const std::string& sysfs) {
  std::set<std::string> disks;
  std::error_code error;
  for (const fs::directory_entry& below : fs::directory_iterator(sysfs + "/slaves", error)) {
    const fs::path device = fs::canonical(below.path(), error);
    if (error) continue;
    for (const std::string& disk : DisksBelow(DiskOf(device))) disks.insert(disk);
  }
  if (disks.empty()) disks.insert(fs::path(sysfs).filename());
  return {disks.begin(), disks.end()};
}

std::vector<std::string> BtrfsDevices(const std::string& btrfs, const std::string& volume_name) {
  std::vector<std::string> devices;
  std::error_code error;
  for (const fs::directory_entry& one : fs::directory_iterator(btrfs, error)) {
    const fs::path directory = one.path() / "devices";
    if (!fs::exists(directory / volume_name, error)) continue;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
      const fs::path device = fs::canonical(entry.path(), error);
      if (!error) devices.push_back(device);
    }
  }
  return devices;
}

std::vector<std::string> WholeDevices(const std::vector<std::string>& sysfs) {
  std::set<std::string> names;
  for (const std::string& device : sysfs) names.insert(DiskOf(device).filename());
  return {names.begin(), names.end()};
}

DeviceStats operator-(DeviceStats after, const DeviceStats& before) {
  after.reads -= before.reads;
  after.read_merges -= before.read_merges;
  after.read_bytes -= before.read_bytes;
  after.read_ms = MsBetween(before.read_ms, after.read_ms);
  after.writes -= before.writes;
  after.write_merges -= before.write_merges;
  after.write_bytes -= before.write_bytes;
  after.write_ms = MsBetween(before.write_ms, after.write_ms);
  after.discards -= before.discards;
  after.discard_bytes -= before.discard_bytes;
  after.flushes -= before.flushes;
  return after;
}

DeviceStats operator+(DeviceStats sum, const DeviceStats& other) {
  sum.reads += other.reads;
  sum.read_merges += other.read_merges;
  sum.read_bytes += other.read_bytes;
  sum.read_ms += other.read_ms;
  sum.writes += other.writes;
  sum.write_merges += other.write_merges;
  sum.write_bytes += other.write_bytes;
  sum.write_ms += other.write_ms;
  sum.in_flight += other.in_flight;
  sum.discards += other.discards;
  sum.discard_bytes += other.discard_bytes;
  sum.flushes += other.flushes;
  return sum;
}

std::optional<DeviceStats> ParseDeviceStats(const std::string& text) {
  constexpr size_t kFields = 17;
  constexpr uint64_t kSector = 512;  // unit of the stat file, whatever the device's block size
  uint64_t v[kFields] = {};
  std::istringstream fields(text);
  size_t n = 0;
  while (n < kFields && fields >> v[n]) ++n;
  if (n < 11) return std::nullopt;
  DeviceStats s;
  s.reads = v[0];
  s.read_merges = v[1];
  s.read_bytes = v[2] * kSector;
  s.read_ms = v[3];
  s.writes = v[4];
  s.write_merges = v[5];
  s.write_bytes = v[6] * kSector;
  s.write_ms = v[7];
  s.in_flight = v[8];
  s.discards = v[11];
  s.discard_bytes = v[13] * kSector;
  s.flushes = v[15];
  return s;
}

DeviceStats StatsOf(const std::vector<std::string>& sysfs) {
  DeviceStats sum;
  for (const std::string& device : sysfs) {
    const std::string path = device + "/stat";
    const std::optional<std::string> text = ReadText(path);
    if (!text) throw Error::Io("read", path, errno);
    const std::optional<DeviceStats> stats = ParseDeviceStats(*text);
    if (!stats) {
      throw Error(Error::kRun, path + " does not hold a device's statistics: the device " +
                                   fs::path(device).filename().string() + " is gone");
    }
    sum = sum + *stats;
  }
  return sum;
}

uint32_t KernelDev(dev_t dev) { return major(dev) << 20 | minor(dev); }

std::optional<BlockDevice> BlockDevice::Find(const std::string& path) {
  struct stat st;
  if (::stat(path.c_str(), &st) != 0) return std::nullopt;
  const std::optional<dev_t> volume = VolumeOf(path, st);
  if (!volume) return std::nullopt;
  std::error_code error;
  const fs::path directory = fs::canonical(
      "/sys/dev/block/" + std::to_string(major(*volume)) + ":" + std::to_string(minor(*volume)),
      error);
  if (error) return std::nullopt;

  BlockDevice device;
  device.volume_name_ = directory.filename();
  device.volume_dev_ = KernelDev(*volume);
  device.files_have_its_number_ = S_ISBLK(st.st_mode) || st.st_dev == *volume;
  fs::path disk = directory;
  if (fs::exists(directory / "partition", error)) {
    disk = directory.parent_path();
    device.volume_start_ = std::stoull(ReadText(directory / "start").value_or("0"));
  }
  const std::optional<dev_t> dev = ParseDev(ReadText(disk / "dev").value_or(""));
  if (!dev || !ParseDeviceStats(ReadText(disk / "stat").value_or(""))) return std::nullopt;
  device.dev_ = KernelDev(*dev);
  device.name_ = disk.filename();
  device.sysfs_ = disk;
  std::set<std::string> disks;
  std::vector<std::string> devices = BtrfsDevices("/sys/fs/btrfs", device.volume_name_);
  if (devices.empty()) devices.push_back(disk);
  device.devices_ = WholeDevices(devices);
  for (const std::string& one : devices) {
    for (const std::string& name : DisksBelow(DiskOf(one))) disks.insert(name);
  }
  device.disks_.assign(disks.begin(), disks.end());
  return device;
}

BlockDevice BlockDevice::Under(const std::string& path) {
  struct stat st;
  if (::stat(path.c_str(), &st) != 0) throw Error::Io("stat", path, errno);
  if (std::optional<BlockDevice> device = Find(path)) return *device;
  throw Error(Error::kUsage,
              "no block device lies under " + path +
                  ": its file system lives in memory, on a network or on several devices; choose a "
                  "--dir on a disk, or --scratch");
}

std::string BlockDevice::volume_node() const { return "/dev/" + volume_name_; }

DeviceStats BlockDevice::Stats() const {
  if (devices_.size() < 2) return StatsOf({sysfs_});
  std::vector<std::string> sysfs;
  for (const std::string& device : devices_) sysfs.push_back("/sys/block/" + device);
  return StatsOf(sysfs);
}

std::vector<std::pair<std::string, std::string>> BlockDevice::QueueSettings() const {
  std::vector<std::pair<std::string, std::string>> settings;
  for (const char* name :
       {"scheduler", "read_ahead_kb", "max_sectors_kb", "nr_requests", "logical_block_size",
        "physical_block_size", "write_cache", "fua", "rotational"}) {
    if (std::optional<std::string> value = ReadText(sysfs_ + "/queue/" + name)) {
      settings.emplace_back(name, Chosen(*value));
    }
  }
  return settings;
}

uint64_t BlockDevice::readahead_kb() const {
  const std::optional<std::string> text = ReadText(sysfs_ + "/queue/read_ahead_kb");
  if (!text) throw Error::Io("read", sysfs_ + "/queue/read_ahead_kb", errno);
  return std::stoull(*text);
}

}  // namespace testbed
