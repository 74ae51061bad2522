// A scratch device: a block device with a file system of its own, so that its statistics are one
// experiment's alone.
//
//   ScratchOptions options;
//   options.directory = "/var/tmp";
//   options.bytes = 4ull << 30;
//   auto scratch = ScratchDevice::Create(options);
//   ... scratch->path() is an empty file system ...
//
// An image file is written in full, a loop device put over it with direct IO (one request in, one
// request out, no second page cache), a file system made and mounted without access times. The
// mount lives in a private mount namespace of this process, the loop device detaches itself with
// its last user, and the image is unlinked as soon as the loop device holds it. So a process that
// ends in any way, kill -9 included, leaves no mount, no loop device and no image; the most that
// can be left is an image half written or an empty mount point, which CleanLeftovers and the next
// Create in that directory remove. Both are told from those in use by a lock their owner holds.
//
// Needs root. Create must run before the process starts threads: a mount namespace belongs to a
// thread, and threads inherit the one of their creator. Forked children share it and may use the
// file system; only the process that created the device unmounts it.
// Errors throw Error. Not thread-safe.
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
  std::string directory;  // holds the image; on a file system with direct IO
  uint64_t bytes = 0;     // at least MinimumBytes; rounded up to a full MiB
  FileSystem file_system = FileSystem::kExt4;
  // An existing directory to mount on, covered for this process until the end. Empty: a directory
  // is made in `directory` and removed at the end.
  std::string mount_point;
  // Logical block size of the device: 512 to 4096, a power of two. 0: the smallest that direct IO
  // to the image allows.
  uint32_t block_size = 0;
  // Between the image and the loop device, a disk whose power can be cut (fault_disk.h). Slower.
  bool fault_disk = false;
  // Called now and then while the image is written, with bytes done and bytes in all.
  std::function<void(uint64_t, uint64_t)> progress;
};

class ScratchDevice {
 public:
  // Whether this user on this machine can have one; if not, *why gets a sentence.
  static bool Available(std::string* why);
  static uint64_t MinimumBytes(FileSystem file_system);
  // What a scratch device begins with: the kernel's default for a new block device.
  static constexpr uint64_t kReadaheadKb = 128;

  static std::unique_ptr<ScratchDevice> Create(const ScratchOptions& options);
  ~ScratchDevice();
  ScratchDevice(const ScratchDevice&) = delete;
  ScratchDevice& operator=(const ScratchDevice&) = delete;

  // Removes what killed runs left in `directory`, and says what, a sentence each.
  static std::vector<std::string> CleanLeftovers(const std::string& directory);

  const std::string& path() const { return path_; }  // of the file system's root
  FileSystem file_system() const { return file_system_; }
  uint64_t bytes() const { return bytes_; }
  const BlockDevice& device() const { return *device_; }

  // A power cut as the file system sees one: all that was not made durable in its cache is gone,
  // its journal is not flushed, and every call on an open file fails with EIO from then on. (Direct
  // writes that were not followed by a sync survive; the loop device has no volatile cache.)
  void Shutdown();
  // A power cut of the disk below, with fault_disk: of what was not flushed, each sector is there
  // with this probability, and every request fails until Remount.
  void CutPower(uint64_t seed, int keep_pct);
  // Writes of the disk below, with fault_disk, that touch the file as it lies now: `skip` of them pass,
  // the next `count` fail with EIO. A later call replaces this one; a count of 0 ends it.
  void FailWrites(const std::string& file, uint64_t skip, uint64_t count);
  // Of those, how many have failed in all.
  uint64_t FailedWrites();
  // Unmounts and mounts again; the file system recovers. No file on it may be open.
  void Remount();
  // Shutdown, then Remount.
  void PowerCut();

 private:
  ScratchDevice() = default;
  void CreateImage(const ScratchOptions& options);
  void StartFaultDisk(const std::string& directory);
  void AttachLoop(const ScratchOptions& options);
  void MakeFileSystem();
  void Mount();
  void Unmount();

  FileSystem file_system_ = FileSystem::kExt4;
  uint64_t bytes_ = 0;
  pid_t owner_ = 0;
  std::string image_;  // empty once unlinked
  int image_fd_ = -1;  // holds the lock that says the image is in use
  int loop_fd_ = -1;   // keeps the loop device from detaching itself across Remount
  std::string loop_;   // "/dev/loop3"
  std::string path_;
  bool mounted_ = false;
  int mount_point_fd_ = -1;  // holds the lock on a mount point that we made
  std::unique_ptr<FaultDisk> disk_;
  std::string disk_mount_point_;
  int disk_mount_point_fd_ = -1;
  std::unique_ptr<BlockDevice> device_;
};

// Gives the calling thread, and the threads and processes it starts later, mounts of their own that
// nobody else sees. Does nothing the second time in the same process. Throws Error without the
// right to.
void EnterPrivateMountNamespace();

}  // namespace testbed

#endif  // TESTBED_DEVICE_MACHINE_SCRATCH_H_
