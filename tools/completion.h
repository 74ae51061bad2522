// Shell completion and the manual page, both made from the options as they are defined, so that
// they cannot go stale.
#ifndef TESTBED_TOOLS_COMPLETION_H_
#define TESTBED_TOOLS_COMPLETION_H_

#include <string>

namespace CLI {
class App;
}

namespace testbed {

std::string BashCompletion(const CLI::App& app);
std::string ManPage(const CLI::App& app);  // roff, section 1

}  // namespace testbed

#endif  // TESTBED_TOOLS_COMPLETION_H_
