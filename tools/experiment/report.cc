#include "tools/experiment/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "engines/registry.h"
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

class Checker {
 public:
  explicit Checker(const ResultSet& results) : results_(results) {}

  Verdict Check(const Finding& finding) const {
    Verdict verdict{finding.id, finding.claim, Verdict::kIncomplete, "", "", {}};
    std::vector<std::string> waits;
    for (const std::string& engine : finding.waits_for) {
      const auto& engines = Engines();
      if (std::none_of(engines.begin(), engines.end(),
                       [&](const EngineInfo& info) { return info.name == engine; })) {
        waits.push_back(engine);
      }
    }
    verdict.figures = Fill(finding.figures);
    if (!finding.untestable.empty()) {
      verdict.kind = Verdict::kUntestable;
      verdict.because = finding.untestable;
      return verdict;
    }
    if (!waits.empty()) {
      verdict.kind = Verdict::kWaits;
      verdict.because = fmt::format("engine {}", fmt::join(waits, ", "));
      return verdict;
    }
    const Evaluation reproduced = Evaluate(finding.reproduced);
    if (!reproduced.known) {
      verdict.because = "no finished cell has " + reproduced.missing;
      return verdict;
    }
    if (reproduced.value != 0) {
      verdict.kind = Verdict::kReproduced;
      return verdict;
    }
    verdict.kind = Verdict::kNotReproduced;
    if (!finding.opposite.empty()) {
      const Evaluation opposite = Evaluate(finding.opposite);
      if (opposite.known && opposite.value != 0) verdict.kind = Verdict::kOpposite;
    }
    for (const Mechanism& mechanism : finding.mechanisms) {
      const Evaluation when = Evaluate(mechanism.when);
      if (when.known && when.value != 0) verdict.mechanisms.push_back(Fill(mechanism.says));
    }
    return verdict;
  }

 private:
  Evaluation Evaluate(const std::string& expression) const {
    return EvaluateSelection(
        expression,
        [this](const std::string& name) {
          return results_.experiment().FindMetric(name) != nullptr;
        },
        [this](const std::string& metric, const Where& where) {
          return results_.Select(metric, where);
        });
  }

  // Each {expression} becomes its value.
  std::string Fill(const std::string& text) const {
    std::string filled;
    size_t at = 0;
    for (size_t open; (open = text.find('{', at)) != std::string::npos;) {
      const size_t close = text.find('}', open);
      if (close == std::string::npos) break;
      filled += text.substr(at, open - at);
      const Evaluation value = Evaluate(text.substr(open + 1, close - open - 1));
      filled += value.known ? Short(value.value) : "?";
      at = close + 1;
    }
    return filled + text.substr(at);
  }

  const ResultSet& results_;
};

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

const char* VerdictName(Verdict::Kind kind) {
  static constexpr const char* kNames[] = {"reproduced",          "not reproduced",
                                           "opposite today",      "not testable here",
                                           "waits for an engine", "not measured yet"};
  return kNames[kind];
}

std::vector<Verdict> CheckFindings(const ResultSet& results) {
  std::vector<Verdict> verdicts;
  const Checker checker(results);
  for (const Finding& finding : results.experiment().findings) {
    verdicts.push_back(checker.Check(finding));
  }
  return verdicts;
}

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
    text += fmt::format("{:<4} {}: {}\n", v.id, VerdictName(v.kind), v.claim);
    if (!v.because.empty()) text += fmt::format("       {}\n", v.because);
    if (!v.figures.empty()) text += fmt::format("       measured: {}\n", v.figures);
    for (const std::string& mechanism : v.mechanisms) text += fmt::format("       {}\n", mechanism);
  }
  return text.empty() ? text : "\nFindings\n" + text;
}

nlohmann::json FindingsJson(const ResultSet& results) {
  nlohmann::json all = nlohmann::json::array();
  for (const Verdict& v : CheckFindings(results)) {
    all.push_back({{"experiment", results.experiment().name},
                   {"id", v.id},
                   {"claim", v.claim},
                   {"verdict", VerdictName(v.kind)},
                   {"because", v.because},
                   {"figures", v.figures},
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
