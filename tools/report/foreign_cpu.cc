#include "tools/report/foreign_cpu.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace testbed {
namespace {

using nlohmann::json;

// Returns the phase's share; nothing for a phase whose rate is not reported (a warm-up, a settle),
// for a phase that was too short to tell, and for documents of older versions.
std::optional<double> Share(const json& phase) {
  const std::string kind = phase.value("kind", "");
  const auto share = phase.find("foreign_cpu_share");
  if ((kind != "load" && kind != "measure") || share == phase.end() || !share->is_number()) {
    return std::nullopt;
  }
  return share->get<double>();
}

// Returns a list of the document in place, without a copy; an empty list when it has none.
const json& ListOf(const json& document, const char* name) {
  static const json none = json::array();
  const auto found = document.find(name);
  return found == document.end() ? none : *found;
}

}  // namespace

std::optional<double> MostForeignCpu(const json& run) {
  std::optional<double> most;
  for (const json& phase : ListOf(run, "phases")) {
    if (const auto share = Share(phase)) most = std::max(most.value_or(0), *share);
  }
  return most;
}

std::string ForeignCpuLine(const json& document) {
  double most = 0;
  std::vector<std::string> names;  // distinct names, in the order of the phases
  for (const json& run : ListOf(document, "runs")) {
    for (const json& phase : ListOf(run, "phases")) {
      const double share = Share(phase).value_or(0);
      if (share < kNotableForeignCpu) continue;
      most = std::max(most, share);
      const std::string name = phase.value("name", "");
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  if (names.empty()) return "";
  return fmt::format(
      "! other programs used up to {:.0f} % of the processors during {}: rates and times are not "
      "the engine's alone\n",
      most * 100, fmt::join(names, ", "));
}

}  // namespace testbed
