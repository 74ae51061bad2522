// The message for a word of the command line that names no command and no option: it quotes the
// word and suggests the name that was probably meant.
#ifndef TESTBED_TOOLS_UNKNOWN_WORD_H_
#define TESTBED_TOOLS_UNKNOWN_WORD_H_

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace testbed {

// Returns one sentence about the first of `words` that `app` did not understand. `words` are the
// command line without the program's name. Call after `app` failed to parse them.
std::string UnknownWordText(const CLI::App& app, const std::vector<std::string>& words);

// Returns the name nearest to `word`: the one with the fewest letters changed, added or left out
// (Levenshtein, 1966), or else a name that begins with `word`. Returns "" when none is near.
std::string NearestName(const std::string& word, const std::vector<std::string>& names);

}  // namespace testbed

#endif  // TESTBED_TOOLS_UNKNOWN_WORD_H_
