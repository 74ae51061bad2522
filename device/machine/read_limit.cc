#include "device/machine/read_limit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "device/account/journal.h"
#include "device/error.h"
#include "device/machine/cgroup.h"
#include "device/os/sys_file.h"

namespace testbed {
namespace {

constexpr char kRule[] = "/blkio.throttle.read_iops_device";

// Removes a group. A process that is ending takes a moment to leave its group, so this tries for up
// to two seconds. Returns 0 or an errno.
int Remove(const std::string& path) {
  int code = EBUSY;
  for (int i = 0; i < 200 && code == EBUSY; ++i) {
    if (i > 0) ::usleep(10000);
    code = CgroupFs::System().RemoveDirectory(path);
  }
  return code;
}

std::string WhyNoRule(const std::string& group, int code) {
  if (code == ENOENT) {
    return fmt::format(
        "the cgroup {} has no io.max, because no group above it hands both controllers, memory and "
        "io, to its children; start testbed with systemd-run --scope -p IOAccounting=yes, or write "
        "+io to cgroup.subtree_control of the groups from the top down to {}",
        group, group.substr(0, group.rfind('/')));
  }
  return fmt::format("{}/io.max could not be set: {}", group, std::strerror(code));
}

}  // namespace

std::unique_ptr<ReadLimit> ReadLimit::Create(const BlockDevice& device, uint64_t reads_per_second,
                                             const MemoryBudget* budget, std::string* why_not) {
  // dev() is in the kernel's encoding: major << 20 | minor.
  const std::string numbers =
      fmt::format("{}:{}", device.dev() >> 20, device.dev() & ((1u << 20) - 1));
  const auto hierarchy = FindCgroups(CgroupFs::System(), "blkio", "io");
  if (!hierarchy) {
    *why_not = "no cgroup controller for block devices (blkio, io) is mounted here";
    return nullptr;
  }
  if (hierarchy->version == 2) {
    if (budget == nullptr || budget->version() != 2) {
      *why_not = "with cgroup v2 it needs --ram, whose group it shares";
      return nullptr;
    }
    const std::string rule = fmt::format("{} riops={}", numbers, reads_per_second);
    const int code = WriteSmallFile(budget->path() + "/io.max", rule);
    if (code != 0) {
      *why_not = WhyNoRule(budget->path(), code);
      return nullptr;
    }
    return std::unique_ptr<ReadLimit>(new ReadLimit(budget->path(), false, ::getpid(), DirLock()));
  }
  std::string path;
  DirLock lock;
  if (const int code = MakeCgroup(CgroupFs::System(), hierarchy->own, &path, &lock); code != 0) {
    *why_not = fmt::format("a blkio cgroup in {} could not be made: {}", hierarchy->own,
                           std::strerror(code));
    return nullptr;
  }
  std::unique_ptr<ReadLimit> limit(new ReadLimit(path, true, ::getpid(), std::move(lock)));
  const int code = WriteSmallFile(path + kRule, fmt::format("{} {}", numbers, reads_per_second));
  if (code == 0) return limit;
  *why_not = fmt::format("{}{} could not be set: {}", path, kRule, std::strerror(code));
  return nullptr;
}

std::unique_ptr<ReadLimit> ReadLimit::Attach(const std::string& path, bool own) {
  return std::unique_ptr<ReadLimit>(new ReadLimit(path, own, 0, DirLock()));
}

ReadLimit::~ReadLimit() {
  if (own_ && owner_ == ::getpid()) Remove(path_);
}

void ReadLimit::Enter() const {
  if (!own_) return;
  if (const int code = WriteSmallFile(path_ + "/cgroup.procs", "0"); code != 0) {
    throw Error(Error::kIo,
                fmt::format("process {} could not enter the cgroup {}: {}", ::getpid(), path_,
                            std::strerror(code)),
                code);
  }
}

std::vector<std::string> ReadLimit::CleanLeftovers(const CgroupFs& fs) {
  std::vector<std::string> sentences;
  const auto hierarchy = FindCgroups(fs, "blkio", "io");
  if (!hierarchy || hierarchy->version != 1) return sentences;
  for (const std::string& path : AllCgroups(*hierarchy)) {
    const std::optional<DirLock> lock = TakeLeftoverCgroup(path);
    if (lock && fs.RemoveDirectory(path) == 0) {
      sentences.push_back(
          fmt::format("removed the blkio cgroup {} of an earlier, killed run", path));
    }
  }
  return sentences;
}

std::string WhyNotAllReads(const BlockDevice& device, const std::string& path) {
  const std::string why = WhyNotAllReads(device.name(), device.devices());
  if (!why.empty() || !HasDataElsewhere(path)) return why;
  return fmt::format(
      "the file system keeps realtime files on another device than {}, where the "
      "limit would not hold",
      device.name());
}

std::string WhyNotAllReads(const std::string& name, const std::vector<std::string>& devices) {
  if (devices.size() < 2) return "";
  return fmt::format(
      "the file system lies on {} devices ({}), and the limit would hold on {} alone",
      devices.size(), fmt::join(devices, ", "), name);
}

}  // namespace testbed
