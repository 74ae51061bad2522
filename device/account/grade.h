// How exact an account of block IO is: the one rule that runs, `testbed doctor` and
// docs/accounting.md follow.
//
//   Grade of_run = DecideGrade({.counted_in_kernel = true, .own_device = scratch});
//   Grade of_phase = DecideGrade(in_force, &closure);      // closure as it was measured
//
// Only what was in force counts. Root is a means to both, and no reason for a better grade by
// itself.
#ifndef TESTBED_DEVICE_ACCOUNT_GRADE_H_
#define TESTBED_DEVICE_ACCOUNT_GRADE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace testbed {

// What was in force while something was measured.
struct InForce {
  // Block requests were counted in the kernel, by thread and operation (device/account/kernel_account.h).
  bool counted_in_kernel = false;
  // The device's own statistics were read, and they are the run's alone (--scratch).
  bool own_device = false;
  // Sentences: why not every request that was counted is charged to the operation that asked for
  // it. One of them weighs as much as no counting at all.
  std::vector<std::string> not_charged;
  // Sentences: why neither the kernel's counts nor the device's are all of what the files cost
  // here, as on a file system over several disks. With one of them the grade is C.
  std::vector<std::string> not_covered;
};

// The kernel's counts of all threads minus the device's own statistics, over one phase.
struct Closure {
  int64_t reads = 0, read_bytes = 0, writes = 0, write_bytes = 0;
  bool at_rest = true;  // the device came to rest at both borders
};

struct Grade {
  char letter = 'C';                 // 'A' is the best
  std::vector<std::string> reasons;  // sentences: why it is not better than it is
};

// The grade that the settings promise, and with `closure` the one that a phase kept.
Grade DecideGrade(const InForce& in_force, const Closure* closure = nullptr);

// Makes `*worst` the worse of the two, with the reasons of the worse one, or of both, each once.
void KeepWorse(const Grade& other, Grade* worst);

}  // namespace testbed

#endif  // TESTBED_DEVICE_ACCOUNT_GRADE_H_
