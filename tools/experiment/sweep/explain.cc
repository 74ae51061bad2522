#include "tools/experiment/sweep/explain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>

#include "tools/experiment/sweep/forecast.h"
#include "tools/output/table.h"

namespace testbed {
namespace {

// Returns the options that all running cells have in common.
OptionMap CommonOptions(const std::vector<Cell>& cells) {
  std::optional<OptionMap> common;
  for (const Cell& cell : cells) {
    if (!cell.runs()) continue;
    if (!common) common = cell.options;
    std::erase_if(*common, [&](const auto& option) {
      const auto found = cell.options.find(option.first);
      return found == cell.options.end() || found->second != option.second;
    });
  }
  return common.value_or(OptionMap());
}

}  // namespace

std::string ExperimentsText() {
  Table table("Experiments", {"name", "title", "findings"}, Table::kWords);
  for (const auto& [name, unused] : ShippedExperiments()) {
    const Experiment e = LoadExperiment(name);  // its text may name engines that this build lacks
    std::vector<std::string> ids;
    for (const Finding& finding : e.findings) ids.push_back(finding.id);
    table.Row({name, e.title, fmt::format("{}", fmt::join(ids, " "))});
  }
  return table.Text();
}

std::string ShowText(const Experiment& e) {
  std::string text = fmt::format("{}: {}\n\n{}\n", e.name, e.title, e.about);
  if (!e.source.empty()) text += fmt::format("Source: {}\n", e.source);
  Table axes("Axes, the last varying fastest", {"name", "values"}, Table::kWords);
  for (const Axis& axis : e.axes) {
    std::vector<std::string> labels;
    for (const AxisValue& value : axis.values) {
      labels.push_back(value.label + (value.asked ? " (with --only)" : ""));
    }
    axes.Row({axis.name, fmt::format("{}", fmt::join(labels, ", "))});
  }
  Table scales("Scales", {"name", "options"}, Table::kWords);
  for (const auto& [name, scale] : e.scales) {
    std::vector<std::string> options;
    for (const auto& [option, value] : scale.options) options.push_back(option + "=" + value);
    scales.Row({name, fmt::format("{}", fmt::join(options, " "))});
  }
  Table metrics("Metrics", {"name", "unit", "expression over the figures of a run"}, Table::kWords);
  for (const ExperimentMetric& m : e.metrics) metrics.Row({m.name, m.unit, m.expression});
  text += axes.Text() + scales.Text() + metrics.Text() + "\nFindings\n";
  for (const Finding& f : e.findings) text += fmt::format("{:<4} {}\n", f.id, f.claim);
  for (const Again& again : e.again) {
    text += fmt::format("Judged again, as {}.{}, with the cells that --only names: on {}\n",
                        fmt::join(again.findings, ", "), again.name, again.on);
  }
  return SeveralLines(text);
}

std::string PlanText(const std::vector<Cell>& all) {
  std::vector<Cell> cells = all;
  const int rounds = cells.back().round;
  std::erase_if(cells, [](const Cell& cell) { return cell.round != 1; });
  const OptionMap common = CommonOptions(cells);
  Table shared("Options of every cell", {"option", "value"}, Table::kWords);
  for (const auto& [name, value] : common) shared.Row({name, value});
  Table table("Cells, in the order in which they run",
              {"cell", "database", "its other options, or why it does not run"}, Table::kWords);
  for (const Cell& cell : cells) {
    std::vector<std::string> options;
    for (const auto& [name, value] : cell.options) {
      if (!common.contains(name)) options.push_back(name + "=" + value);
    }
    table.Row({cell.name, cell.runs() ? DatabaseText(cell) : "-",
               !cell.waits_for.empty() ? "waits for engine " + cell.waits_for
               : !cell.skipped.empty() ? cell.skipped
                                       : fmt::format("{}", fmt::join(options, " "))});
  }
  std::string text = shared.Text() + table.Text() +
                     ForecastText(ForecastOf(all, [](const Cell&) { return false; }), "to run it");
  if (rounds > 1) {
    text += fmt::format(
        "\nAll of it in {} rounds, each on databases of its own and with another seed.\n", rounds);
  }
  return text;
}

}  // namespace testbed
