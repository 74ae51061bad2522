// A BlockDevice is the block device under a path. It has the device's identity, statistics and
// queue settings.
//
//   BlockDevice device = BlockDevice::Under(directory);
//   DeviceStats before = device.Stats();
//   ...
//   DeviceStats cost = device.Stats() - before;
//
// The kernel keeps the statistics (Documentation/block/stat.rst). It counts requests when they
// complete, after merging, and counts an empty flush as a write of 0 bytes. They are those of the
// whole disk, even for a path on a partition, because the block layer's tracepoints see the disk.
// Statistics that are to be compared are taken while none is in flight.
//
// A BlockDevice is a value that can be copied; it never changes, and its methods are thread-safe.
// Reading the statistics opens and parses a sysfs file, which takes about 10 microseconds, so it
// belongs to the borders of phases, not into operations.
#ifndef TESTBED_DEVICE_ACCOUNT_BLOCK_DEVICE_H_
#define TESTBED_DEVICE_ACCOUNT_BLOCK_DEVICE_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace testbed {

// The times of all requests of a disk together, in milliseconds, are 32-bit numbers of the kernel,
// and begin at 0 again after 49.7 days; a difference takes that into account.
struct DeviceStats {
  uint64_t reads = 0, read_merges = 0, read_bytes = 0, read_ms = 0;
  uint64_t writes = 0, write_merges = 0, write_bytes = 0, write_ms = 0;
  uint64_t in_flight = 0;  // at this moment, not since boot; a difference keeps the later value
  uint64_t discards = 0, discard_bytes = 0;
  // `flushes` are the flush commands that reached the device. They are fewer than were asked for,
  // as the block layer coalesces them.
  uint64_t flushes = 0;
  friend DeviceStats operator-(DeviceStats after, const DeviceStats& before);
  friend DeviceStats operator+(DeviceStats sum, const DeviceStats& other);  // of two devices
};

// Parses the text of a sysfs stat file. Returns nothing when `text` is not such a file's. Kernels
// before 4.18 have no discard fields and kernels before 5.5 no flush fields; these stay zero.
std::optional<DeviceStats> ParseDeviceStats(const std::string& text);

// Returns the statistics since boot of devices together, each given by its directory in /sys.
// Throws Error (kIo, kRun) when one is gone.
DeviceStats StatsOf(const std::vector<std::string>& sysfs);

// Returns a device number in the kernel's own encoding (major << 20 | minor), which BPF programs
// and tracepoints see. User space's dev_t packs these two numbers in another order.
uint32_t KernelDev(dev_t dev);

// Returns the device node that the mount table names as the source of a mount (stx_mnt_id of
// statx(2)), and "" when it names none. Tests set `prefix`, which stands before /proc.
std::string MountSource(uint64_t mount_id, const std::string& prefix = "");

// Returns the names of the disks that a device lies on: the disks below a device of device mapper
// or md, and any other device's own name. `sysfs` is the device's directory in /sys.
std::vector<std::string> DisksBelow(const std::string& sysfs);
// Returns the directories in /sys of all devices of the btrfs that has the volume among its
// devices, and nothing when no btrfs has. `btrfs` is /sys/fs/btrfs, but in tests.
std::vector<std::string> BtrfsDevices(const std::string& btrfs, const std::string& volume_name);
// Returns the names of the whole devices that these devices are or are partitions of, each name
// once. A device is given by its directory in /sys.
std::vector<std::string> WholeDevices(const std::vector<std::string>& sysfs);

class BlockDevice {
 public:
  // Returns the whole disk that holds `path`, which may also be a device node. Throws Error
  // (kUsage) when no block device lies under the path (tmpfs, overlay, a file system on a network),
  // and Error (kIo) when there is no such path.
  static BlockDevice Under(const std::string& path);
  // Returns the disk as Under does, but nothing where Under throws.
  static std::optional<BlockDevice> Find(const std::string& path);

  const std::string& name() const { return name_; }     // "loop3", "nvme0n1"
  std::string node() const { return "/dev/" + name_; }  // node of the whole disk
  uint32_t dev() const { return dev_; }                 // in the kernel's encoding (KernelDev)
  // The volume is the partition that the file system lies on, or the disk if it has no partitions.
  // volume_start() is where the volume begins on the disk, in sectors of 512 bytes.
  std::string volume_node() const;
  uint32_t volume_dev() const { return volume_dev_; }  // in the kernel's encoding
  uint64_t volume_start() const { return volume_start_; }
  // Returns whether the files of the file system have the volume's device number (st_dev). Those of
  // btrfs have one of their own, so that the kernel account cannot assign requests to them.
  bool files_have_its_number() const { return files_have_its_number_; }
  // Returns the names of the disks that hold the file system. There is more than one only under a
  // btrfs over several devices, md and device mapper (LVM).
  const std::vector<std::string>& disks() const { return disks_; }
  // Returns the names of the devices to which the file system itself sends requests. There is more
  // than one only under a btrfs over several devices: md and device mapper are one device, whatever
  // lies below them.
  const std::vector<std::string>& devices() const { return devices_; }

  // Returns the disk's statistics since boot, and those of all devices() together when there are
  // several. Throws Error (kIo, kRun) when a device is gone.
  DeviceStats Stats() const;

  // Returns the queue settings that shape results: scheduler, read_ahead_kb, max_sectors_kb,
  // nr_requests, logical_block_size, physical_block_size, write_cache, fua, rotational. A setting
  // that this kernel does not have is left out.
  std::vector<std::pair<std::string, std::string>> QueueSettings() const;
  // Returns the device's readahead in KiB. Throws Error (kIo) when the device is gone.
  uint64_t readahead_kb() const;
  const std::string& sysfs() const { return sysfs_; }  // the disk's directory in /sys

 private:
  BlockDevice() = default;
  std::string name_;
  uint32_t dev_ = 0;
  std::string volume_name_;
  uint32_t volume_dev_ = 0;
  bool files_have_its_number_ = true;
  uint64_t volume_start_ = 0;
  std::string sysfs_;
  std::vector<std::string> disks_, devices_;
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_ACCOUNT_BLOCK_DEVICE_H_
