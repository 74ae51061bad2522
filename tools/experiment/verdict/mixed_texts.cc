#include "tools/experiment/verdict/mixed_texts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "tools/output/table.h"

namespace testbed {
namespace {

// Returns the settings that have several values, with these; empty when there is none.
std::string SeveralValues(const std::map<std::string, std::set<std::string>>& settings) {
  std::vector<std::string> parts;
  for (const auto& [name, values] : settings) {
    if (values.size() > 1) parts.push_back(fmt::format("{} ({})", name, fmt::join(values, ", ")));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace

std::vector<std::string> MixedTexts(const ResultSet& results) {
  const Circumstances& at = results.circumstances();
  const std::vector<Cell>& cells = results.cells();
  std::vector<std::string> texts;
  const auto add = [&](const std::string& what, const std::set<std::string>& names) {
    if (names.size() < 2) return;
    texts.push_back(fmt::format("the runs are of {} {}, whose differences are in the figures: {}",
                                names.size(), what, fmt::join(names, "; ")));
  };
  add("machines", at.machines);
  add("builds of testbed", at.builds);
  for (const auto& [of, names] : at.versions_of) add("versions of " + of.second, names);
  // Adds the sentence of the first cell that has one, and the number of the other cells.
  const auto add_first = [&](const std::function<std::string(size_t)>& sentence) {
    size_t unlike = 0;
    std::string first;
    for (size_t cell = 0; cell < cells.size(); ++cell) {
      std::string text = sentence(cell);
      if (text.empty() || ++unlike > 1) continue;
      first = std::move(text);
    }
    if (unlike == 0) return;
    if (unlike > 1) first += "; so had those of " + Counted(unlike - 1, "more cell");
    texts.push_back(std::move(first));
  };
  for (const char* option : {"ram", "rows"}) {
    add_first([&](size_t cell) {
      const std::set<uint64_t> values = results.OptionValues(cell, option);
      if (values.size() < 2) return std::string();
      return fmt::format("the rounds of {} had different --{}: {}", cells[cell].name, option,
                         fmt::join(values, ", "));
    });
  }
  // A host with results of its own has passed no check of its kind (cluster/host_check.h).
  add_first([&](size_t cell) {
    std::string settings = SeveralValues(results.queues(cell));
    if (settings.empty()) return settings;
    return fmt::format("the rounds of {} had devices that differ in {}", cells[cell].name,
                       settings);
  });
  const std::set<std::string>& checked = at.with_assertions;
  if (!checked.empty() && checked.size() < at.engines.size()) {
    texts.push_back(fmt::format(
        "the library of {} has assertions, which cost it time beside the other engines; releases "
        "have none (docs/engine-versions.md)",
        fmt::join(checked, ", ")));
  }
  return texts;
}

}  // namespace testbed
