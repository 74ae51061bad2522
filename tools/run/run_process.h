// The process that one run has of its own: starts it, hears what it says of its phases, and knows
// what ended it.
#ifndef TESTBED_TOOLS_RUN_RUN_PROCESS_H_
#define TESTBED_TOOLS_RUN_RUN_PROCESS_H_

#include <functional>
#include <nlohmann/json.hpp>

#include "tools/run/run_child.h"

namespace testbed {

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

#endif  // TESTBED_TOOLS_RUN_RUN_PROCESS_H_
