// `testbed trace`: shows, imports and scales down traces (docs/trace-format.md).
#ifndef TESTBED_TOOLS_TRACE_TRACE_COMMAND_H_
#define TESTBED_TOOLS_TRACE_TRACE_COMMAND_H_

#include <functional>

namespace CLI {
class App;
}

namespace testbed {

// Adds the command to `app`. When it is given, parsing sets *command to a function that runs it and
// returns the exit code.
void AddTraceCommand(CLI::App& app, std::function<int()>* command);

}  // namespace testbed

#endif  // TESTBED_TOOLS_TRACE_TRACE_COMMAND_H_
