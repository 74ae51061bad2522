// `testbed check DIR` verifies every byte of a database, and reports each fault with its place.
#ifndef TESTBED_TOOLS_INSPECT_CHECK_COMMAND_H_
#define TESTBED_TOOLS_INSPECT_CHECK_COMMAND_H_

#include <functional>

namespace CLI {
class App;
}

namespace testbed {

// Adds the subcommand to `app`. When the command line names it, parsing sets *command to a function
// that executes it and returns the exit code: 0 when all databases are sound, 1 when a database is
// damaged, 130 when the user interrupted the check. `command` must outlive `app`.
void AddCheckCommand(CLI::App& app, std::function<int()>* command);

}  // namespace testbed

#endif  // TESTBED_TOOLS_INSPECT_CHECK_COMMAND_H_
