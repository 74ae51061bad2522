// Executes one run in a child process, so that the run has a memory budget of its own and its crash
// does not end the program.
#ifndef TESTBED_TOOLS_RUN_RUN_PROCESS_H_
#define TESTBED_TOOLS_RUN_RUN_PROCESS_H_

#include <functional>
#include <nlohmann/json.hpp>

#include "tools/run/run_child.h"

namespace testbed {

// Callbacks in the parent while the child runs; either may be empty.
struct RunWatch {
  // Called after each phase with all finished phases; returning true ends the run early.
  std::function<bool(const nlohmann::json& phases)> enough;
  // Called once, when the database is loaded and at rest. The child waits until it returns.
  std::function<void()> loaded;
};

// Forks, calls ExecuteRun in the child and returns the run's document. The child sends each phase
// when it is finished. When the child dies, the document holds the phases sent until then, is
// marked partial, and its "error" names the cause of death. Throws Error (kIo) when no pipe can be
// made, and whatever a callback of `watch` throws, after killing the child.
nlohmann::json ExecuteRunInChild(const RunOptions& options, const RunPlan& plan,
                                 const RunWatch& watch = {});

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_RUN_PROCESS_H_
