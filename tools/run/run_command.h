// The main command: plans the runs that the options ask for, prepares the device, the directory and
// the memory budget, executes each run in a child process, and collects the runs' documents.
#ifndef TESTBED_TOOLS_RUN_RUN_COMMAND_H_
#define TESTBED_TOOLS_RUN_RUN_COMMAND_H_

#include <nlohmann/json.hpp>

#include "tools/options.h"

namespace testbed {

// Executes the runs and returns the results document (docs/results.md). The options must be
// resolved. Throws Error (kUsage) for options that are refused, before any file is created.
nlohmann::json ExecuteRuns(const RunOptions& options, const std::vector<std::string>& command_line);

// Executes the runs, prints the report on standard output and writes the files that the options
// name. Returns the exit code: 0, 1 when a run failed, 2 when the options or surroundings of a run
// were wrong, 130 when it was interrupted.
int RunCommand(RunOptions options, const std::vector<std::string>& command_line);

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_RUN_COMMAND_H_
