// `testbed report` prints a results file as tables, or makes a page of several.
#ifndef TESTBED_TOOLS_REPORT_REPORT_COMMAND_H_
#define TESTBED_TOOLS_REPORT_REPORT_COMMAND_H_

#include <functional>

namespace CLI {
class App;
}

namespace testbed {

// Adds the command to `app`. When the command line names it, parsing sets *command to
// a function that executes it and returns the exit code. `command` must outlive `app`.
void AddReportCommands(CLI::App& app, std::function<int()>* command);

}  // namespace testbed

#endif  // TESTBED_TOOLS_REPORT_REPORT_COMMAND_H_
