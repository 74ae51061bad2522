#include "tools/output/report_style.h"

#include <algorithm>

namespace testbed {

std::string Fenced(const std::string& text) {
  size_t longest = 2, run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  return fence + "\n" + text + fence + "\n";
}

}  // namespace testbed
