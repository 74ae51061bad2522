// Runs the cells of an experiment that are not finished yet. Each cell runs as `testbed` would with
// the cell's options, and its result is kept as soon as the cell is finished.
#ifndef TESTBED_TOOLS_EXPERIMENT_RUN_H_
#define TESTBED_TOOLS_EXPERIMENT_RUN_H_

#include <string>
#include <vector>

#include "tools/experiment/results.h"

namespace testbed {

struct ExperimentRunOptions {
  bool quiet = false;
  bool keep_databases = false;  // leave databases in the results' directory for inspection
};

// Returns whether every cell that can run is finished. A cell that fails, or the user's request to
// stop, leaves cells for the next call. A database that cells share is loaded once, and removed
// after the last of them.
bool RunExperiment(const Experiment& experiment, const std::vector<Cell>& cells,
                   const ResultsDir& results, const ExperimentRunOptions& options);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_RUN_H_
