// What this machine can and cannot measure, and how to change that: the checks of `testbed doctor`.
//
//   for (const Check& check : Doctor(directory)) ...
//
// Looks without changing anything: what it makes to try (an unnamed file under the path, a memory
// cgroup, the kernel account) is gone when it returns. Takes about half a second,
// as it watches the disk for a while.
#ifndef TESTBED_TOOLS_INSPECT_DOCTOR_H_
#define TESTBED_TOOLS_INSPECT_DOCTOR_H_

#include <string>
#include <vector>

#include "device/machine/host.h"

namespace testbed {

struct Check {
  enum class State : uint8_t {
    kOk,
    kLimited,  // works, but results are less exact or less comparable
    kMissing,  // does not work here
  };
  std::string name;  // "account", "scratch", "memory budget", ...
  State state = State::kOk;
  std::string found;   // what was seen
  std::string means;   // what that means for results
  std::string change;  // how to change it; empty when there is nothing to change
};
const char* CheckStateName(Check::State state);  // "ok", "limited", "missing"

// `path`: the directory that databases would be in (--dir). Throws Error when it cannot be found.
std::vector<Check> Doctor(const std::string& path);

// The parts that judge facts alone, apart so that they can be tested on machines that are not here.
Check CheckReclaim(const HostFacts& host);
Check CheckClock(const HostFacts& host, double ns_per_reading);
Check CheckLoad(const HostFacts& host);
Check CheckMemorySettings(const HostFacts& host);
// `kernel_why` and `scratch_why`: why there is no kernel account or scratch device; empty = there
// is.
Check CheckAccount(const std::string& kernel_why, const std::string& scratch_why);

// Why this user cannot count block requests in the kernel (device/account/kernel_account.h); empty when the
// preconditions hold: type information of the kernel, and leave to load a program.
std::string WhyNoKernelAccount(const HostFacts& host);

}  // namespace testbed

#endif  // TESTBED_TOOLS_INSPECT_DOCTOR_H_
