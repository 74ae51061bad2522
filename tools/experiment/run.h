// Runs the cells of an experiment that are not finished yet, each as `testbed` would with the
// cell's options, and writes each result as soon as it exists.
#ifndef TESTBED_TOOLS_EXPERIMENT_RUN_H_
#define TESTBED_TOOLS_EXPERIMENT_RUN_H_

#include <string>
#include <vector>

#include "tools/experiment/results.h"

namespace testbed {

struct ExperimentRunOptions {
  bool quiet = false;
  bool keep_databases = false;  // leaves them in the results' directory
};

// Returns whether every cell that can run is finished and none failed. After a stop signal or a
// failed cell, the next call runs the remaining cells. Each shared database is loaded once and
// removed after the last cell that uses it.
bool RunExperiment(const Experiment& experiment, const std::vector<Cell>& cells,
                   const ResultsDir& results, const ExperimentRunOptions& options);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_RUN_H_
