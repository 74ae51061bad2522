// Command lines as data: the words of a run, written so that a shell reads them back.
//
// All of it is thread-safe. Nothing throws unless it says so.
#ifndef TESTBED_TOOLS_COMMAND_COMMAND_WORDS_H_
#define TESTBED_TOOLS_COMMAND_COMMAND_WORDS_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace testbed {

// Returns the text in single quotes, as bash, zsh and fish read it.
std::string SingleQuoted(const std::string& text);

// Returns the words as a line for a shell. A word with a character that a shell may interpret is in
// single quotes. What a terminal may interpret is not in the line: "$(printf '\033')" stands for an
// escape.
std::string ShellLine(const std::vector<std::string>& words);

// Returns whether one of the words gives this option, as "--seed" or "--seed=7".
bool Gives(const std::vector<std::string>& words, const std::string& option);

// Returns the last value that the words give the option, as "--seed 7" or "--seed=7"; "" without
// one.
std::string ValueGiven(const std::vector<std::string>& words, const std::string& option);

// Returns the words without an option that takes a value, and without its values.
std::vector<std::string> WithoutOption(const std::vector<std::string>& words,
                                       const std::string& option);

// Returns the command that repeats the runs of a results document, as lines for a shell: the
// command line as it was given or, for a cell of an experiment on a database that it shared, one
// that loads and one that reads. Throws Error (kUsage) when the document tells no command.
std::string RepeatCommand(const nlohmann::json& document);

// Returns the options that a run on the database of a directory needs and `words` do not give, from
// the record of the database (`record`, database_files.h): the engine, page size, rows, sizes of
// keys and values, the seed, the engine's own options and so on. A setting that the record lacks,
// or has with a wrong type, is left out.
std::vector<std::string> WordsOfRecord(const nlohmann::json& record,
                                       const std::vector<std::string>& words);

}  // namespace testbed

#endif  // TESTBED_TOOLS_COMMAND_COMMAND_WORDS_H_
