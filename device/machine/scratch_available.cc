// Finds whether a scratch device can be had.
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

#include "device/machine/host.h"
#include "device/machine/in_memory.h"
#include "device/machine/scratch.h"
#include "device/os/sys_file.h"

namespace testbed {
namespace {

// Returns whether "/" is the root of a mount. A private mount namespace needs that, as "/" is made
// private. In a folder entered by a plain chroot, "/" is not.
bool RootIsAMountPoint() {
#ifdef STATX_ATTR_MOUNT_ROOT
  struct statx st;
  if (::statx(AT_FDCWD, "/", 0, STATX_BASIC_STATS, &st) == 0 &&
      (st.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0) {
    return (st.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  }
#endif
  return true;
}

}  // namespace

std::string ScratchDevice::WhyNoRights(const std::string& status, const std::string& uid_map) {
  if (!IsFirstUserNamespace(uid_map)) {
    return "--scratch needs root of the machine, and this root is one of a user namespace alone "
           "(unshare -U, a rootless container): run as root outside of it, or leave --scratch out";
  }
  if ((EffectiveCapabilities(status) >> CAP_SYS_ADMIN & 1) == 0) {
    return "--scratch needs the capability CAP_SYS_ADMIN, to mount a file system, and this root "
           "lacks it: run as root with it (a container: --privileged), or leave --scratch out";
  }
  return "";
}

bool ScratchDevice::Available(std::string* why, const std::string& directory) {
  const std::string no_rights =
      WhyNoRights(ReadSmallFile("/proc/self/status").value_or(""),
                  ReadSmallFile("/proc/self/uid_map").value_or(kUidMapOfFirst));
  std::string reason;
  if (LiesInMemory(directory)) {
    std::error_code error;
    reason = "a scratch device in " + std::filesystem::canonical(directory, error).string() +
             " would be memory outside of --ram, as the files there are in memory (tmpfs): work in "
             "a directory on ext4 or xfs, such as /var/tmp, or leave --scratch out";
  } else if (::geteuid() != 0) {
    reason = "a scratch device needs root: run as root, or leave --scratch out";
  } else if (!no_rights.empty()) {
    reason = no_rights;
  } else if (!RootIsAMountPoint()) {
    reason =
        "a scratch device needs mounts of its own, and in a plain chroot no process can have them: "
        "bind the folder to itself (mount --bind DIR DIR) before entering it, or use a container";
  } else {
    const int control = ::open("/dev/loop-control", O_RDWR | O_CLOEXEC);
    if (control < 0) {
      reason = std::string(
                   "a scratch device needs loop devices, and /dev/loop-control cannot be "
                   "opened: ") +
               std::strerror(errno);
    } else {
      ::close(control);
    }
  }
  if (why != nullptr) *why = reason;
  return reason.empty();
}

}  // namespace testbed
