// The grade of an account of block IO says how exact the account is. Runs, `testbed doctor` and
// docs/accounting.md follow the rule of this header.
//
//   const InForce in_force = {.counted_in_kernel = true, .own_device = scratch};
//   Grade of_run = DecideGrade(in_force);
//   Grade of_phase = DecideGrade(in_force, &closure);      // closure as it was measured
//
// The grade depends only on what was in force. Counting in the kernel and a device of the run's own
// both need root, but root alone earns no better grade.
//
// All of it is thread-safe: the functions work on their arguments alone.
#ifndef TESTBED_DEVICE_ACCOUNT_GRADE_H_
#define TESTBED_DEVICE_ACCOUNT_GRADE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace testbed {

class BlockDevice;
struct LedgerCounts;

// InForce says by which means block IO was counted while something was measured.
struct InForce {
  // Block requests were counted in the kernel, by thread and operation
  // (device/account/kernel_account.h).
  bool counted_in_kernel = false;
  // No other program used the device (--scratch).
  bool own_device = false;
  // These sentences say why some of the counted requests are not charged to the operations that
  // asked for them, or not counted under the kind of their file. One sentence lowers the grade as
  // if nothing were counted in the kernel.
  std::vector<std::string> not_charged;
  // These sentences say why a part of what the files cost is not counted as theirs, as on a file
  // system over several disks, or one whose metadata cannot be told from files. With a single
  // sentence the grade is C.
  std::vector<std::string> not_covered;
  // The run read the device's own statistics (--account device).
  bool device_read = true;
};

// A run says this when block requests cannot be counted because a directory lies on no device.
inline constexpr char kNoBlockDevice[] = "the directory is on no block device of its own";

// Returns a sentence for InForce::not_covered when the file system of `path` lies on several disks,
// of which `device` is one, when its files do not have the device's number, when a part of it, such
// as its journal, is outside of the device, or when its metadata cannot be told from files
// (journal.h); else an empty string.
std::string WhyNotCovered(const BlockDevice& device, const std::string& path);
// Returns the sentence of the function above, but only for several disks and for numbers of
// devices, not for the journal and the metadata. `name` is one of the `devices` of a file system
// that lies on `disks`, and `files_have_its_number` says what the function of BlockDevice does.
std::string WhyNotCovered(const std::string& name, const std::vector<std::string>& devices,
                          const std::vector<std::string>& disks, bool files_have_its_number);

// Returns a sentence for InForce::not_charged when workers of io_uring issued reads of the run
// (device/file/read_ring.h), which are counted by the workers' name; else an empty string. `counts`
// are those of a phase.
std::string WhyNotCharged(const LedgerCounts& counts);

// A Closure is the difference between the kernel's counts of all threads and the device's own
// statistics, over one phase.
struct Closure {
  int64_t reads = 0, read_bytes = 0, writes = 0, write_bytes = 0;
  bool at_rest = true;  // the device was at rest at both ends of the phase
};

struct Grade {
  char letter = 'C';                 // 'A' is the best
  std::vector<std::string> reasons;  // sentences that say why the grade is not better
};

// Returns the grade that the settings promise. With a `closure` it returns the grade of the phase:
// at best B when a sum of the closure is not zero or the device was not at rest at both ends of the
// phase. When nothing was counted in the kernel, only `at_rest` of the closure is looked at, and
// only on a device of the run's own whose statistics were read.
Grade DecideGrade(const InForce& in_force, const Closure* closure = nullptr);

// Makes `*worst` the worse of the two grades, with the reasons of that grade. Of two equal grades
// it keeps the reasons of both, each once.
void KeepWorse(const Grade& other, Grade* worst);

}  // namespace testbed

#endif  // TESTBED_DEVICE_ACCOUNT_GRADE_H_
