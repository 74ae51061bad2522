// Sets up the kernel-level account of a run, and grades how exact the account of each phase is.
#ifndef TESTBED_TOOLS_RUN_RUN_ACCOUNT_H_
#define TESTBED_TOOLS_RUN_RUN_ACCOUNT_H_

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "device/account/block_device.h"
#include "device/account/grade.h"
#include "device/account/kernel_account.h"
#include "tools/options.h"
#include "tools/run/run_child.h"

namespace testbed {

// Not thread-safe. The options and the plan must outlive it.
class RunAccount {
 public:
  // Starts the account that --account asks for, on the device of the plan's directory, and
  // configures the ledger with it.
  RunAccount(const RunOptions& options, const RunPlan& plan);

  // Returns the database's device; null when the directory is on no block device.
  const BlockDevice* device() const { return device_ ? &*device_ : nullptr; }
  // Returns whether requests are counted in the kernel.
  bool in_kernel() const { return kernel_ != nullptr; }
  // Returns "accounting" for the results document.
  nlohmann::json Describe() const;
  // Gives the phase the grade that its closure allows. The run's grade, in *accounting, becomes the
  // worst of its phases' grades, without those of warm-up and tuning phases.
  void GradePhase(nlohmann::json* phase, nlohmann::json* accounting) const;

 private:
  InForce InForceHere() const;

  const RunOptions& options_;
  const RunPlan& plan_;
  std::optional<BlockDevice> device_;
  std::unique_ptr<KernelAccount> kernel_;
  std::string why_no_kernel_;
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_RUN_ACCOUNT_H_
