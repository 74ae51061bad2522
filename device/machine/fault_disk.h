// A FaultDisk is a disk with a volatile write cache, whose power can be cut as a real disk's.
//
// A file system that is shut down (ScratchDevice::Shutdown) forgets its own caches, but keeps each
// direct write whole, flushed or not. A disk promises less: after a power cut each sector of 512
// bytes that was not flushed may be there or not, whatever the order of the writes. A FaultDisk is
// a process that serves a single file by FUSE, on which a loop device is made. It keeps writes in
// memory, and writes them to the image when it is told to flush or when it holds too many, as a
// disk does.
//
//   auto disk = FaultDisk::Start(image_fd, bytes, mount_point, mount_point_fd);
//   ... a loop device over disk->Open(O_RDWR | O_DIRECT) ...
//   disk->Cut(seed, 50);     // half of the unflushed sectors stay; every request fails from now on
//   disk->Revive();          // power again
//   disk->FailWrites({{begin, end}}, 3, 1);   // the fourth write to these bytes fails with EIO
//
// The serving process ends with the process that started it, and with the object. It has a mount
// namespace of its own with the root alone, so that it is never the last user of a file system that
// lies on the disk: it would have to unmount that at its end, and wait for itself. It needs root
// and /dev/fuse. Start must run before the process starts threads. Methods throw Error (kRun) when
// the serving process is gone. Not thread-safe.
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
    uint64_t opens = 0, reads = 0, writes = 0, flushes = 0;
    uint64_t kept = 0, lost = 0;  // unflushed sectors that all cuts kept and lost
    uint64_t failed = 0;          // writes that FailWrites made fail
  };

  // Returns whether this user on this machine can have a FaultDisk. If not, sets *why to a
  // sentence, unless `why` is null.
  static bool Available(std::string* why);
  // Starts a disk of `bytes` bytes in the regular file that is open as `image`. `mount_point` is an
  // empty directory, open as `mount_point_fd`, and used until the disk is destroyed. The caller
  // keeps both descriptors. The disk uses them rather than the names, which may lead to another
  // file by now. Throws Error when Available() is false (kUsage) or the kernel refuses (kIo, kRun).
  static std::unique_ptr<FaultDisk> Start(int image, uint64_t bytes, const std::string& mount_point,
                                          int mount_point_fd);
  ~FaultDisk();
  FaultDisk(const FaultDisk&) = delete;
  FaultDisk& operator=(const FaultDisk&) = delete;

  // Opens the disk as open(2) does with these flags, and returns a descriptor, which the caller
  // owns. Throws Error: kIo when the system refuses, kRun when the path below the mount point now
  // leads to another file.
  int Open(int flags);
  // Cuts the power. Each unflushed sector is kept with a probability of keep_pct percent, drawn
  // from `seed`; without `tears` each write is kept or lost as a whole with this probability, so
  // that one of many sectors may well be there while another is lost. Every request then fails
  // with EIO until Revive().
  void Cut(uint64_t seed, int keep_pct, bool tears = true);
  void Revive();
  // A Range is the bytes [begin, end) of the disk.
  struct Range {
    uint64_t begin, end;
  };
  static constexpr size_t kMostRanges = 1000;
  // Makes writes fail that touch one of the ranges: from now on the first `skip` of them pass, the
  // next `count` fail with EIO and change nothing, and all later ones pass. Each call replaces the
  // earlier one; a `count` of 0 makes no write fail. Takes only the first kMostRanges ranges.
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
