// `testbed report` and `testbed compare`: print results documents as text.
#ifndef TESTBED_TOOLS_REPORT_REPORT_COMMAND_H_
#define TESTBED_TOOLS_REPORT_REPORT_COMMAND_H_

#include <functional>

namespace CLI {
class App;
}

namespace testbed {

// Adds the subcommands to `app`. When the command line names one, its parsing sets *command to the
// function that runs it and returns the exit code.
void AddReportCommands(CLI::App& app, std::function<int()>* command);

}  // namespace testbed

#endif  // TESTBED_TOOLS_REPORT_REPORT_COMMAND_H_
