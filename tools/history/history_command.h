// `testbed history`: keeps results by branch and commit, shows them in time, and says what changed.
#ifndef TESTBED_TOOLS_HISTORY_HISTORY_COMMAND_H_
#define TESTBED_TOOLS_HISTORY_HISTORY_COMMAND_H_

#include <functional>

namespace CLI {
class App;
}

namespace testbed {

// Adds the command to `app`. When the command line names one of its commands, parsing sets *command
// to a function that executes it and returns the exit code. `command` must outlive `app`.
void AddHistoryCommand(CLI::App& app, std::function<int()>* command);

}  // namespace testbed

#endif  // TESTBED_TOOLS_HISTORY_HISTORY_COMMAND_H_
