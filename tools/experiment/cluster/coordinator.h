// Has other hosts run an experiment's blocks, and watches them: it shows the progress of all in one
// place, cancels them at Ctrl-C, and gives no more blocks to hosts that were refused.
#ifndef TESTBED_TOOLS_EXPERIMENT_CLUSTER_COORDINATOR_H_
#define TESTBED_TOOLS_EXPERIMENT_CLUSTER_COORDINATOR_H_

#include <string>
#include <vector>

#include "tools/experiment/cluster/launcher.h"
#include "tools/experiment/plan/plan.h"
#include "tools/experiment/results_dir.h"
#include "tools/output/progress_options.h"

namespace testbed {

struct CoordinatorOptions {
  ProgressOptions progress;
  std::vector<std::string> task_options;  // words that each task gets besides its block
};

// Returns whether every cell that can run is finished. `results` is shared
// (ResultsDir::CreateShared), and its path is absolute. Throws Error: kUsage when another process
// coordinates these results, kRun when tasks cannot be started or the scheduler has not answered
// for ten minutes.
bool RunOnHosts(const std::vector<Cell>& cells, const ResultsDir& results, Launcher* launcher,
                const CoordinatorOptions& options);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_CLUSTER_COORDINATOR_H_
