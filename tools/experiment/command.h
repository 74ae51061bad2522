// The command line of `testbed experiment`, `testbed findings` and `testbed advise`.
#ifndef TESTBED_TOOLS_EXPERIMENT_COMMAND_H_
#define TESTBED_TOOLS_EXPERIMENT_COMMAND_H_

#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace testbed {

// Adds the subcommands to `app`. When the command line names one, its parsing sets *command to the
// function that runs it and returns the exit code.
void AddExperimentCommands(CLI::App& app, std::function<int()>* command);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_COMMAND_H_
