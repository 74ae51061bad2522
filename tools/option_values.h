// Parses the values of options. Each Parse function returns the value, or throws Error (kUsage)
// with a sentence that names the option, the text given, and what the option accepts.
#ifndef TESTBED_TOOLS_OPTION_VALUES_H_
#define TESTBED_TOOLS_OPTION_VALUES_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace testbed {

// Throws that error; `accepted` is the last part of its sentence.
[[noreturn]] void RefuseValue(const std::string& option, const std::string& text,
                              const std::string& accepted);

// Parses a whole number from `least` to `most`. A suffix k, M or G is decimal: 10k is 10,000.
uint64_t ParseCount(const std::string& option, const std::string& text, uint64_t least,
                    uint64_t most);
double ParseReal(const std::string& option, const std::string& text, double least, double most);
// Parses a size in bytes. A suffix k, M, G or T is binary: 8k is 8192.
uint64_t ParseSize(const std::string& option, const std::string& text, uint64_t least,
                   uint64_t most);
// Returns a size as a short text, such as "8k", "256M" or "1.5G".
std::string ShortSize(uint64_t bytes);
std::vector<std::string> Split(const std::string& text, char at);

// Adds the NAME=VALUE pairs of a repeatable option to *values. A later value replaces an earlier
// value of the same name, except that the values of server_option and of options, which are lists
// themselves, are joined by ";".
void ParseSettings(const std::string& option, const std::vector<std::string>& settings,
                   std::map<std::string, std::string>* values);

// Returns the value that belongs to the name `text`.
template <typename T>
T ParseName(const std::string& option, const std::string& text,
            const std::vector<std::pair<std::string, T>>& names) {
  std::string accepted;
  for (const auto& [name, value] : names) {
    if (name == text) return value;
    accepted += (accepted.empty() ? "" : ", ") + name;
  }
  RefuseValue(option, text, accepted);
}

}  // namespace testbed

#endif  // TESTBED_TOOLS_OPTION_VALUES_H_
