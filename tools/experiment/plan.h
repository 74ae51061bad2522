// From an experiment to its cells: every combination of the axes' values, each with its options
// settled, in the order in which they run.
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
  std::string scale = "small";      // a scale of the experiment, or a factor of its scale "full"
  OptionMap set;                    // the user's, over everything else
  Where only;                       // keeps these values of these axes
  std::optional<uint64_t> shuffle;  // seed of a random order of the first round too
  std::optional<int> rounds;        // instead of those of the scale
};

struct Cell {
  std::map<std::string, std::string> labels;  // by axis
  std::string name;                           // "engine=btree io=direct", in the order of the axes
  int round = 1;  // each has databases of its own, and another seed of data and operations
  OptionMap options;
  // Cells with the same key run on one database, loaded with load_options; empty: the cell loads
  // its own, as its workload changes it.
  std::string load_key;
  OptionMap load_options;
  // Why it does not run: the engine cannot do it, or is not in this build.
  std::string skipped, waits_for;
  uint64_t data_bytes = 0;  // keys and values
  uint32_t databases = 1;
  uint64_t seed = 0;
  bool runs() const { return skipped.empty() && waits_for.empty(); }
};

// Whether what is asked at these scales is asked at this one; none means all. A factor of the scale
// "full" is that scale with another memory.
bool IsOneOf(const Experiment& experiment, const std::string& scale,
             const std::vector<std::string>& scales);

// How often all cells are run: asked for, or as the scale says, or once at the scale tiny and three
// times at others: what is measured once has no spread to judge by.
int RoundsOf(const Experiment& experiment, const PlanOptions& options);

// The cells of the first round, then those of the second, ...: what slows the machine for a while
// then slows cells of one round, not one setting in all rounds. Throws Error (kUsage) for a scale,
// an axis or an option that is not there, and when no cell is left.
std::vector<Cell> PlanCells(const Experiment& experiment, const PlanOptions& options);

// The options of a cell as a run has them, resolved.
RunOptions CellRunOptions(const OptionMap& options);

// The part of a cell's workload that loads, and the rest.
struct CellPhases {
  std::vector<std::string> load, rest;
};
CellPhases PhasesOf(const std::vector<std::string>& workloads);

// Those of the --workload-option settings that one of these workloads knows.
std::map<std::string, std::string> OptionsOfWorkloads(
    const std::map<std::string, std::string>& options, const std::vector<std::string>& workloads);

// Whether labels has, for each axis in where, one of its labels.
bool Matches(const std::map<std::string, std::string>& labels, const Where& where);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_PLAN_H_
