#include "device/machine/scratch.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>

#include "device/error.h"
#include "device/file/direct_io.h"
#include "device/file/extents.h"
#include "device/file/file.h"
#include "device/machine/scratch_image.h"
#include "device/os/child_process.h"
#include "device/os/foreign_directory.h"
#include "device/os/sys_file.h"
#include "device/os/temporary_dir.h"

namespace testbed {
namespace {

constexpr char kMark[] = ".testbed-scratch-", kImageSuffix[] = ".img";
constexpr uint64_t kMiB = 1 << 20;

// This is the ioctl by which ext4 and xfs shut down. Their headers are not exported.
constexpr unsigned long kShutdownCall = _IOR('X', 125, uint32_t);
constexpr uint32_t kShutdownNoLogFlush = 2;

std::string Mebibytes(uint64_t bytes) { return std::to_string(bytes / kMiB) + " MiB"; }

std::string MakerName(FileSystem file_system) {
  return std::string("mkfs.") + FileSystemName(file_system);
}

// Takes the lock that marks an image or mount point as in use. Returns 0 if it took the lock and
// the path still leads to the file, and else an errno: one of IsTaken, or that of a system that
// refuses the lock.
int Claim(int fd, const std::string& path) {
  struct stat mine, there;
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0 || ::fstat(fd, &mine) != 0 ||
      ::lstat(path.c_str(), &there) != 0) {
    return errno;
  }
  return mine.st_dev == there.st_dev && mine.st_ino == there.st_ino ? 0 : ENOENT;
}

// Returns whether the errno is that of a file which CleanLeftovers of another process has locked or
// removed between its creation and its lock.
bool IsTaken(int code) { return code == EWOULDBLOCK || code == ENOENT; }

// Returns a path with a random name. A process number would not be unique, as processes of several
// process namespaces may have the same.
std::string MarkedPath(const std::string& directory, const char* suffix) {
  return directory + "/" + kMark + RandomName() + suffix;
}

bool IsMarkedName(std::string name) {
  if (!name.starts_with(kMark)) return false;
  name = name.substr(sizeof kMark - 1);
  if (name.ends_with(kImageSuffix)) name.resize(name.size() - (sizeof kImageSuffix - 1));
  return IsRandomName(name);
}

// This is how often an attempt is repeated when another process takes a file or a device first.
constexpr int kTries = 100;

// Makes an empty directory in `directory` and returns its path. It stays locked as long as *held is
// open.
std::string MakeMountPoint(const std::string& directory, int* held) {
  for (int i = 0; i < kTries; ++i) {
    std::string path = MarkedPath(directory, "");
    if (::mkdir(path.c_str(), 0755) != 0) throw Error::Io("mkdir", path, errno);
    *held = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const int code = *held < 0 ? errno : Claim(*held, path);
    if (code == 0) return path;
    if (*held >= 0) ::close(*held);
    *held = -1;
    if (IsTaken(code)) continue;
    ::rmdir(path.c_str());
    throw Error::Io("lock a mount point in", directory, code);
  }
  throw Error::Io("lock a mount point in", directory, EAGAIN);
}

// Opens a loop device that is not in use, and sets *node to its path. Where no udev runs, the
// kernel may name a device whose node does not exist yet; this makes the node.
int OpenFreeLoop(std::string* node) {
  const int control = ::open("/dev/loop-control", O_RDWR | O_CLOEXEC);
  if (control < 0) throw Error::Io("open", "/dev/loop-control", errno);
  const int number = ::ioctl(control, LOOP_CTL_GET_FREE);
  const int code = errno;
  ::close(control);
  if (number < 0) throw Error::Io("LOOP_CTL_GET_FREE", "/dev/loop-control", code);
  *node = "/dev/loop" + std::to_string(number);
  int fd = ::open(node->c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) {
    constexpr unsigned kLoopMajor = 7;
    ::mknod(node->c_str(), S_IFBLK | 0600, makedev(kLoopMajor, static_cast<unsigned>(number)));
    fd = ::open(node->c_str(), O_RDWR | O_CLOEXEC);
  }
  if (fd < 0) throw Error::Io("open", *node, errno);
  return fd;
}

[[maybe_unused]] size_t ThreadsOfThisProcess() {
  std::error_code error;
  size_t n = 0;
  for (auto it = std::filesystem::directory_iterator("/proc/self/task", error);
       !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    ++n;
  }
  return n;
}

}  // namespace

const char* FileSystemName(FileSystem file_system) {
  return file_system == FileSystem::kExt4 ? "ext4" : "xfs";
}

