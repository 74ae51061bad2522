// `testbed backup DIR --to DIR` and `testbed compact DIR`, for databases that no process has open:
// a durable copy elsewhere, and a rewriting in place. A program that has its database open makes
// its backups by Engine::Backup (engines/engine.h).
#ifndef TESTBED_TOOLS_MAINTENANCE_MAINTENANCE_COMMANDS_H_
#define TESTBED_TOOLS_MAINTENANCE_MAINTENANCE_COMMANDS_H_

#include <functional>

namespace CLI {
class App;
}

namespace testbed {

// Add the subcommands to `app`. When the command line names one, parsing sets *command to a
// function that executes it and returns the exit code 0, or throws Error. `command` must outlive
// `app`.
void AddBackupCommand(CLI::App& app, std::function<int()>* command);
void AddCompactCommand(CLI::App& app, std::function<int()>* command);

}  // namespace testbed

#endif  // TESTBED_TOOLS_MAINTENANCE_MAINTENANCE_COMMANDS_H_
