// `testbed report` and `testbed compare`: results documents as text.
#ifndef TESTBED_TOOLS_REPORT_REPORT_COMMAND_H_
#define TESTBED_TOOLS_REPORT_REPORT_COMMAND_H_

#include <functional>

namespace CLI {
class App;
}

namespace testbed {

// Adds the subcommands to `app`; when one is chosen, *command becomes what runs it.
void AddReportCommands(CLI::App& app, std::function<int()>* command);

}  // namespace testbed

#endif  // TESTBED_TOOLS_REPORT_REPORT_COMMAND_H_
