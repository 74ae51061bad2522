#include "tools/doctor_command.h"

#include <fmt/format.h>

#include "device/doctor.h"

namespace testbed {

std::string DoctorText(const std::string& directory) {
  std::string text;
  for (const Check& check : Doctor(directory)) {
    text += fmt::format("{:<8} {}: {}\n", CheckStateName(check.state), check.name, check.found);
    if (check.state == Check::State::kOk) continue;
    if (!check.means.empty()) text += fmt::format("         it means: {}\n", check.means);
    if (!check.change.empty()) text += fmt::format("         to change it: {}\n", check.change);
  }
  return text;
}

}  // namespace testbed
