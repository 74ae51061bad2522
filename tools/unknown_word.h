// What to say of a word of the command line that no command or option has: which word it is, and
// the name that was probably meant.
#ifndef TESTBED_TOOLS_UNKNOWN_WORD_H_
#define TESTBED_TOOLS_UNKNOWN_WORD_H_

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace testbed {

// One sentence about the first of `words` that `app` did not understand. `words` are the command
// line without the program's name; `app` has tried to parse them.
std::string UnknownWordText(const CLI::App& app, const std::vector<std::string>& words);

// The name that `word` is nearest to: the fewest letters changed, added or left out (Levenshtein,
// 1966), or one that begins with it. Empty when none is near.
std::string NearestName(const std::string& word, const std::vector<std::string>& names);

}  // namespace testbed

#endif  // TESTBED_TOOLS_UNKNOWN_WORD_H_
