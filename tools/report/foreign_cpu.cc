#include "tools/report/foreign_cpu.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "tools/output/table.h"

namespace testbed {
namespace {

using nlohmann::json;

constexpr char kForeign[] = "foreign_cpu_share";

std::optional<double> ShareIn(const json& of, const char* field) {
  const auto share = of.find(field);
  if (share == of.end() || !share->is_number()) return std::nullopt;
  return share->get<double>();
}

// Returns a list of the document in place, without a copy; an empty list when it has none.
const json& ListOf(const json& document, const char* name) {
  static const json none = json::array();
  const auto found = document.find(name);
  return found == document.end() ? none : *found;
}

// Returns the share in `field` of the phase, and the largest share of the hosts where the phase is
// of several tasks. Returns nothing for a phase whose rate is not reported (a warm-up, a settle),
// for a phase that was too short, and for documents of older versions.
std::optional<double> Share(const json& phase, const char* field) {
  const std::string kind = phase.value("kind", "");
  if (kind != "load" && kind != "measure") return std::nullopt;
  std::optional<double> most = ShareIn(phase, field);
  for (const json& task : ListOf(phase, "tasks")) {
    if (const auto share = ShareIn(task, field)) most = std::max(most.value_or(0), *share);
  }
  return most;
}

// Returns a line with the largest share and the names of the phases in which it is notable. `says`
// is a format string with one field, the share in percent.
std::string NotableLine(const json& document, const char* field, const char* says) {
  double most = 0;
  std::vector<std::string> names;  // distinct names, in the order of the phases
  for (const json& run : ListOf(document, "runs")) {
    for (const json& phase : ListOf(run, "phases")) {
      const double share = Share(phase, field).value_or(0);
      if (share < kNotableForeignCpu) continue;
      most = std::max(most, share);
      const std::string name = OneLine(phase.value("name", ""));
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  if (names.empty()) return "";
  return fmt::format("! {} during {}: rates and times are not the engine's alone\n",
                     fmt::format(fmt::runtime(says), most * 100), fmt::join(names, ", "));
}

}  // namespace

std::optional<double> MostForeignCpu(const json& run) {
  std::optional<double> most;
  for (const json& phase : ListOf(run, "phases")) {
    if (const auto share = Share(phase, kForeign)) most = std::max(most.value_or(0), *share);
  }
  return most;
}

std::string ForeignCpuLine(const json& document) {
  return NotableLine(document, kForeign,
                     "other programs used up to {:.0f} % of the processors in user mode");
}

std::string StealLine(const json& document) {
  return NotableLine(document, "steal_share",
                     "the hypervisor gave up to {:.0f} % of the processors to other machines");
}

}  // namespace testbed
