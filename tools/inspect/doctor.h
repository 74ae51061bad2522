// The checks of `testbed doctor`: which measurements this machine allows, and how to allow more.
//
//   for (const Check& check : Doctor(directory)) Print(check.name, check.found);
//
// The checks change nothing: the objects that they create as trials (an unnamed file under the
// path, a memory cgroup, the kernel account) are gone when they return. They take about half a
// second, because one of them watches the disk for a while.
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
  std::string found;   // the observation
  std::string means;   // its consequence for results
  std::string change;  // advice on changing it; empty when there is nothing to change
};
const char* CheckStateName(Check::State state);  // "ok", "limited", "missing"

// Executes all checks. `path` is the directory that would hold databases (--dir). Throws Error when
// it does not exist.
std::vector<Check> Doctor(const std::string& path);

// These checks only judge the facts that they are given, so that tests can pass them the facts of
// other machines.
Check CheckReclaim(const HostFacts& host);
Check CheckClock(const HostFacts& host, double ns_per_reading);
Check CheckLoad(const HostFacts& host);
Check CheckMemorySettings(const HostFacts& host);

// `kernel_why` and `scratch_why` are the reasons for which there is no kernel account and no
// scratch device; an empty string means that there is one.
Check CheckAccount(const std::string& kernel_why, const std::string& scratch_why,
                   const std::string& not_covered = "");

// Returns the reason for which this user cannot count block requests in the kernel
// (device/account/kernel_account.h). Returns an empty string when the preconditions hold: the
// kernel has type information, and the user may load a program.
std::string WhyNoKernelAccount(const HostFacts& host);

}  // namespace testbed

#endif  // TESTBED_TOOLS_INSPECT_DOCTOR_H_