void EnterPrivateMountNamespace() {
  // A forked child that makes a scratch device needs a namespace of its own: in its parent's, the
  // mount would outlive the child.
  static pid_t entered = 0;
  if (entered == ::getpid()) return;
#if !defined(__SANITIZE_THREAD__)  // the sanitizer has a thread of its own
  if (ThreadsOfThisProcess() > 1) {
    throw Error(Error::kRun,
                "a scratch device was asked for after threads were started: they would not see it");
  }
#endif
  if (::unshare(CLONE_NEWNS) != 0) throw Error::Io("unshare", "mount namespace", errno);
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    throw Error::Io("make private", "/", errno);
  }
  entered = ::getpid();
}

uint64_t ScratchDevice::MinimumBytes(FileSystem file_system) {
  // mkfs.xfs refuses less than 300 MB. Below 64 MiB, the journal of ext4 is too small to be
  // typical.
  return file_system == FileSystem::kXfs ? 300 * kMiB : 64 * kMiB;
}

std::unique_ptr<ScratchDevice> ScratchDevice::Create(const ScratchOptions& options) {
  std::string why;
  if (!Available(&why, options.directory)) throw Error(Error::kUsage, why);
  if (options.bytes < MinimumBytes(options.file_system)) {
    throw Error(Error::kUsage, std::string("a scratch device with ") +
                                   FileSystemName(options.file_system) + " needs at least " +
                                   Mebibytes(MinimumBytes(options.file_system)) + ", not " +
                                   Mebibytes(options.bytes));
  }
  if (!FindProgram(MakerName(options.file_system))) {
    throw Error(Error::kUsage,
                MakerName(options.file_system) +
                    " is not installed, which makes the scratch device's file "
                    "system (Debian: " +
                    (options.file_system == FileSystem::kXfs ? "xfsprogs" : "e2fsprogs") + ")");
  }
  CheckNotForeign("a scratch device in", options.directory);
  CleanLeftovers(options.directory);
  EnterPrivateMountNamespace();
  std::unique_ptr<ScratchDevice> scratch(new ScratchDevice);  // undoes all steps on an exception
  scratch->owner_ = ::getpid();
  scratch->file_system_ = options.file_system;
  scratch->bytes_ = (options.bytes + kMiB - 1) / kMiB * kMiB;
  scratch->CreateImage(options);
  if (options.fault_disk) scratch->StartFaultDisk(options.directory);
  scratch->AttachLoop(options);
  scratch->MakeFileSystem();

  scratch->path_ = options.mount_point;
  if (scratch->path_.empty()) {
    scratch->path_ = MakeMountPoint(options.directory, &scratch->mount_point_fd_);
  }
  scratch->Mount();
  scratch->device_ = std::make_unique<BlockDevice>(BlockDevice::Under(scratch->loop_));
  return scratch;
}

void ScratchDevice::CreateImage(const ScratchOptions& options) {
  struct statvfs space;
  if (::statvfs(options.directory.c_str(), &space) != 0) {
    throw Error::Io("stat", options.directory, errno);
  }
  const uint64_t free = space.f_bavail * space.f_frsize;
  if (free < bytes_) {
    throw Error(Error::kUsage, "the scratch device needs " + Mebibytes(bytes_) + " in " +
                                   options.directory + ", and " + Mebibytes(free) +
                                   " are free: choose a smaller --scratch or another directory");
  }
  for (int i = 0; i < kTries; ++i) {
    const std::string path = MarkedPath(options.directory, kImageSuffix);
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_DIRECT | O_CLOEXEC, 0600);
    if (fd < 0 ? errno == EINVAL : DirectIoOf(fd).in_page_cache) {
      ::unlink(path.c_str());  // some kernels create the file before they refuse the mode
      if (fd >= 0) ::close(fd);
      throw Error(Error::kUsage, "the file system of " + options.directory +
                                     " has no direct IO there, which a scratch device needs: "
                                     "choose a directory on xfs or ext4 that is neither encrypted "
                                     "nor on a mount with data=journal");
    }
    if (fd < 0) throw Error::Io("create", path, errno);
    const int code = Claim(fd, path);
    if (code == 0) {
      image_fd_ = fd;
      image_ = path;
      break;
    }
    ::close(fd);
    if (IsTaken(code)) continue;
    ::unlink(path.c_str());
    throw Error::Io("lock an image in", options.directory, code);
  }
  if (image_fd_ < 0) throw Error::Io("lock an image in", options.directory, EAGAIN);
  WriteImage(image_fd_, image_, bytes_, options.progress);
}

