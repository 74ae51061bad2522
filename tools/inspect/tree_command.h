// `testbed tree DIR`: the shape and fill of a database's trees, and where its files' space goes.
#ifndef TESTBED_TOOLS_INSPECT_TREE_COMMAND_H_
#define TESTBED_TOOLS_INSPECT_TREE_COMMAND_H_

#include <functional>

namespace CLI {
class App;
}

namespace testbed {

// Adds the command to `app`; when the line names it, `*command` becomes what it does. It returns
// the exit code: 1 when damage kept it from seeing everything, 130 when interrupted.
void AddTreeCommand(CLI::App& app, std::function<int()>* command);

}  // namespace testbed

#endif  // TESTBED_TOOLS_INSPECT_TREE_COMMAND_H_
