// The message for a word of the command line that is no command or option: it names the word and
// the command or option that the user probably meant.
#ifndef TESTBED_TOOLS_UNKNOWN_WORD_H_
#define TESTBED_TOOLS_UNKNOWN_WORD_H_

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace testbed {

// Returns one sentence about the first of `words` that `app` did not understand. `words` are the
// command line without the program's name; `app` has tried to parse them and thrown ExtrasError.
std::string UnknownWordText(const CLI::App& app, const std::vector<std::string>& words);

// Returns the name with the smallest edit distance to `word` (Levenshtein, 1966). When all names
// are further than 1 + a quarter of the word's length away, returns the first name that begins with
// `word`, or an empty string when no name does.
std::string NearestName(const std::string& word, const std::vector<std::string>& names);

}  // namespace testbed

#endif  // TESTBED_TOOLS_UNKNOWN_WORD_H_
