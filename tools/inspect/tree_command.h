// `testbed tree DIR` prints the shape and fill of a database's trees, and the use of its files'
// space.
#ifndef TESTBED_TOOLS_INSPECT_TREE_COMMAND_H_
#define TESTBED_TOOLS_INSPECT_TREE_COMMAND_H_

#include <functional>

namespace CLI {
class App;
}

namespace testbed {

// Adds the subcommand to `app`. When the command line names it, parsing sets *command to a function
// that executes it and returns the exit code: 0; 1 when a database is damaged, so that the figures
// may miss pages; 130 when the user interrupted it. `command` must outlive `app`.
void AddTreeCommand(CLI::App& app, std::function<int()>* command);

}  // namespace testbed

#endif  // TESTBED_TOOLS_INSPECT_TREE_COMMAND_H_
