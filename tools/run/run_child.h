// One run, executed in the process that was forked for it (run_process.h): opens the engine, runs
// the phases, sends each finished phase to a callback, and returns the rest of the run's document
// (docs/results.md, "run").
#ifndef TESTBED_TOOLS_RUN_RUN_CHILD_H_
#define TESTBED_TOOLS_RUN_RUN_CHILD_H_

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "device/machine/memory_budget.h"
#include "device/machine/read_limit.h"
#include "tools/options.h"

namespace testbed {

class TaskGroup;

struct RunPlan {
  std::vector<std::string> phases;  // names of workloads, in order; at least one
  int threads = 1;
  int repeat = 0;                         // number of this run of the setting on its load, from 0
  std::string label;                      // begins the progress lines
  std::string engine_dir;                 // directory of the engine's files
  bool exclusive_device = false;          // only this run does IO on the device
  const MemoryBudget* budget = nullptr;   // owned by the caller; null: no limit
  const ReadLimit* read_limit = nullptr;  // owned by the caller; null: no limit
  // The rows that a loaded database holds (workloads/population.h, ToJson). Null when they are not
  // known; then the run counts them before its first phase.
  nlohmann::json population;
  // The number of the phase that wrote to the database last (workloads/writing_phases.h); nothing
  // when it is not known. A plan that loads an empty database has 0.
  std::optional<uint64_t> writing_phases = 0;
  // The workload that loaded the database, of a plan that loads none; empty when it is not known.
  std::string loader;
  // The last phase works in slices, which the parent grants (run_process.h); it then has no warm-up
  // and no end of its own.
  bool in_slices = false;
  // The tasks of a run of several (--task); owned by the caller. Null: there are no others.
  TaskGroup* tasks = nullptr;
};

// The child's talk with its parent, in the lines of run_process.h.
struct RunTalk {
  // Sends a line; waits until the pipe takes it.
  std::function<void(const nlohmann::json&)> report;
  // Sends a line that may be lost. Does not wait: returns false when the parent is behind with
  // reading.
  std::function<bool(const nlohmann::json&)> offer;
  // Blocks until the parent's next line and returns it; {"end": true} when the run is to end.
  // Needed for a plan in slices.
  std::function<nlohmann::json()> await;
};

// The member of a run's document that says that another task was asked to stop, and so this one
// was. It is for the parent alone.
inline constexpr char kStoppedByTask[] = "stopped_by_task";

// Returns whether the plan's workloads work on the rows of a Dataset, which a Population tracks.
bool HasPopulation(const RunPlan& plan);

// Runs the plan in this process and returns its document without "phases", which `report` was
// given. Never throws: an error becomes "error" of the document. The run ends early, and its
// document is marked partial, once `stop` returns true.
//
// With --live or --metrics `talk.offer` gets each second of a phase (second_reporter.h).
//
// `talk.report` is called at once when a phase begins and when it is finished, when the database is
// loaded and at rest, and after each slice.
//
// The document of a run that came to its end, or was stopped, tells the rows that the database then
// holds ("population"), and the number of the phase that wrote last ("writing_phases").
nlohmann::json ExecuteRun(const RunOptions& options, const RunPlan& plan, bool (*stop)(),
                          const RunTalk& talk);

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_RUN_CHILD_H_
