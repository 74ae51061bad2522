// The rounds of an experiment repeat its cells. Each round has seeds, databases and an order of its
// own, and consists of blocks of cells that run on one host.
#ifndef TESTBED_TOOLS_EXPERIMENT_PLAN_ROUNDS_H_
#define TESTBED_TOOLS_EXPERIMENT_PLAN_ROUNDS_H_

#include <vector>

#include "tools/experiment/experiment.h"
#include "tools/experiment/plan/plan.h"

namespace testbed {

// Returns the cells of all rounds, in the order in which they run. `cells` are those of one round,
// with the seeds of the first. Throws Error (kUsage) when cells that an experiment compares by
// their order (Experiment::in_order) are to be shuffled.
std::vector<Cell> InRounds(const Experiment& e, const PlanOptions& options,
                           const std::vector<Cell>& cells);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_PLAN_ROUNDS_H_
