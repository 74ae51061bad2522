// `testbed doctor` prints what this machine can and cannot measure, and how to change that.
#ifndef TESTBED_TOOLS_INSPECT_DOCTOR_COMMAND_H_
#define TESTBED_TOOLS_INSPECT_DOCTOR_COMMAND_H_

#include <functional>

namespace CLI {
class App;
}

namespace testbed {

// Adds the subcommand to `app`. When the command line names it, parsing sets *command to a function
// that executes it and returns the exit code. `command` must outlive `app`.
void AddDoctorCommand(CLI::App& app, std::function<int()>* command);

}  // namespace testbed

#endif  // TESTBED_TOOLS_INSPECT_DOCTOR_COMMAND_H_
