// The sides of a comparison: each is the common options of `testbed ab` with changes of its own.
//
//   --a 'engine=rocksdb' --b 'engine=rocksdb engine-option=bloom_bits=0 env:LD_PRELOAD=/opt/lib.so'
//
// The text of a side is a list of words: OPTION=VALUE for an option of the command line (without
// its dashes; VALUE is true or false for a flag), env:NAME=VALUE for a variable of its process's
// environment, and @FILE for a file that holds more words, but names no other file. Words are
// separated by white space; single or double quotes keep white space in a word. In a file a # where
// a word could begin begins a comment.
#ifndef TESTBED_TOOLS_AB_SIDE_H_
#define TESTBED_TOOLS_AB_SIDE_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tools/options.h"

namespace testbed {

struct AbSide {
  std::string label;  // "a", "b", ...
  std::string text;   // the value of --LABEL, as the user gave it
  // All words, with the words of a file in place of its @FILE. Empty when the text names no file.
  std::vector<std::string> words;
  std::map<std::string, std::string> environment;
  RunOptions options;
};

// Splits the text into words. With `comments`, a # where a word could begin ends the text. Throws
// Error (kUsage), which names `option`, for a quote that is not closed.
std::vector<std::string> SplitWords(const std::string& option, const std::string& text,
                                    bool comments = false);

// Returns the side: `common` with the changes of the text. Its options are not yet resolved. Throws
// Error (kUsage), which names the option --LABEL.
AbSide ParseSide(const std::string& label, const std::string& text, const RunOptions& common);

// Throws Error (kUsage) when two sides would not do the same work on the same rows, so that their
// figures could not be set against each other. The sides are resolved.
void CheckComparable(const std::vector<AbSide>& sides);

// Returns the names of threads that the engines of several sides have and that the kernel account
// of a side looks for. While such sides run side by side, it counts the requests of these threads
// on each of them. The sides are resolved.
std::set<std::string> SharedThreads(const std::vector<AbSide>& sides);

// Throws Error (kUsage) when the file system of the directory `where` has less space than the
// databases of all sides need together. They are there at the same time, in every way of pairing.
// The sides are resolved.
void CheckSpaceOfSides(const std::vector<AbSide>& sides, const std::string& where);

}  // namespace testbed

#endif  // TESTBED_TOOLS_AB_SIDE_H_
