// A ScratchDevice is a block device with a file system of its own, so that its statistics are those
// of a single experiment.
//
//   ScratchOptions options;
//   options.directory = "/var/tmp";
//   options.bytes = 4ull << 30;
//   auto scratch = ScratchDevice::Create(options);
//   ... scratch->path() is an empty file system ...
//
// Create writes an image file in full, makes a loop device over it with direct IO (one request in,
// one request out, no second page cache), and makes and mounts a file system without access times.
// The mount lives in a private mount namespace of this process, the loop device detaches itself
// with its last user, and the image is unlinked as soon as the loop device holds it. So a process
// that ends in any way, even by kill -9, leaves no mount, no loop device and no image. At most it
// leaves a half-written image or an empty mount point, which CleanLeftovers and the next Create in
// that directory remove. An image or mount point that is in use has a lock, which its owner holds.
//
// A scratch device needs root of the machine, with CAP_SYS_ADMIN. Create must run before the
// process starts threads: a mount namespace belongs to a thread, and a new thread inherits the
// namespace of its creator. Forked children share it and may use the file system; only the process
// that created the device unmounts it.
//
// The device finds what it mounts, formats or shuts down by descriptors and not by name, as anyone
// who may write to the directory can give the name to another file. It refuses a directory in which
// another user could do so unnoticed (device/os/foreign_directory.h).
//
// Methods throw Error: kUsage when the options or the machine do not allow a device, kIo when the
// system refuses. Not thread-safe.
#ifndef TESTBED_DEVICE_MACHINE_SCRATCH_H_
#define TESTBED_DEVICE_MACHINE_SCRATCH_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "device/account/block_device.h"
#include "device/machine/fault_disk.h"

namespace testbed {

enum class FileSystem : uint8_t { kExt4, kXfs };
const char* FileSystemName(FileSystem file_system);  // "ext4", "xfs"

struct ScratchOptions {
  std::string directory;  // place of the image, on a disk and a file system with direct IO
  uint64_t bytes = 0;     // at least MinimumBytes; rounded up to a full MiB
  FileSystem file_system = FileSystem::kExt4;
  // This is an existing directory to mount on. The mount covers it for this process while the
  // device lives. If empty, Create makes a directory in `directory`, and the destructor removes it.
  std::string mount_point;
  // This is the logical block size of the device in bytes: 512 to 4096, a power of two. 0 is the
  // smallest size that direct IO to the image allows.
  uint32_t block_size = 0;
  // If true, a FaultDisk (fault_disk.h) lies between the image and the loop device, so that the
  // power can be cut. The device is slower then.
  bool fault_disk = false;
  // Create calls `progress` while it writes the image, with the bytes done and the bytes in all.
  std::function<void(uint64_t, uint64_t)> progress;
};

class ScratchDevice {
 public:
  // Returns whether this user on this machine can have a scratch device with its image in
  // `directory`. If not, sets *why to a sentence, unless `why` is null. A directory that lies in
  // memory (in_memory.h) is refused: the device would have no disk below it, and its pages would be
  // memory outside a run's budget.
  static bool Available(std::string* why, const std::string& directory = ".");
  // Returns a sentence when a root user with these texts of /proc/self/status and
  // /proc/self/uid_map may not mount file systems and make loop devices; else an empty string.
  static std::string WhyNoRights(const std::string& status, const std::string& uid_map);
  // Returns the smallest ScratchOptions::bytes for the file system.
  static uint64_t MinimumBytes(FileSystem file_system);
  // This is the readahead in KiB that a scratch device begins with: the kernel's default for a new
  // device.
  static constexpr uint64_t kReadaheadKb = 128;

  static std::unique_ptr<ScratchDevice> Create(const ScratchOptions& options);
  ~ScratchDevice();
  ScratchDevice(const ScratchDevice&) = delete;
  ScratchDevice& operator=(const ScratchDevice&) = delete;

  // Removes the images and mount points that killed runs left in `directory`. Returns a sentence
  // for each. Removes none on a file system that another host serves (IsServedByAnotherHost,
  // device/os/sys_file.h, also for `prefix`): runs on further hosts may use them.
  static std::vector<std::string> CleanLeftovers(const std::string& directory,
                                                 const std::string& prefix = "");

  const std::string& path() const { return path_; }  // root directory of the file system
  FileSystem file_system() const { return file_system_; }
  uint64_t bytes() const { return bytes_; }
  const BlockDevice& device() const { return *device_; }

  // Makes durable what was written to the file system, by syncfs(2).
  void Sync();
  // Shutdown is a power cut as the file system sees it: all bytes in its caches that were not made
  // durable are gone, its journal is not flushed, and every call on an open file fails with EIO
  // from then on. Direct writes that no sync followed survive, as the loop device has no volatile
  // cache.
  void Shutdown();
  // Cuts the power of the disk below; only with fault_disk. Each unflushed sector, or without
  // `tears` each unflushed write, is kept with a probability of keep_pct percent, and every request
  // fails until Remount.
  void CutPower(uint64_t seed, int keep_pct, bool tears = true);
  // Makes writes of the disk below fail when they touch the place where `file` lies at the time of
  // the call; only with fault_disk. The first `skip` of these writes pass, the next `count` fail
  // with EIO, and later ones pass. Each call replaces the earlier one; a `count` of 0 makes no
  // write fail.
  void FailWrites(const std::string& file, uint64_t skip, uint64_t count);
  // Returns the number of writes that FailWrites has made fail so far.
  uint64_t FailedWrites();
  // Unmounts the file system and mounts it again, whereby it recovers. No file on it may be open.
  // Returns false when it was too damaged to be mounted, and an empty one was made in its place.
  [[nodiscard]] bool Remount();

 private:
  ScratchDevice() = default;
  void CreateImage(const ScratchOptions& options);
  void StartFaultDisk(const std::string& directory);
  void AttachLoop(const ScratchOptions& options);
  void MakeFileSystem();
  void Mount();
  // Opens the root directory. Throws Error (kRun) when its path now leads to another file system,
  // so that the caller does nothing to that one by mistake.
  int OpenRoot() const;
  void Unmount();

  FileSystem file_system_ = FileSystem::kExt4;
  uint64_t bytes_ = 0;
  pid_t owner_ = 0;
  std::string image_;  // path of the image; empty once it is unlinked
  int image_fd_ = -1;  // holds the lock which says that the image is in use
  int loop_fd_ = -1;   // keeps the loop device attached during Remount
  std::string loop_;   // "/dev/loop3"
  std::string path_;
  bool mounted_ = false;
  int mount_point_fd_ = -1;  // holds the lock on a mount point that Create made
  std::unique_ptr<FaultDisk> disk_;
  std::string disk_mount_point_;
  int disk_mount_point_fd_ = -1;
  std::unique_ptr<BlockDevice> device_;
};

// Gives the calling thread, and the threads and processes that it starts later, a private mount
// namespace. A second call in the same process does nothing. Throws Error: kRun when the process
// has other threads, kIo when the kernel refuses.
void EnterPrivateMountNamespace();

}  // namespace testbed

#endif  // TESTBED_DEVICE_MACHINE_SCRATCH_H_
