// The process of one run: starts it, receives its reports about its phases, and finds out what
// ended it.
#ifndef TESTBED_TOOLS_RUN_RUN_PROCESS_H_
#define TESTBED_TOOLS_RUN_RUN_PROCESS_H_

#include <functional>
#include <nlohmann/json.hpp>

#include "tools/run/run_child.h"

namespace testbed {

// The callbacks of the parent while the child runs.
struct RunWatch {
  // Called with all finished phases after each phase; returning true ends the run early.
  std::function<bool(const nlohmann::json& phases)> enough;
  // Called once, when the database is loaded and at rest. The child waits until it returns.
  std::function<void()> loaded;
};

// Forks, calls ExecuteRun in the child and returns its document. The child sends each phase as it
// finishes, so a child that dies leaves a partial document with its finished phases and an "error"
// that says what ended it. Throws Error when no child can be started, and what a callback throws.
nlohmann::json ExecuteRunInChild(const RunOptions& options, const RunPlan& plan,
                                 const RunWatch& watch = {});

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_RUN_PROCESS_H_
