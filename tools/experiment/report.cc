#include "tools/experiment/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tools/experiment/verdict.h"
#include "tools/statistics.h"
#include "tools/table.h"

namespace testbed {
namespace {

// Mean, with half the width of its 95 % interval where there are repeats.
std::string CellText(const std::vector<double>& values) {
  if (values.empty()) return "";
  if (std::any_of(values.begin(), values.end(), [](double v) { return !std::isfinite(v); })) {
    return "-";
  }
  const Estimate e = EstimateMean(values);
  return e.n < 2 ? Short(e.mean) : fmt::format("{} ±{}", Short(e.mean), Short(e.half_width));
}

std::string MetricTitle(const Experiment& e, const std::string& name) {
  const Metric* metric = e.FindMetric(name);
  return metric->unit.empty() ? name : fmt::format("{} ({})", name, metric->unit);
}

std::vector<std::string> LabelsOf(const Experiment& e, const std::string& axis) {
  std::vector<std::string> labels;
  for (const AxisValue& value : e.FindAxis(axis)->values) labels.push_back(value.label);
  return labels;
}

// Rows in the order of the axes, columns for each value of the column axis and each metric.
Table MakeTable(const ResultSet& results, const TableSpec& spec) {
  const Experiment& e = results.experiment();
  std::vector<std::string> spread = {""};
  if (!spec.columns.empty()) {
    spread.clear();
    for (const std::string& label : LabelsOf(e, spec.columns)) {
      for (size_t i = 0; i < results.cells().size(); ++i) {
        if (!results.finished(i) || !Matches(results.cells()[i].labels, spec.where) ||
            results.cells()[i].labels.at(spec.columns) != label) {
          continue;
        }
        spread.push_back(label);
        break;
      }
    }
  }
  std::vector<std::string> columns = {fmt::format("{}", fmt::join(spec.rows, " "))};
  for (const std::string& label : spread) {
    for (const std::string& metric : spec.metrics) {
      const std::string title = MetricTitle(e, metric);
      const std::string value = spec.columns + "=" + label;
      columns.push_back(spec.columns.empty()       ? title
                        : spec.metrics.size() == 1 ? value
                                                   : value + " " + title);
    }
  }
  std::string title = spec.title;
  if (!spec.columns.empty() && spec.metrics.size() == 1) {
    title += ": " + MetricTitle(e, spec.metrics[0]);
  }
  Table table(title, columns);
  std::vector<std::string> row_names;
  std::map<std::string, std::map<std::string, std::vector<std::vector<double>>>> found;
  for (size_t i = 0; i < results.cells().size(); ++i) {
    const Cell& cell = results.cells()[i];
    if (!results.finished(i) || !Matches(cell.labels, spec.where)) continue;
    std::vector<std::string> labels;
    for (const std::string& axis : spec.rows) labels.push_back(cell.labels.at(axis));
    const std::string row = fmt::format("{}", fmt::join(labels, " "));
    if (!found.contains(row)) row_names.push_back(row);
    auto& at = found[row][spec.columns.empty() ? "" : cell.labels.at(spec.columns)];
    at.resize(spec.metrics.size());
    for (size_t m = 0; m < spec.metrics.size(); ++m) {
      const std::vector<double> values = results.Values(i, *e.FindMetric(spec.metrics[m]));
      at[m].insert(at[m].end(), values.begin(), values.end());
    }
  }
  for (const std::string& row : row_names) {
    std::vector<std::string> cells = {row};
    for (const std::string& label : spread) {
      const auto at = found[row].find(label);
      for (size_t m = 0; m < spec.metrics.size(); ++m) {
        cells.push_back(at == found[row].end() ? "" : CellText(at->second[m]));
      }
    }
    table.Row(std::move(cells));
  }
  return table;
}

Table PublishedTable(const TableSpec& spec) {
  Table table("published", spec.published_columns);
  for (const std::vector<std::string>& row : spec.published) table.Row(row);
  return table;
}

std::string NotRunText(const ResultSet& results) {
  std::map<std::string, int> reasons;
  size_t open = 0;
  for (size_t i = 0; i < results.cells().size(); ++i) {
    const Cell& cell = results.cells()[i];
    if (!cell.waits_for.empty()) ++reasons["engine " + cell.waits_for + " is not in this build"];
    if (!cell.skipped.empty()) ++reasons[cell.skipped];
    open += cell.runs() && !results.finished(i);
  }
  std::string text;
  if (open != 0) text += fmt::format("not run yet: {} cells\n", open);
  for (const auto& [reason, n] : reasons) text += fmt::format("not run: {} cells: {}\n", n, reason);
  for (const std::string& failure : results.failures()) text += "failed: " + failure + "\n";
  return text;
}

}  // namespace

std::string TablesText(const ResultSet& results) {
  std::string text;
  for (const TableSpec& spec : results.experiment().tables) {
    const Table table = MakeTable(results, spec);
    if (table.empty()) continue;
    text += table.Text();
    if (!spec.published.empty()) text += PublishedTable(spec).Text();
    if (!spec.note.empty()) text += spec.note + "\n";
  }
  return text;
}

std::string TablesCsv(const ResultSet& results) {
  std::string text;
  for (const TableSpec& spec : results.experiment().tables) {
    const Table table = MakeTable(results, spec);
    if (!table.empty()) text += table.Csv();
  }
  return text;
}

std::string FindingsText(const ResultSet& results) {
  std::string text;
  for (const Verdict& v : CheckFindings(results)) {
    text += fmt::format("{:<4} {}: {}\n", v.id, VerdictText(v), v.claim);
    if (!v.systems.empty()) text += fmt::format("     systems: {}\n", v.systems);
    if (!v.because.empty()) text += fmt::format("     {}\n", v.because);
    for (const PartVerdict& part : v.parts) {
      text += fmt::format("     - {}: {}\n", part.says, OutcomeText(part));
      if (!part.stand_in.empty()) {
        text += fmt::format("         of {}, which stands in and is not counted\n", part.stand_in);
      }
      if (!part.published.empty()) text += fmt::format("         published: {}\n", part.published);
      if (!part.ours.empty()) text += fmt::format("         ours: {}\n", part.ours);
      if (!part.false_if.empty()) text += fmt::format("         false if {}\n", part.false_if);
    }
    for (const std::string& mechanism : v.mechanisms) text += fmt::format("     {}\n", mechanism);
  }
  return text.empty() ? text : "\nFindings\n" + text;
}

nlohmann::json FindingsJson(const ResultSet& results) {
  nlohmann::json all = nlohmann::json::array();
  for (const Verdict& v : CheckFindings(results)) {
    nlohmann::json parts = nlohmann::json::array();
    for (const PartVerdict& part : v.parts) {
      parts.push_back({{"says", part.says},
                       {"published", part.published},
                       {"ours", part.ours},
                       {"false_if", part.false_if},
                       {"stand_in", part.stand_in},
                       {"outcome", OutcomeName(part.outcome)},
                       {"because", part.because}});
    }
    all.push_back({{"experiment", results.experiment().name},
                   {"id", v.id},
                   {"claim", v.claim},
                   {"systems", v.systems},
                   {"verdict", VerdictText(v)},
                   {"because", v.because},
                   {"parts", parts},
                   {"mechanisms", v.mechanisms}});
  }
  return all;
}

std::string ExperimentText(const ResultSet& results) {
  const Experiment& e = results.experiment();
  std::string grades;
  for (const auto& [grade, n] : results.Grades()) {
    grades += fmt::format("{}{} runs of grade {}", grades.empty() ? "" : ", ", n, grade);
  }
  return fmt::format("{}: {}\nscale {}, {} of {} cells{}\n", e.name, e.title, results.scale(),
                     results.finished_cells(),
                     std::count_if(results.cells().begin(), results.cells().end(),
                                   [](const Cell& c) { return c.runs(); }),
                     grades.empty() ? "" : "; " + grades) +
         TablesText(results) + FindingsText(results) + "\n" + NotRunText(results);
}

}  // namespace testbed
