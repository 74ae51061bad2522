// The account of a run: starts the kernel account that --account asks for, and grades how exact the
// account of each phase is.
#ifndef TESTBED_TOOLS_RUN_RUN_ACCOUNT_H_
#define TESTBED_TOOLS_RUN_RUN_ACCOUNT_H_

#include <memory>
#include <optional>
#include <string>

#include "device/account/block_device.h"
#include "device/account/grade.h"
#include "device/account/kernel_account.h"
#include "tools/live/second_reporter.h"
#include "tools/options.h"
#include "tools/run/run_child.h"
#include "tools/run/run_record.h"

namespace testbed {

// Not thread-safe. The options and the plan must outlive it.
class RunAccount {
 public:
  // Finds the device under the plan's directory, starts the kernel account on it when --account
  // asks for one, and configures the ledger with it. A kernel account that cannot be started is no
  // error: Describe says what is missing.
  RunAccount(const RunOptions& options, const RunPlan& plan);

  // Returns the block device under the database, whose statistics are read; null below the depth at
  // which they are, and when the file system is on none.
  const BlockDevice* device() const {
    return device_ && options_.account == AccountDepth::kDevice ? &*device_ : nullptr;
  }
  // Returns whether the kernel account is running and tells what operations caused.
  bool in_kernel() const { return kernel_ != nullptr && charged_.empty(); }
  // Leaves the kernel level out of the accounts from now on: a server that runs already does the
  // work, and its blocks are charged to no operation, so that counts of 0 would be wrong. `charged`
  // completes the sentence "they are charged ...".
  void LeaveOutKernel(const std::string& charged) { charged_ = charged; }
  // Returns the levels that are counted while the run lasts.
  SecondReporter::Levels Levels() const;
  // Returns the depth, the grade that the settings promise, and what is missing.
  RunAccounting Describe() const;
  // Sets the grade of *phase, which follows from its closure, and lowers *of_run when the phase's
  // is worse. Warm-up and tuning phases do not lower the run's grade.
  void GradePhase(PhaseRecord* phase, Grade* of_run) const;

 private:
  InForce InForceHere() const;

  const RunOptions& options_;
  const RunPlan& plan_;
  std::optional<BlockDevice> device_;
  std::unique_ptr<KernelAccount> kernel_;
  std::string why_no_kernel_, why_not_covered_;
  std::string charged_;  // of LeaveOutKernel; empty: the level is not left out
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_RUN_ACCOUNT_H_
