// A ReadLimit bounds the reads per second from a device for the processes of a run. The run then
// sees a volume with provisioned operations in place of the machine's device, so its rates follow
// from the number of reads alone, whatever else the machine does meanwhile.
//
//   std::string why_not;
//   auto limit = ReadLimit::Create(device, 6000, budget, &why_not);
//   if (limit == nullptr) ...                   // why_not says why it is not possible
//   if (pid_t child = fork(); child == 0) { limit->Enter(); ... }
//
// The kernel's block layer (blk-throttle) delays requests that come too early. On cgroup v1 the
// limit has a blkio group of its own. On v2, where a process is in a single group, it is io.max of
// the memory budget's group, which needs the controller io for it. Reads through the page cache
// count when they reach the device. Where not all reads do, WhyNotAllReads says so. Source:
// Documentation/admin-guide/cgroup-v1/blkio-controller.rst, cgroup-v2.rst.
//
// The process that created the group removes it. Not thread-safe.
#ifndef TESTBED_DEVICE_MACHINE_READ_LIMIT_H_
#define TESTBED_DEVICE_MACHINE_READ_LIMIT_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/account/block_device.h"
#include "device/machine/cgroup.h"
#include "device/machine/memory_budget.h"

namespace testbed {

class ReadLimit {
 public:
  // Makes a limit on reads from `device`. On cgroup v2 it needs the run's `budget`, which may be
  // null on v1. Returns null and sets *why_not to a sentence when this machine or user cannot.
  static std::unique_ptr<ReadLimit> Create(const BlockDevice& device, uint64_t reads_per_second,
                                           const MemoryBudget* budget, std::string* why_not);
  // Returns the limit whose group is at `path`, for a child after exec. `own` is the own() of the
  // parent's limit. The returned object never removes the group.
  static std::unique_ptr<ReadLimit> Attach(const std::string& path, bool own);
  ~ReadLimit();
  ReadLimit(const ReadLimit&) = delete;
  ReadLimit& operator=(const ReadLimit&) = delete;

  // Puts the calling process and its later threads and children under the limit. Throws Error (kIo)
  // when the kernel refuses. On cgroup v2 this does nothing, as MemoryBudget::Enter does it.
  void Enter() const;

  const std::string& path() const { return path_; }  // path of the limit's group
  bool own() const { return own_; }                  // whether the group was made for this limit

  // Removes groups that killed runs left behind. Returns a sentence for each removed group.
  static std::vector<std::string> CleanLeftovers(const CgroupFs& fs = CgroupFs::System());

 private:
  ReadLimit(std::string path, bool own, pid_t owner, DirLock lock)
      : path_(std::move(path)), own_(own), owner_(owner), lock_(std::move(lock)) {}

  const std::string path_;  // path of the group
  const bool own_;          // whether the group was made for this limit; else it is the budget's
  const pid_t owner_;
  const DirLock lock_;  // lock on an own group, which says that the group is in use
};

// Returns a sentence when a limit on `device` does not hold for all reads of the file system of
// `path`, because it lies on several devices or keeps realtime files elsewhere (journal.h); else an
// empty string.
std::string WhyNotAllReads(const BlockDevice& device, const std::string& path);
// Returns that sentence for the device `name` of a file system that lies on `devices`, but only for
// the reason that there are several devices.
std::string WhyNotAllReads(const std::string& name, const std::vector<std::string>& devices);

}  // namespace testbed

#endif  // TESTBED_DEVICE_MACHINE_READ_LIMIT_H_
