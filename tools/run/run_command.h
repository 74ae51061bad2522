// The main command: plans the runs that the options ask for, prepares the device, the directory and
// the memory budget, executes each run in a child process, and collects their documents.
#ifndef TESTBED_TOOLS_RUN_RUN_COMMAND_H_
#define TESTBED_TOOLS_RUN_RUN_COMMAND_H_

#include <nlohmann/json.hpp>

#include "tools/options.h"

namespace testbed {

// Runs and returns the results document (docs/results.md). Options must be resolved.
nlohmann::json ExecuteRuns(const RunOptions& options, const std::vector<std::string>& command_line);

// ExecuteRuns, then the report on standard output and the files that the options name. Returns the
// exit code: 0; 1 when a run failed; 2 when its options or surroundings were wrong; 130 when it was
// interrupted.
int RunCommand(RunOptions options, const std::vector<std::string>& command_line);

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_RUN_COMMAND_H_
