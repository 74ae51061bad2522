// `testbed report` prints results as tables or as data, or makes a page of them. `testbed explain`
// says what the columns of the tables mean.
#ifndef TESTBED_TOOLS_REPORT_REPORT_COMMAND_H_
#define TESTBED_TOOLS_REPORT_REPORT_COMMAND_H_

#include <functional>

namespace CLI {
class App;
}

namespace testbed {

// Adds both commands to `app`. When the command line names one, parsing sets *command to a function
// that executes it and returns the exit code. `command` must outlive `app`.
void AddReportCommands(CLI::App& app, std::function<int()>* command);

}  // namespace testbed

#endif  // TESTBED_TOOLS_REPORT_REPORT_COMMAND_H_
