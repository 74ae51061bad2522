// `testbed tree DIR`: prints the shape and fill of a database's trees, and the use of its files'
// space.
#ifndef TESTBED_TOOLS_INSPECT_TREE_COMMAND_H_
#define TESTBED_TOOLS_INSPECT_TREE_COMMAND_H_

#include <functional>

namespace CLI {
class App;
}

namespace testbed {

// Adds the subcommand to `app`. When the command line names it, its parsing sets *command to the
// function that runs it and returns the exit code: 0, 1 when damage hid parts of the database, 130
// when interrupted.
void AddTreeCommand(CLI::App& app, std::function<int()>* command);

}  // namespace testbed

#endif  // TESTBED_TOOLS_INSPECT_TREE_COMMAND_H_
