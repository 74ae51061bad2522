#include "engines/innodb/process_state.h"

#include <sstream>

namespace testbed::innodb {

std::string FirstComplaint(const std::string& text) {
  std::istringstream lines(text);
  std::string line, first;
  while (std::getline(lines, line)) {
    const size_t at = line.find("[ERROR]");
    const size_t got = line.find("Got ERROR: \"");
    if (at == std::string::npos && got == std::string::npos) continue;
    std::string said = at != std::string::npos ? line.substr(at + 8) : line.substr(got + 12);
    if (const size_t end = said.find("\" errno:"); end != std::string::npos) said.resize(end);
    if (said.starts_with("InnoDB: ")) return said.substr(8);
    if (first.empty()) first = said;
  }
  return first.empty() ? "it did not say why" : first;
}

}  // namespace testbed::innodb
