// `testbed check DIR`: whether every byte of a database is right, and if not, what is wrong where.
#ifndef TESTBED_TOOLS_INSPECT_CHECK_COMMAND_H_
#define TESTBED_TOOLS_INSPECT_CHECK_COMMAND_H_

#include <functional>

namespace CLI {
class App;
}

namespace testbed {

// Adds the command to `app`; when the line names it, `*command` becomes what it does. It returns
// the exit code: 0 when the databases are sound, 1 when one is damaged, 130 when interrupted.
void AddCheckCommand(CLI::App& app, std::function<int()>* command);

}  // namespace testbed

#endif  // TESTBED_TOOLS_INSPECT_CHECK_COMMAND_H_
