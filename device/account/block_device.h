// The block device under a path: who it is, what its statistics say, how its queue is set.
//
//   BlockDevice device = BlockDevice::Under(directory);
//   DeviceStats before = device.Stats();
//   ...
//   device.Quiesce(1000);
//   DeviceStats cost = device.Stats() - before;
//
// Statistics are the kernel's (Documentation/block/stat.rst): requests as completed, after merging;
// an empty flush counts as a write of 0 bytes. They are those of the whole disk, also for a path on
// a partition: that is what the block layer's tracepoints see.
//
// A value that can be copied; const and thread-safe. Reading the statistics costs about 10
// microseconds (a sysfs file opened and parsed), so it belongs to phase borders, not to operations.
#ifndef TESTBED_DEVICE_ACCOUNT_BLOCK_DEVICE_H_
#define TESTBED_DEVICE_ACCOUNT_BLOCK_DEVICE_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace testbed {

struct DeviceStats {
  uint64_t reads = 0, read_merges = 0, read_bytes = 0, read_ms = 0;
  uint64_t writes = 0, write_merges = 0, write_bytes = 0, write_ms = 0;
  uint64_t in_flight = 0;  // now, not since boot; a difference keeps the later value
  uint64_t discards = 0, discard_bytes = 0;
  uint64_t flushes = 0;  // flush commands the device got: fewer than asked for, as they coalesce
  friend DeviceStats operator-(DeviceStats after, const DeviceStats& before);
};

// Parses a sysfs stat file. Kernels before 4.18 have no discard fields, before 5.5 no flushes:
// those stay zero. Nothing when the text is not one.
std::optional<DeviceStats> ParseDeviceStats(const std::string& text);

// The kernel's own encoding of a device number (major << 20 | minor), as BPF programs and
// tracepoints see it; user space's dev_t packs the same two numbers in another order.
uint32_t KernelDev(dev_t dev);

// The disks that a device of sysfs (its directory there) lies on, by name: itself, or of device
// mapper and md the disks below it.
std::vector<std::string> DisksBelow(const std::string& sysfs);
// The directories, in sysfs, of all devices of the btrfs that has this volume among its devices;
// empty when none has. `btrfs`: /sys/fs/btrfs.
std::vector<std::string> BtrfsDevices(const std::string& btrfs, const std::string& volume_name);

class BlockDevice {
 public:
  // The whole disk that holds `path`. Throws Error when there is none (tmpfs, overlay, btrfs
  // subvolume without one): Find returns nothing instead. `path` may also be a device node.
  static BlockDevice Under(const std::string& path);
  static std::optional<BlockDevice> Find(const std::string& path);

  const std::string& name() const { return name_; }     // "loop3", "nvme0n1"
  std::string node() const { return "/dev/" + name_; }  // of the whole disk
  uint32_t dev() const { return dev_; }                 // kernel's dev_t: major << 20 | minor
  // The partition or disk that the file system lies on (equals dev() without partitions), and where
  // it begins on the disk, in sectors of 512 bytes.
  uint32_t volume_dev() const { return volume_dev_; }
  std::string volume_node() const;
  uint64_t volume_start() const { return volume_start_; }
  // The disks that hold the file system, by name: one, but for btrfs over several devices, md and
  // device mapper (LVM). Statistics and requests are counted on name() alone.
  const std::vector<std::string>& disks() const { return disks_; }

  DeviceStats Stats() const;
  // Waits until no request is in flight, for at most `timeout_ms`; returns whether it came to rest.
  bool Quiesce(int timeout_ms) const;

  // Queue settings that shape results: scheduler, read_ahead_kb, max_sectors_kb, nr_requests,
  // logical_block_size, physical_block_size, write_cache, fua, rotational. A setting this kernel
  // does not have is left out.
  std::vector<std::pair<std::string, std::string>> QueueSettings() const;
  uint64_t readahead_kb() const;
  const std::string& sysfs() const { return sysfs_; }  // the disk's directory in /sys

 private:
  BlockDevice() = default;
  std::string name_;
  uint32_t dev_ = 0;
  std::string volume_name_;
  uint32_t volume_dev_ = 0;
  uint64_t volume_start_ = 0;
  std::string sysfs_;
  std::vector<std::string> disks_;
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_ACCOUNT_BLOCK_DEVICE_H_
