// One run of one side: its process, its memory budget and its seed.
#ifndef TESTBED_TOOLS_AB_SIDE_RUN_H_
#define TESTBED_TOOLS_AB_SIDE_RUN_H_

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/ab/side.h"
#include "tools/database/database_dir.h"
#include "tools/run/run_process.h"
#include "tools/run/surroundings.h"

namespace testbed {

// Not thread-safe. All that the constructor receives must outlive the object.
class SideRun {
 public:
  // Empties the directory and starts the process, which loads the database and runs the side's
  // workloads; with `in_slices` the last of them waits for slices. `alone` says that no other side
  // uses the device meanwhile. `load` is added to the side's seed: each load has other rows, and
  // the loads of one number have the same seed on all sides. `execute` is RunStart's; a side with
  // environment variables needs it. Throws Error when the directory cannot be emptied or the
  // process cannot be made, and Error (kRun) when --ram can no longer be enforced.
  SideRun(const AbSide& side, int load, bool in_slices, bool alone,
          const Surroundings& surroundings, DatabaseDir* dir, bool execute);

  RunProcess& process() { return *process_; }
  // Waits until the process ends, and returns the run's document without its series and histograms.
  nlohmann::json Finish();
  // Removes the cgroup of the budget, which no process may use any more. Returns a sentence when it
  // stays, else an empty string. The destructor removes it, too, but reports nothing.
  std::string RemoveBudget() { return budget_ != nullptr ? budget_->Remove() : ""; }

 private:
  RunOptions options_;
  RunPlan plan_;
  std::unique_ptr<MemoryBudget> budget_;
  std::unique_ptr<ReadLimit> read_limit_;
  std::unique_ptr<RunProcess> process_;
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_AB_SIDE_RUN_H_
