// The command `testbed ab`.
#ifndef TESTBED_TOOLS_AB_AB_COMMAND_H_
#define TESTBED_TOOLS_AB_AB_COMMAND_H_

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace testbed {

// Adds the command to `app`. Parsing its words sets *command, which executes the comparison, prints
// its report and returns the exit code (AbExitCode). `words` are those of the command line.
void AddAbCommand(CLI::App& app, const std::vector<std::string>& words,
                  std::function<int()>* command);

}  // namespace testbed

#endif  // TESTBED_TOOLS_AB_AB_COMMAND_H_
