// `testbed check DIR`: verifies every byte of a database and says what is wrong where.
#ifndef TESTBED_TOOLS_INSPECT_CHECK_COMMAND_H_
#define TESTBED_TOOLS_INSPECT_CHECK_COMMAND_H_

#include <functional>

namespace CLI {
class App;
}

namespace testbed {

// Adds the subcommand to `app`. When the command line names it, its parsing sets *command to the
// function that runs it and returns the exit code: 0 when the databases are sound, 1 when one is
// damaged, 130 when interrupted.
void AddCheckCommand(CLI::App& app, std::function<int()>* command);

}  // namespace testbed

#endif  // TESTBED_TOOLS_INSPECT_CHECK_COMMAND_H_
