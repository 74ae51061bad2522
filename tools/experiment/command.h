// The command lines of `testbed experiment`, `testbed findings` and `testbed advise`.
#ifndef TESTBED_TOOLS_EXPERIMENT_COMMAND_H_
#define TESTBED_TOOLS_EXPERIMENT_COMMAND_H_

#include <functional>
#include <string>

#include "tools/experiment/sweep/sweep.h"

namespace CLI {
class App;
}

namespace testbed {

// Adds the three subcommands to `app`. When the command line names one of them, parsing sets
// *command to a function that executes it and returns the exit code. `command` must outlive `app`.
void AddExperimentCommands(CLI::App& app, std::function<int()>* command);

// Runs a sweep, writes it as a file, or says what it would take, as its options ask. Returns the
// exit code. Throws Error as `testbed experiment` does.
int RunSweep(const Sweep& sweep);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_COMMAND_H_
