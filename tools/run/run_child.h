// One run, executed in the process that was forked for it (run_process.h): opens the engine, runs
// the phases, and returns the measurements as a JSON document (docs/results.md, "run").
#ifndef TESTBED_TOOLS_RUN_RUN_CHILD_H_
#define TESTBED_TOOLS_RUN_RUN_CHILD_H_

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "device/machine/memory_budget.h"
#include "device/machine/read_limit.h"
#include "tools/options.h"

namespace testbed {

struct RunPlan {
  std::vector<std::string> phases;  // names of workloads, in order
  int threads = 1;
  int repeat = 0;                         // number of this repetition of the setting, from 0
  std::string label;                      // begins the progress lines
  std::string engine_dir;                 // directory of the engine's files
  bool exclusive_device = false;          // only this run does IO on the device
  const MemoryBudget* budget = nullptr;   // owned by the caller; null: no limit
  const ReadLimit* read_limit = nullptr;  // owned by the caller; null: no limit
  // The rows that a loaded database holds (workloads/population.h, ToJson). Null when they are not
  // known; then the run counts them before its first phase.
  nlohmann::json population;
};

// Returns whether these workloads work on the rows of a Dataset, which a Population tracks.
bool HasPopulation(const std::vector<std::string>& workloads);

// Runs the plan in this process and returns its document. Never throws: an error becomes "error" of
// the document, which keeps the phases that were measured before it. The run ends early, and its
// document is marked partial, once `stop` returns true.
//
// `report` is called at once when a phase begins, with {"run": ..., "begins": NAME}; when a phase
// is finished, with {"phase": ...}; and when the database is loaded and at rest, with {"loaded":
// true}.
//
// The document of a run that came to its end, or was stopped, tells the rows that the database then
// holds ("population").
nlohmann::json ExecuteRun(const RunOptions& options, const RunPlan& plan, bool (*stop)(),
                          const std::function<void(const nlohmann::json&)>& report);

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_RUN_CHILD_H_
