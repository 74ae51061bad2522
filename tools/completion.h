// Makes the shell completion and the manual page from the options as the program defines them, so
// that they cannot go stale.
#ifndef TESTBED_TOOLS_COMPLETION_H_
#define TESTBED_TOOLS_COMPLETION_H_

#include <string>

namespace CLI {
class App;
}

namespace testbed {

// Returns a completion script for bash.
std::string BashCompletion(const CLI::App& app);
// Returns the manual page in roff, section 1.
std::string ManPage(const CLI::App& app);

}  // namespace testbed

#endif  // TESTBED_TOOLS_COMPLETION_H_
