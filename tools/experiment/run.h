// Runs the cells of an experiment that are not finished yet, each as `testbed` would with the
// cell's options, and keeps each result as soon as it is there.
#ifndef TESTBED_TOOLS_EXPERIMENT_RUN_H_
#define TESTBED_TOOLS_EXPERIMENT_RUN_H_

#include <string>
#include <vector>

#include "tools/experiment/results.h"

namespace testbed {

struct ExperimentRunOptions {
  bool quiet = false;
  bool keep_databases = false;  // in the results' directory, for looking at
};

// Returns whether every cell that can run is finished and none failed; a stop from outside or a
// failed cell leaves the rest for the next call. Databases are loaded once for the cells that share
// one, and removed after the last of them.
bool RunExperiment(const Experiment& experiment, const std::vector<Cell>& cells,
                   const ResultsDir& results, const ExperimentRunOptions& options);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_RUN_H_
