// The main command: plans the runs that the options ask for, prepares the device, the directory and
// the memory budget, executes each run in a child process, and collects the runs' documents.
#ifndef TESTBED_TOOLS_RUN_RUN_COMMAND_H_
#define TESTBED_TOOLS_RUN_RUN_COMMAND_H_

#include <nlohmann/json.hpp>

#include "tools/options.h"

namespace testbed {

class LiveView;

// Executes all runs and returns the results document (docs/results.md). The caller has resolved the
// options. `live`, which may be null, gets each second. Throws Error (kUsage) before the first run
// when the options or the machine do not allow the runs; the error of a run is in the document.
nlohmann::json ExecuteRuns(const RunOptions& options, const std::vector<std::string>& command_line,
                           LiveView* live = nullptr);

// Resolves the options, executes the runs, prints the report on standard output and writes the
// files of --json and --csv. Returns the exit code: 0; 1 when a run failed or had no operation for
// --record; 2 when a run found its options or the machine wrong; 130 when the user interrupted the
// runs. Throws Error as ExecuteRuns does, and when a file cannot be written.
int RunCommand(RunOptions options, const std::vector<std::string>& command_line);

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_RUN_COMMAND_H_
