// One run, in a process of its own: opens the engine, runs its phases, and returns what was
// measured as a JSON document (docs/results.md, "run").
#ifndef TESTBED_TOOLS_RUN_CHILD_H_
#define TESTBED_TOOLS_RUN_CHILD_H_

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "device/memory_budget.h"
#include "device/read_limit.h"
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

// What the parent wants to be told while the child runs.
struct RunWatch {
  // Asked after each phase about those that are finished: true ends the run early.
  std::function<bool(const nlohmann::json& phases)> enough;
  // Called once, when the database is loaded and at rest, before anything else is done to it.
  std::function<void()> loaded;
};

// Forks, calls ExecuteRun in the child and returns its document, whose phases the child sends as
// they finish. A child that died leaves those, as partial, and an "error" that says of what it
// died.
nlohmann::json ExecuteRunInChild(const RunOptions& options, const RunPlan& plan,
                                 const RunWatch& watch = {});

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_CHILD_H_
