// The command line of `testbed crashtest`.
#ifndef TESTBED_TOOLS_CRASHTEST_CRASHTEST_COMMAND_H_
#define TESTBED_TOOLS_CRASHTEST_CRASHTEST_COMMAND_H_

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace testbed {

// Adds the subcommand to `app`. When `words`, the command line, name it, parsing sets *command to a
// function that executes it and returns the exit code: 0; 1 when a failure was found; 130 when a
// signal ended the test. `command` must outlive `app`.
void AddCrashtestCommand(CLI::App& app, const std::vector<std::string>& words,
                         std::function<int()>* command);

}  // namespace testbed

#endif  // TESTBED_TOOLS_CRASHTEST_CRASHTEST_COMMAND_H_