void ScratchDevice::StartFaultDisk(const std::string& directory) {
  disk_mount_point_ = MakeMountPoint(directory, &disk_mount_point_fd_);
  disk_ = FaultDisk::Start(image_fd_, bytes_, disk_mount_point_, disk_mount_point_fd_);
  const int fd = disk_->Open(O_RDWR | O_DIRECT);
  // From here on, image_fd_ is the file of the FaultDisk, over which the loop device is made. The
  // image lives as long as the FaultDisk has it open.
  ::unlink(image_.c_str());
  image_.clear();
  ::close(image_fd_);
  image_fd_ = fd;
}

void ScratchDevice::AttachLoop(const ScratchOptions& options) {
  loop_config config = {};
  config.fd = static_cast<uint32_t>(image_fd_);
  config.block_size = options.block_size != 0 ? options.block_size : DirectBlockSize(image_fd_);
  config.info.lo_flags = LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO;
  std::snprintf(reinterpret_cast<char*>(config.info.lo_file_name), LO_NAME_SIZE, "%s",
                image_.c_str());
  // Another process may take the free loop device first, so this tries again.
  int fd = -1;
  for (int i = 0; i < kTries; ++i) {
    fd = OpenFreeLoop(&loop_);
    if (::ioctl(fd, LOOP_CONFIGURE, &config) == 0) break;
    const int code = errno;
    ::close(fd);
    fd = -1;
    if (code != EBUSY) throw Error::Io("LOOP_CONFIGURE", loop_, code);
  }
  if (fd < 0) throw Error::Io("LOOP_CONFIGURE", loop_, EBUSY);
  // The loop device holds the image now. loop_fd_ keeps the loop device and is read-only: if it
  // could write, kernels without CONFIG_BLK_DEV_WRITE_MOUNTED would refuse the mount.
  loop_fd_ = ::open(loop_.c_str(), O_RDONLY | O_CLOEXEC);
  const int code = errno;
  loop_info64 info = {};
  const bool direct =
      ::ioctl(fd, LOOP_GET_STATUS64, &info) == 0 && (info.lo_flags & LO_FLAGS_DIRECT_IO) != 0;
  ::close(fd);
  if (loop_fd_ < 0) throw Error::Io("open", loop_, code);
  if (!direct) {
    throw Error(Error::kUsage,
                "the kernel gives no direct IO from " + loop_ + " to the image in " +
                    options.directory +
                    ", so the image would be cached twice: choose a directory on ext4 or xfs");
  }
  if (!image_.empty()) ::unlink(image_.c_str());
  image_.clear();
  ::close(image_fd_);
  image_fd_ = -1;
  // The kernel leaves a loop device the readahead that its last user set. Where it may not be set
  // (a container's read-only /sys), the results record the value that is in force.
  WriteSmallFile("/sys/block" + loop_.substr(loop_.rfind('/')) + "/queue/read_ahead_kb",
                 std::to_string(ScratchDevice::kReadaheadKb));
}

void ScratchDevice::MakeFileSystem() {
  const std::optional<std::string> maker = FindProgram(MakerName(file_system_));
  if (!maker) throw Error(Error::kUsage, MakerName(file_system_) + " is not installed");
  // mkfs writes all metadata now, so that no kernel thread writes it during a measurement. Blocks
  // are 4 KiB whatever the size (mkfs.ext4 would pick 1 KiB below 512 MiB). mkfs discards no
  // blocks, as that would punch holes into the image.
  if (file_system_ == FileSystem::kExt4) {
    RunProgram({*maker, "-q", "-F", "-b", "4096", "-m", "0", "-E",
                "nodiscard,lazy_itable_init=0,lazy_journal_init=0", loop_});
  } else {
    RunProgram({*maker, "-q", "-f", "-K", loop_});
  }
}

void ScratchDevice::Mount() {
  // A mount point that Create made is found by its descriptor, since its name may lead elsewhere by
  // now.
  const std::string where = mount_point_fd_ >= 0 ? HeldPath(mount_point_fd_) : path_;
  if (::mount(loop_.c_str(), where.c_str(), FileSystemName(file_system_),
              MS_NOATIME | MS_NODEV | MS_NOSUID, nullptr) != 0) {
    throw Error::Io("mount", loop_ + " on " + path_, errno);
  }
  mounted_ = true;
  ::close(OpenRoot());
}

int ScratchDevice::OpenRoot() const {
  const int fd = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) throw Error::Io("open", path_, errno);
  struct stat root, loop;
  if (::fstat(fd, &root) == 0 && ::fstat(loop_fd_, &loop) == 0 && root.st_dev == loop.st_rdev) {
    return fd;
  }
  ::close(fd);
  throw Error(Error::kRun,
              path_ +
                  " is not the scratch file system that was mounted there: somebody has "
                  "renamed the directory; choose one that only you may change");
}

