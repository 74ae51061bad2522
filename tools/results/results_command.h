// `testbed results`: keeps the results of all runs in one SQLite file, and answers questions to
// them.
#ifndef TESTBED_TOOLS_RESULTS_RESULTS_COMMAND_H_
#define TESTBED_TOOLS_RESULTS_RESULTS_COMMAND_H_

#include <functional>

namespace CLI {
class App;
}

namespace testbed {

// Adds the command to `app`. When the command line names one of its commands, parsing sets *command
// to a function that executes it and returns the exit code. `command` must outlive `app`.
void AddResultsCommand(CLI::App& app, std::function<int()>* command);

}  // namespace testbed

#endif  // TESTBED_TOOLS_RESULTS_RESULTS_COMMAND_H_
