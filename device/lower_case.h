// LowerCase returns text with its ASCII letters in lower case, for what people may write in either
// case: units, the names of options, hosts and columns. Other bytes stay as they are, in every
// locale.
//
//   const bool on = LowerCase(text) == "on";
#ifndef TESTBED_DEVICE_LOWER_CASE_H_
#define TESTBED_DEVICE_LOWER_CASE_H_

#include <string>
#include <string_view>

namespace testbed {

constexpr char LowerCase(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

inline std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = LowerCase(c);
  return lower;
}

}  // namespace testbed

#endif  // TESTBED_DEVICE_LOWER_CASE_H_
