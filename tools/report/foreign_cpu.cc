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

// Returns whether the rate of the phase is reported. That of a warm-up or a settle is not.
bool IsReported(const json& phase) {
  const std::string kind = phase.value("kind", "");
  return kind == "load" || kind == "measure";
}

// Returns the share in `field` of the phase, and the largest share of the hosts where the phase is
// of several tasks. Returns nothing for a phase that is not reported, for one that was too short,
// and for documents of older versions.
std::optional<double> Share(const json& phase, const char* field) {
  if (!IsReported(phase)) return std::nullopt;
  std::optional<double> most = ShareIn(phase, field);
  for (const json& task : ListOf(phase, "tasks")) {
    if (const auto share = ShareIn(task, field)) most = std::max(most.value_or(0), *share);
  }
  return most;
}

// Returns the share of the threads' time in which they prepared operations; nothing for a phase
// that is not reported, and for documents of older versions.
std::optional<double> PreparingShare(const json& phase) {
  const std::optional<double> preparing = ShareIn(phase, "preparing_seconds");
  double seconds = 0;
  for (const json& of_thread : ListOf(phase, "thread_seconds")) {
    seconds += of_thread.is_number() ? of_thread.get<double>() : 0;
  }
  if (!IsReported(phase) || !preparing || !(seconds > 0)) return std::nullopt;
  return *preparing / seconds;
}

// The phases in which a share is notable, and the largest share.
struct Notable {
  double most = 0;
  std::vector<std::string> names;  // distinct names, in the order of the phases
};

// Finds the phases whose share, which `share_of` returns, is `least` or more.
template <typename ShareOf>
Notable FindNotable(const json& document, double least, const ShareOf& share_of) {
  Notable found;
  for (const json& run : ListOf(document, "runs")) {
    for (const json& phase : ListOf(run, "phases")) {
      const double share = share_of(phase).value_or(0);
      if (share < least) continue;
      found.most = std::max(found.most, share);
      const std::string name = OneLine(phase.value("name", ""));
      std::vector<std::string>& names = found.names;
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return found;
}

// Returns a line with the largest share and the names of the phases in which it is notable. `says`
// is a format string with one field, the share in percent.
std::string NotableLine(const json& document, const char* field, const char* says) {
  const Notable found = FindNotable(document, kNotableForeignCpu,
                                    [field](const json& phase) { return Share(phase, field); });
  if (found.names.empty()) return "";
  return fmt::format("! {} during {}: rates and times are not the engine's alone\n",
                     fmt::format(fmt::runtime(says), found.most * 100),
                     fmt::join(found.names, ", "));
}

}  // namespace

std::optional<double> MostForeignCpu(const json& run) {
  std::optional<double> most;
  for (const json& phase : ListOf(run, "phases")) {
    if (const auto share = Share(phase, kForeign)) most = std::max(most.value_or(0), *share);
  }
  return most;
}

bool OfGivenServer(const json& document) {
  return document.contains("/options/engine_options/connect"_json_pointer);
}

std::string OtherPrograms(bool given_server) {
  return given_server ? "other programs, the server of --connect included where it is on this host,"
                      : "other programs";
}

std::string ForeignCpuLine(const json& document) {
  const std::string says = OtherPrograms(OfGivenServer(document)) +
                           " used up to {:.0f} % of the processors in user mode";
  return NotableLine(document, kForeign, says.c_str());
}

std::string StealLine(const json& document) {
  return NotableLine(document, "steal_share",
                     "the hypervisor gave up to {:.0f} % of the processors to other machines");
}

std::string PreparingLine(const json& document) {
  const Notable found = FindNotable(document, kNotablePreparing, PreparingShare);
  if (found.names.empty()) return "";
  return fmt::format(
      "! the harness itself took up to {:.0f} % of the clients' time during {}, to choose rows and "
      "make keys and values: ops/s is not the engine's alone\n",
      found.most * 100, fmt::join(found.names, ", "));
}

}  // namespace testbed
