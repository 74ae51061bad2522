// The shell completion script and the manual page. Both are generated from the options that a
// CLI::App defines, so that they cannot go stale.
#ifndef TESTBED_TOOLS_COMMAND_COMPLETION_H_
#define TESTBED_TOOLS_COMMAND_COMPLETION_H_

#include <string>

namespace CLI {
class App;
}

namespace testbed {

// Returns a script for `shell` (bash, zsh or fish) that completes the options and subcommands of
// `app`, the names of engines and workloads, and file names. `app` is the main command of the
// program, with all subcommands added. For the releases of engines the script asks the program each
// time: with "releases" as `shell`, returns those that are installed, one a line. Throws Error
// (kUsage) for another shell.
std::string Completion(const CLI::App& app, const std::string& shell);

// Returns the manual page of `app` as roff source, section 1.
std::string ManPage(const CLI::App& app);

}  // namespace testbed

#endif  // TESTBED_TOOLS_COMMAND_COMPLETION_H_
