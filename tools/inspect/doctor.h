// The checks of `testbed doctor`: what this machine can and cannot measure, and how to change that.
//
//   for (const Check& check : Doctor(directory)) ...
//
// The checks change nothing: what they create for a trial (an unnamed file under the path, a memory
// cgroup, the kernel account) is gone when Doctor returns. Doctor takes about half a second, since
// it watches the disk for a while.
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
  std::string found;   // what the check saw
  std::string means;   // the consequence for results
  std::string change;  // how to change it; empty when nothing can be changed
};
const char* CheckStateName(Check::State state);  // "ok", "limited", "missing"

// Runs all checks for databases below `path`, the directory of --dir. Throws Error when `path`
// cannot be found.
std::vector<Check> Doctor(const std::string& path);

// The checks that judge facts alone. They are declared here so that tests can pass the facts of
// other machines.
Check CheckReclaim(const HostFacts& host);
Check CheckClock(const HostFacts& host, double ns_per_reading);
Check CheckLoad(const HostFacts& host);
Check CheckMemorySettings(const HostFacts& host);
// `kernel_why` and `scratch_why` say why a kernel account or a scratch device is not possible;
// empty means that it is possible.
Check CheckAccount(const std::string& kernel_why, const std::string& scratch_why);

// Returns why this user cannot count block requests in the kernel
// (device/account/kernel_account.h), or "" when the preconditions hold: the kernel has type
// information and lets the user load a program.
std::string WhyNoKernelAccount(const HostFacts& host);

}  // namespace testbed

#endif  // TESTBED_TOOLS_INSPECT_DOCTOR_H_
