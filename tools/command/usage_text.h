// The messages for a command line that cannot be parsed.
#ifndef TESTBED_TOOLS_COMMAND_USAGE_TEXT_H_
#define TESTBED_TOOLS_COMMAND_USAGE_TEXT_H_

#include <string>
#include <vector>

#include "device/nearest_name.h"

namespace CLI {
class App;
}

namespace testbed {

// Returns one sentence about the first of `words` that `app` did not understand. `words` are the
// command line without the program's name; `app` has tried to parse them and thrown ExtrasError.
std::string UnknownWordText(const CLI::App& app, const std::vector<std::string>& words);

// Returns one sentence for any other ParseError that `app` has thrown. It says what is missing
// after the command that the line names: a subcommand, or the words that an option takes. When
// nothing is missing, it says `what`, the text of the error.
std::string ParseErrorText(const CLI::App& app, const std::string& what);

}  // namespace testbed

#endif  // TESTBED_TOOLS_COMMAND_USAGE_TEXT_H_
