// What `testbed experiment` prints of experiments that it does not run: the list of those that come
// with it, and the parts and the plan of one.
#ifndef TESTBED_TOOLS_EXPERIMENT_SWEEP_EXPLAIN_H_
#define TESTBED_TOOLS_EXPERIMENT_SWEEP_EXPLAIN_H_

#include <string>
#include <vector>

#include "tools/experiment/experiment.h"
#include "tools/experiment/plan/plan.h"

namespace testbed {

// Returns a table of the shipped experiments with their titles and findings.
std::string ExperimentsText();

// Returns what the experiment asks, its axes, scales and metrics, and the claims of its findings.
std::string ShowText(const Experiment& experiment);

// Returns the options and the order of the planned cells, and what running them takes.
std::string PlanText(const std::vector<Cell>& cells);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_SWEEP_EXPLAIN_H_