void ScratchDevice::Unmount() {
  constexpr int kPatience = 200;  // tries, 5 ms apart: a killed process takes a moment to end
  for (int i = 0; ::umount2(path_.c_str(), 0) != 0; ++i) {
    if (errno != EBUSY) throw Error::Io("unmount", path_, errno);
    if (i == kPatience) {
      throw Error(
          Error::kRun,
          "the scratch file system " + path_ + " cannot be unmounted: a file on it is still open",
          EBUSY);
    }
    ::usleep(5000);
  }
  mounted_ = false;
}

void ScratchDevice::Sync() {
  const int fd = OpenRoot();
  const int code = ::syncfs(fd) == 0 ? 0 : errno;
  ::close(fd);
  if (code != 0) throw Error::Io("sync", path_, code);
}

void ScratchDevice::Shutdown() {
  const int fd = OpenRoot();
  uint32_t how = kShutdownNoLogFlush;
  const int r = ::ioctl(fd, kShutdownCall, &how);
  const int code = errno;
  ::close(fd);
  if (r != 0) throw Error::Io("shut down", path_, code);
}

void ScratchDevice::CutPower(uint64_t seed, int keep_pct, bool tears) {
  disk_->Cut(seed, keep_pct, tears);
}

void ScratchDevice::FailWrites(const std::string& file, uint64_t skip, uint64_t count) {
  std::vector<FaultDisk::Range> ranges;
  if (count != 0) {
    for (const FileExtent& extent : FileExtents(file)) {
      ranges.push_back({extent.physical, extent.physical + extent.bytes});
    }
  }
  disk_->FailWrites(ranges, skip, count);
}

uint64_t ScratchDevice::FailedWrites() { return disk_->Count().failed; }

bool ScratchDevice::Remount() {
  Unmount();
  if (disk_ != nullptr) {
    // The kernel must drop the blocks of the FaultDisk that it has cached, because the disk may
    // have lost them.
    ::ioctl(loop_fd_, BLKFLSBUF, 0);
    disk_->Revive();
  }
  try {
    Mount();
    return true;
  } catch (const Error& error) {
    const int damage[] = {EUCLEAN, EBADMSG, EINVAL, EIO};
    if (mounted_ || std::ranges::count(damage, error.code()) == 0) throw;
  }
  MakeFileSystem();
  Mount();
  return false;
}

ScratchDevice::~ScratchDevice() {
  const bool owner = owner_ == ::getpid();
  if (owner && mounted_ && ::umount2(path_.c_str(), 0) != 0) {
    // A file is still open. The mount ends when the file is closed, and the loop device with it.
    ::umount2(path_.c_str(), MNT_DETACH);
  }
  if (loop_fd_ >= 0) ::close(loop_fd_);  // the last user leaves: the loop device detaches itself
  if (mount_point_fd_ >= 0) {
    if (owner) ::rmdir(path_.c_str());
    ::close(mount_point_fd_);
  }
  disk_.reset();
  if (disk_mount_point_fd_ >= 0) {
    if (owner) ::rmdir(disk_mount_point_.c_str());
    ::close(disk_mount_point_fd_);
  }
  if (owner && !image_.empty()) ::unlink(image_.c_str());
  if (image_fd_ >= 0) ::close(image_fd_);
}

std::vector<std::string> ScratchDevice::CleanLeftovers(const std::string& directory,
                                                       const std::string& prefix) {
  std::vector<std::string> removed;
  if (IsServedByAnotherHost(directory, prefix)) return removed;
  DIR* entries = ::opendir(directory.c_str());
  if (entries == nullptr) throw Error::Io("open", directory, errno);
  while (const dirent* entry = ::readdir(entries)) {
    const std::string name = entry->d_name;
    if (!IsMarkedName(name)) continue;
    const std::string path = std::string(directory).append("/").append(name);
    const int fd = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) continue;
    struct stat st;
    if (Claim(fd, path) == 0 && ::fstat(fd, &st) == 0 && st.st_uid == ::geteuid()) {
      // rmdir removes an empty directory only, so it removes a mount point only when nothing is
      // mounted there.
      if (S_ISREG(st.st_mode) && IsUnfinishedImage(fd) && ::unlink(path.c_str()) == 0) {
        removed.push_back("removed the image " + path + " (" +
                          Mebibytes(static_cast<uint64_t>(st.st_blocks) * 512) +
                          ") of a run that was killed");
      } else if (S_ISDIR(st.st_mode) && ::rmdir(path.c_str()) == 0) {
        removed.push_back("removed the empty mount point " + path + " of a run that was killed");
      }
    }
    ::close(fd);
  }
  ::closedir(entries);
  return removed;
}

}  // namespace testbed
