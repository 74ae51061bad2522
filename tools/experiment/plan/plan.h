// Plans an experiment: makes a cell of every combination of the axes' values, settles the options
// of each cell, and puts the cells into the order in which they run.
#ifndef TESTBED_TOOLS_EXPERIMENT_PLAN_PLAN_H_
#define TESTBED_TOOLS_EXPERIMENT_PLAN_PLAN_H_

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
  OptionMap set;                    // the user's options (--set), which override all others
  Where only;                       // the values of axes that are planned, no others (--only)
  std::optional<uint64_t> shuffle;  // seed of a random order of cells, also for the first round
  std::optional<int> rounds;        // replaces the scale's rounds
  std::vector<std::string> split = {};  // axes whose values get blocks of their own (Cell::block)
  // The bytes that ram = "auto" stands for; without it half of this machine's memory. A directory
  // of results has those of the machine on which it was begun.
  std::optional<uint64_t> auto_ram = {};
  // Plans also the cells whose engine needs a library or a server that this machine lacks: another
  // machine runs them, or the run says what is missing. The plan is then the same on each machine.
  bool any_machine = false;
  // The plan was made before, perhaps on another machine: PlanCells accepts that no cell of it runs
  // here, and that labels in `only` do not exist.
  bool may_run_none = false;
};

struct Cell {
  std::map<std::string, std::string> labels;  // by axis
  std::string name;                           // "engine=btree io=direct", in the order of the axes
  int round = 1;                              // every round has databases and a seed of its own
  // Cells that are compared with each other, which run on one host: "round-1", or with
  // PlanOptions::split "round-1-0123abcd". Blocks share no load.
  std::string block = {};
  OptionMap options;
  // Cells with equal keys share a database, which is loaded with load_options. The key is empty
  // when the cell loads a database of its own, because its workload changes the database. With
  // copies_load the workload changes it, too, but has a copy (Experiment::copy_loads).
  std::string load_key;
  bool copies_load = false;
  OptionMap load_options;
  // One of them is set when the cell does not run: `skipped` to the reason, or `waits_for` to the
  // engine that this build lacks.
  std::string skipped, waits_for;
  // True, beside `skipped`, when the cell belongs to the scale and only this machine cannot run it,
  // because a library or a server is missing (ReadKept).
  bool lacks_library = false;
  uint64_t data_bytes = 0;  // bytes of keys and values
  uint32_t databases = 1;
  uint64_t scratch_bytes = 0;  // size of a scratch device with room for the load and for the run
  uint64_t seed = 0;
  bool runs() const { return skipped.empty() && waits_for.empty(); }
  // Returns whether the cell belongs to the scale, even if this machine cannot run it.
  bool planned() const { return runs() || lacks_library; }
};

// Returns whether `scale` is one of `scales`; an empty list stands for all scales. A factor of the
// scale "full" counts as "full".
bool IsOneOf(const Experiment& experiment, const std::string& scale,
             const std::vector<std::string>& scales);

// Returns the number of rounds: the user's, else the scale's, else 1 at the scale tiny and 3 at
// others. A single round has no spread from which a finding could be judged.
int RoundsOf(const Experiment& experiment, const PlanOptions& options);

// Returns the bytes that ram = "auto" stands for.
uint64_t AutoRam(const PlanOptions& options);

// Returns the cells of the first round, then those of the second, and so on. So a disturbance of
// the machine slows some cells of one round, and not one setting in all rounds. Throws Error
// (kUsage) when a scale, an axis or a label does not exist, when --set changes an option that an
// axis sets, when a cell has several numbers of threads, when no cell can run, and like InRounds.
std::vector<Cell> PlanCells(const Experiment& experiment, const PlanOptions& options);

// Throws Error (kUsage) when `only`, the user's --only, names an axis or a label that is not there.
void CheckOnly(const Experiment& experiment, const Where& only);

// Throws Error (kUsage) when `axis`, which `option` names, is none of the experiment's.
void CheckAxis(const Experiment& experiment, const std::string& option, const std::string& axis);

// Returns the options of a cell as words of a command line.
std::vector<std::string> OptionWords(const OptionMap& options);

// Returns the options of a cell as the resolved options of a run. Throws Error (kUsage).
RunOptions CellRunOptions(const OptionMap& options);

// Returns whose database a cell runs on, for lists of cells: "its own", "shared 0123ab" or
// "a copy of 0123ab".
std::string DatabaseText(const Cell& cell);

// The workloads of a cell: those at the beginning that load, and the rest.
struct CellPhases {
  std::vector<std::string> load, rest;
};
// Returns the leading workloads that load, and the rest.
CellPhases PhasesOf(const std::vector<std::string>& workloads);

// Leaves out of the run of a cell the load that it shares, with the load's settings.
void LeaveOutLoad(RunOptions* run);

// Makes the run, which has the options of a load that cells share, the one that loads for them.
void KeepLoadAlone(RunOptions* run);

// Returns the settings of --workload-option that one of these workloads knows.
std::map<std::string, std::string> OptionsOfWorkloads(
    const std::map<std::string, std::string>& options, const std::vector<std::string>& workloads);

// Returns whether, for each axis in `where`, `labels` has one of the labels listed there.
bool Matches(const std::map<std::string, std::string>& labels, const Where& where);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_PLAN_PLAN_H_
