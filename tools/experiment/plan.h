// Plans the cells of an experiment: every combination of the axes' values, each with its options
// resolved, in the order in which they run.
#ifndef TESTBED_TOOLS_EXPERIMENT_PLAN_H_
#define TESTBED_TOOLS_EXPERIMENT_PLAN_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/experiment/experiment.h"
#include "tools/options.h"

namespace testbed {

struct PlanOptions {
  std::string scale = "small";      // a scale's name, or a factor of the scale "full"
  OptionMap set;                    // the user's options; override all others
  Where only;                       // keeps only these values of these axes
  std::optional<uint64_t> shuffle;  // seed of a random order, also for the first round
  std::optional<int> rounds;        // overrides the scale's rounds
};

struct Cell {
  std::map<std::string, std::string> labels;  // by axis
  std::string name;                           // "engine=btree io=direct", in axis order
  int round = 1;                              // each round has its own databases and seed
  OptionMap options;
  // Cells with the same key run on one database, which is loaded with load_options. Empty: the cell
  // loads its own database, because its workload changes it.
  std::string load_key;
  OptionMap load_options;
  // Why the cell does not run: the engine cannot do it, or the engine is not in this build.
  std::string skipped, waits_for;
  uint64_t data_bytes = 0;  // keys and values
  uint32_t databases = 1;
  uint64_t seed = 0;
  bool runs() const { return skipped.empty() && waits_for.empty(); }
};

// Returns whether `scale` is one of `scales`, or `scales` is empty. A factor counts as the scale
// "full", from which it differs in memory only.
bool IsOneOf(const Experiment& experiment, const std::string& scale,
             const std::vector<std::string>& scales);

// Returns how often all cells are run: options.rounds, or the scale's rounds, or once at the scale
// tiny and three times at other scales, since a single measurement has no spread to judge by.
int RoundsOf(const Experiment& experiment, const PlanOptions& options);

// Returns the cells of the first round, then those of the second, and so on: a disturbance of the
// machine then affects the cells of one round, not one setting in all rounds. Throws Error (kUsage)
// for an unknown scale, axis or option, and when no cell can run.
std::vector<Cell> PlanCells(const Experiment& experiment, const PlanOptions& options);

// Returns the cell's options as a run uses them, resolved. Throws Error (kUsage).
RunOptions CellRunOptions(const OptionMap& options);

// A cell's workloads: those that load, and the rest.
struct CellPhases {
  std::vector<std::string> load, rest;
};
// Returns the leading workloads that load, and the rest.
CellPhases PhasesOf(const std::vector<std::string>& workloads);

// Returns the --workload-option settings that describe the database of one of these workloads.
std::map<std::string, std::string> OptionsOfWorkloads(
    const std::map<std::string, std::string>& options, const std::vector<std::string>& workloads);

// Returns whether, for each axis in `where`, the cell's label is one of those listed.
bool Matches(const std::map<std::string, std::string>& labels, const Where& where);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_PLAN_H_
