// Parsers for the values of options. Each parser returns the value that `text` stands for, or
// throws Error (kUsage) with a sentence that names the option, the text, and the accepted values.
#ifndef TESTBED_TOOLS_OPTION_VALUES_H_
#define TESTBED_TOOLS_OPTION_VALUES_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace testbed {

struct DatasetOptions;

// Throws the Error (kUsage) which says that `option` does not take `text`, but `accepted`.
[[noreturn]] void RefuseValue(const std::string& option, const std::string& text,
                              const std::string& accepted);
// Throws the Error (kUsage) which says that `option` takes one of `names`, with a guess at the one
// that `text` was meant to be.
[[noreturn]] void RefuseName(const std::string& option, const std::string& text,
                             const std::vector<std::string>& names);

// Parses a whole number from `least` to `most`. The suffixes k, M and G are decimal: 10k is 10,000.
// `of` is the unit, in the plural, where the sentence is to have one ("milliseconds").
uint64_t ParseCount(const std::string& option, const std::string& text, uint64_t least,
                    uint64_t most, const std::string& of = "");

// Parses whole numbers from `least` to `most` that commas separate. Each may be there once, since
// runs are told apart by their number.
std::vector<int> ParseCounts(const std::string& option, const std::string& text, int least,
                             int most);

// Parses a number from `least` to `most`, of a unit as ParseCount does.
double ParseReal(const std::string& option, const std::string& text, double least, double most,
                 const std::string& of = "");

// Parses a size in bytes from `least` to `most`. The suffixes k, M, G and T are binary: 8k is 8192.
uint64_t ParseSize(const std::string& option, const std::string& text, uint64_t least,
                   uint64_t most);

// Sets the sizes of the values of a data set: SIZE; FIELDSxSIZE for 2 to 1000 fields of SIZE bytes
// each; LEAST-MOST for a random size of each row; or "column" for those of the file of keys.
void SetValueSize(const std::string& option, const std::string& text, DatasetOptions* data);

// Parses OPERATION=SHARE pairs that commas separate. Each operation may be there once.
std::map<std::string, double> ParseShares(const std::string& option, const std::string& text);

// Returns `bytes` in the largest binary unit that it fills: "8k", "256M", "1.5G".
std::string ShortSize(uint64_t bytes);

// Returns the parts of `text` between the separators `at`; a text without one is a single part.
std::vector<std::string> Split(const std::string& text, char at);

// Sets the value of the setting `name` of a repeatable option, "" before its first use, to what one
// use has given. That replaces an earlier value, except for the names server_option and options:
// their values are lists of settings, so AddSetting joins them with ";".
void AddSetting(const std::string& name, const std::string& given, std::string* value);

// Adds the NAME=VALUE pairs of a repeatable option to `values`, each by AddSetting.
void ParseSettings(const std::string& option, const std::vector<std::string>& settings,
                   std::map<std::string, std::string>* values);

// Returns the value that `names` pairs with `text`.
template <typename T>
T ParseName(const std::string& option, const std::string& text,
            const std::vector<std::pair<std::string, T>>& names) {
  std::vector<std::string> accepted;
  for (const auto& [name, value] : names) {
    if (name == text) return value;
    accepted.push_back(name);
  }
  RefuseName(option, text, accepted);
}
// Returns the value, out of `values`, that `name_of` names `text`. So an option accepts the names
// that reports and settings have.
template <typename T>
T ParseName(const std::string& option, const std::string& text, const std::vector<T>& values,
            const char* (*name_of)(T)) {
  std::vector<std::pair<std::string, T>> names;
  for (const T value : values) names.emplace_back(name_of(value), value);
  return ParseName(option, text, names);
}

}  // namespace testbed

#endif  // TESTBED_TOOLS_OPTION_VALUES_H_
