// Runs the cells of an experiment that are not finished yet. Each cell runs as `testbed` would with
// the cell's options, and its result is kept as soon as the cell is finished.
#ifndef TESTBED_TOOLS_EXPERIMENT_RUN_H_
#define TESTBED_TOOLS_EXPERIMENT_RUN_H_

#include <set>
#include <string>
#include <vector>

#include "tools/experiment/results.h"
#include "tools/output/progress_options.h"

namespace testbed {

struct ExperimentRunOptions {
  bool quiet = false;
  double line_seconds = 0;      // ProgressOptions::line_seconds
  bool keep_databases = false;  // leave databases in the results' directory for inspection
  // Directory that databases and images of scratch devices lie in; empty: that of the results.
  std::string databases;
  // Keys of loads that this process needs for cells of later calls of RunExperiment.
  std::set<std::string> loads_to_come = {};

  ProgressOptions progress() const { return {.quiet = quiet, .line_seconds = line_seconds}; }
};

// Returns whether every cell that can run is finished. A cell that fails, or the user's request to
// stop, leaves cells for the next call. A database that cells share is loaded once, and removed
// after the last of them, but stays for the next call where the user asks to stop before that. In a
// directory that is shared (ResultsDir::CreateShared) each cell is claimed first, and one that
// another process runs is left to it: it is named, and counts as not finished. Databases that an
// ended process of this host has left there, and that no cell of this process needs, are removed:
// other hosts may have run their cells.
bool RunExperiment(const Experiment& experiment, const std::vector<Cell>& cells,
                   const ResultsDir& results, const ExperimentRunOptions& options);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_RUN_H_
