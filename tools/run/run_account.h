// How deep a run's IO is counted, and how exact its account is: the kernel account of the run, and
// the grade of each of its phases.
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

// Not thread-safe. Refers to the options and the plan, which outlive it.
class RunAccount {
 public:
  // Starts the account of --account on the device of the plan's directory, and makes it the
  // ledger's.
  RunAccount(const RunOptions& options, const RunPlan& plan);

  // The device that the database is on; null when it is on none of its own.
  const BlockDevice* device() const { return device_ ? &*device_ : nullptr; }
  bool in_kernel() const { return kernel_ != nullptr; }
  // "accounting" of the results document.
  nlohmann::json Describe() const;
  // Gives the phase the grade that its closure allows. The run, in `accounting`, has the worst grade of its
  // phases, warm-up and tuning apart.
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
