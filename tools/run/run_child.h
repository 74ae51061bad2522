// Executes one run in the process that was created for it (run_process.h): opens the engine, runs
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
  std::vector<std::string> phases;  // workloads, in order
  int threads = 1;
  int repeat = 0;     // number of the repetition, from 0
  std::string label;  // for progress lines
  std::string engine_dir;
  bool exclusive_device = false;          // only this run does I/O on the device
  const MemoryBudget* budget = nullptr;   // null: unlimited
  const ReadLimit* read_limit = nullptr;  // null: unlimited
  // The rows that a loaded database holds already (Population::ToJson in workloads/population.h);
  // null when they are not known and must be counted first.
  nlohmann::json population;
};

// Returns whether a Population describes the rows of these workloads' database.
bool HasPopulation(const std::vector<std::string>& workloads);

// Runs the plan in this process and returns its document. An error does not leave the function: it
// is in the document ("error"), next to the phases measured before it. When `stop` returns true the
// run ends early and the document is marked partial. `report` is called as each phase begins,
// {"run": ..., "begins": NAME}, as it ends, {"phase": ...}, and when the database is loaded and at
// rest, {"loaded": true}. A run that ended without an error states which rows the database holds
// ("population").
nlohmann::json ExecuteRun(const RunOptions& options, const RunPlan& plan, bool (*stop)(),
                          const std::function<void(const nlohmann::json&)>& report);

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_RUN_CHILD_H_
