// A disk with a volatile write cache, for power cuts as they really are.
//
// A file system shut down (ScratchDevice::Shutdown) forgets what is in its own caches, and keeps
// each direct write whether it was flushed or not, whole. A disk does less: what was not flushed
// may be there or not, each sector of 512 bytes for itself, in any order. This is such a disk: a
// process that serves one file by FUSE, for a loop device to stand on. It answers writes from
// memory and writes them to the image when it is told to flush, or when it holds too much, as a
// disk does.
//
//   auto disk = FaultDisk::Start(image, bytes, mount_point);
//   ... a loop device over disk->file() ...
//   disk->Cut(seed, 50);     // half of what was not flushed is there; every request fails from now on
//   disk->Revive();          // power again
//   disk->FailWrites({{begin, end}}, 3, 1);   // the fourth write to these bytes fails with EIO
//
// The process ends with the one that started it, and with the object. Needs root and /dev/fuse.
// Start must run before the process starts threads. Errors throw Error. Not thread-safe.
#ifndef TESTBED_DEVICE_MACHINE_FAULT_DISK_H_
#define TESTBED_DEVICE_MACHINE_FAULT_DISK_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace testbed {

class FaultDisk {
 public:
  struct Counts {
    uint64_t reads = 0, writes = 0, flushes = 0;
    uint64_t kept = 0, lost = 0;  // sectors that were not flushed, at all cuts
    uint64_t failed = 0;          // writes that FailWrites made fail
  };

  // Whether there can be one here; if not, *why gets a sentence.
  static bool Available(std::string* why);
  // `image` holds the disk's bytes; `mount_point` is an empty directory, used until the end.
  static std::unique_ptr<FaultDisk> Start(const std::string& image, uint64_t bytes,
                                          const std::string& mount_point);
  ~FaultDisk();
  FaultDisk(const FaultDisk&) = delete;
  FaultDisk& operator=(const FaultDisk&) = delete;

  const std::string& file() const { return file_; }
  void Cut(uint64_t seed, int keep_pct);
  void Revive();
  // Bytes of the disk, without `end`.
  struct Range {
    uint64_t begin, end;
  };
  static constexpr size_t kMostRanges = 1000;
  // Of the writes that touch one of the ranges from now on, `skip` pass and the next `count` fail with
  // EIO; the disk keeps nothing of those. A later call replaces this one; a count of 0 ends it. Takes
  // the first kMostRanges ranges.
  void FailWrites(const std::vector<Range>& ranges, uint64_t skip, uint64_t count);
  Counts Count();

 private:
  FaultDisk() = default;
  Counts Tell(const std::string& message);

  std::string mount_point_, file_;
  pid_t owner_ = 0, server_ = 0;
  int control_ = -1;
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_MACHINE_FAULT_DISK_H_
