// `testbed doctor`: what this machine can and cannot measure, and how to change that.
#ifndef TESTBED_TOOLS_INSPECT_DOCTOR_COMMAND_H_
#define TESTBED_TOOLS_INSPECT_DOCTOR_COMMAND_H_

#include <functional>

namespace CLI {
class App;
}

namespace testbed {

// Adds the subcommand to `app`; when it is chosen, *command becomes what runs it.
void AddDoctorCommand(CLI::App& app, std::function<int()>* command);

}  // namespace testbed

#endif  // TESTBED_TOOLS_INSPECT_DOCTOR_COMMAND_H_
