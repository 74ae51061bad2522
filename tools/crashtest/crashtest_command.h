// The command line of `testbed crashtest`.
#ifndef TESTBED_TOOLS_CRASHTEST_CRASHTEST_COMMAND_H_
#define TESTBED_TOOLS_CRASHTEST_CRASHTEST_COMMAND_H_

#include <functional>

namespace CLI {
class App;
}

namespace testbed {

// Adds the subcommand to `app`. When the command line names it, its parsing sets *command to the
// function that runs it and returns the exit code.
void AddCrashtestCommand(CLI::App& app, std::function<int()>* command);

}  // namespace testbed

#endif  // TESTBED_TOOLS_CRASHTEST_CRASHTEST_COMMAND_H_
