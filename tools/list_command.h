// `testbed list`: engines, workloads, IO modes and what each supports, from the registries.
#ifndef TESTBED_TOOLS_LIST_COMMAND_H_
#define TESTBED_TOOLS_LIST_COMMAND_H_

#include <functional>

namespace CLI {
class App;
}

namespace testbed {

// Adds the subcommand to `app`; when it is chosen, *command becomes what runs it.
void AddListCommand(CLI::App& app, std::function<int()>* command);

}  // namespace testbed

#endif  // TESTBED_TOOLS_LIST_COMMAND_H_
