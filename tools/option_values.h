// The values that options take, read from text: each function returns the value, or throws Error
// (kUsage) with a sentence that names the option, what was given, and what is accepted.
#ifndef TESTBED_TOOLS_OPTION_VALUES_H_
#define TESTBED_TOOLS_OPTION_VALUES_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace testbed {

[[noreturn]] void RefuseValue(const std::string& option, const std::string& text,
                              const std::string& accepted);

// A whole number from `least` to `most`; k, M and G after it are decimal: 10k is 10,000.
uint64_t ParseCount(const std::string& option, const std::string& text, uint64_t least,
                    uint64_t most);
double ParseReal(const std::string& option, const std::string& text, double least, double most);
// Bytes; k, M, G and T after it are binary: 8k is 8192.
uint64_t ParseSize(const std::string& option, const std::string& text, uint64_t least,
                   uint64_t most);
std::string ShortSize(uint64_t bytes);  // "8k", "256M", "1.5G"
std::vector<std::string> Split(const std::string& text, char at);

// Adds NAME=VALUE pairs of an option that may be given again to `values`. A later value of a name
// replaces an earlier one; those of server_option and options, which are lists themselves, are
// joined by ";".
void ParseSettings(const std::string& option, const std::vector<std::string>& settings,
                   std::map<std::string, std::string>* values);

// The value of the name that `text` is.
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
