// At most so many reads a second from a device, for the processes of one run: a volume with
// provisioned operations in place of what the machine has. Its rates follow from the number of
// reads alone, whatever else the machine does meanwhile.
//
//   std::string why_not;
//   auto limit = ReadLimit::Create(device, 6000, budget, &why_not);   // null: not possible, and
//   why if (pid_t child = fork(); child == 0) { limit->Enter(); ... }
//
// By the kernel's block layer (blk-throttle), which delays what comes too early: on cgroup v1 in a
// blkio group of its own, on v2 by io.max of the memory budget's group, as a process is in one
// group there. Reads through the page cache count when they reach the device. Source:
// Documentation/admin-guide/cgroup-v1/blkio-controller.rst, cgroup-v2.rst.
//
// The group is removed by the process that created it; CleanLeftovers finds those of killed runs.
#ifndef TESTBED_DEVICE_MACHINE_READ_LIMIT_H_
#define TESTBED_DEVICE_MACHINE_READ_LIMIT_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/account/block_device.h"
#include "device/machine/memory_budget.h"

namespace testbed {

class ReadLimit {
 public:
  // `budget` may be null. Returns null and one sentence in `why_not` where it cannot be done.
  static std::unique_ptr<ReadLimit> Create(const BlockDevice& device, uint64_t reads_per_second,
                                           const MemoryBudget* budget, std::string* why_not);
  ~ReadLimit();
  ReadLimit(const ReadLimit&) = delete;
  ReadLimit& operator=(const ReadLimit&) = delete;

  // Puts the calling process and its later threads and children under the limit. Throws Error.
  void Enter() const;

  const std::string& path() const { return path_; }  // of the group

  static std::vector<std::string> CleanLeftovers();

 private:
  ReadLimit(std::string path, bool own, pid_t owner, DirLock lock)
      : path_(std::move(path)), own_(own), owner_(owner), lock_(std::move(lock)) {}

  const std::string path_;  // of the group
  const bool own_;          // made for this; else the budget's
  const pid_t owner_;
  const DirLock lock_;  // on a group of its own: it is in use
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_MACHINE_READ_LIMIT_H_
