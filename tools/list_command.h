// `testbed list` prints the engines, workloads and IO modes that the registries hold, and what each
// of them supports. It also prints the releases, servers and sets of real keys that runs may name,
// and whether they are on this machine.
#ifndef TESTBED_TOOLS_LIST_COMMAND_H_
#define TESTBED_TOOLS_LIST_COMMAND_H_

#include <functional>

namespace CLI {
class App;
}

namespace testbed {

// Adds the subcommand to `app`. When the command line names it, parsing sets *command to a function
// that executes it and returns the exit code. `command` must outlive `app`.
void AddListCommand(CLI::App& app, std::function<int()>* command);

}  // namespace testbed

#endif  // TESTBED_TOOLS_LIST_COMMAND_H_
