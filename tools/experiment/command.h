// testbed experiment, testbed findings and testbed advise: the command line of experiments.
#ifndef TESTBED_TOOLS_EXPERIMENT_COMMAND_H_
#define TESTBED_TOOLS_EXPERIMENT_COMMAND_H_

#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace testbed {

// Adds the commands; *command is set to what the user chose, when it was one of them.
void AddExperimentCommands(CLI::App& app, std::function<int()>* command);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_COMMAND_H_
