// One run, as the process that was made for it (run_process.h) does it: opens the engine, runs its
// phases, and returns what was measured as a JSON document (docs/results.md, "run").
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
  std::vector<std::string> phases;  // workloads, in order
  int threads = 1;
  int repeat = 0;     // which repetition of the same setting
  std::string label;  // for progress lines
  std::string engine_dir;
  bool exclusive_device = false;          // a scratch device: all IO on it is the run's
  const MemoryBudget* budget = nullptr;   // null: not bounded
  const ReadLimit* read_limit = nullptr;  // null: none
  // Which rows a database that is loaded already holds (workloads/population.h, ToJson); null when
  // nobody knows, then they are counted first.
  nlohmann::json population;
};

// Whether the database of these workloads holds rows of a data set, which a population tells.
bool HasPopulation(const std::vector<std::string>& workloads);

// Runs the plan in this process. Errors are in the document ("error"), with what was measured up to
// then; `stop` set from outside ends it early and marks it partial. `report` is told of each phase
// that begins and of each that is finished, at once: {"run": ..., "begins": NAME}, {"phase": ...},
// and when the database is loaded and at rest: {"loaded": true}. The document of a run that came to
// its end, or was stopped, says which rows the database holds then ("population").
nlohmann::json ExecuteRun(const RunOptions& options, const RunPlan& plan, bool (*stop)(),
                          const std::function<void(const nlohmann::json&)>& report);

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_RUN_CHILD_H_
