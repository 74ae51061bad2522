#include "tools/experiment/grid.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace testbed {
namespace {

// Returns the metric's name with its unit. A table of ratios has no units.
std::string MetricTitle(const Experiment& e, const TableSpec& spec, const std::string& name) {
  const ExperimentMetric* metric = e.FindMetric(name);
  return metric->unit.empty() || !spec.relative_axis.empty()
             ? name
             : fmt::format("{} ({})", name, metric->unit);
}

bool Shows(const ResultSet& results, size_t cell, const TableSpec& spec) {
  return results.measured(cell) && Matches(results.cells()[cell].labels, spec.where);
}

// Returns the labels of the column axis that have a cell; a single empty label when the table has
// no column axis.
std::vector<std::string> ColumnLabels(const ResultSet& results, const TableSpec& spec) {
  if (spec.columns.empty()) return {""};
  std::vector<std::string> labels;
  for (const AxisValue& value : results.experiment().FindAxis(spec.columns)->values) {
    for (size_t i = 0; i < results.cells().size(); ++i) {
      if (!Shows(results, i, spec)) continue;
      if (results.cells()[i].labels.at(spec.columns) != value.label) continue;
      labels.push_back(value.label);
      break;
    }
  }
  return labels;
}

void NameColumns(const ResultSet& results, const TableSpec& spec,
                 const std::vector<std::string>& labels, Grid* grid) {
  const Experiment& e = results.experiment();
  grid->title = spec.title;
  if (!spec.columns.empty() && spec.metrics.size() == 1) {
    grid->title += ": " + MetricTitle(e, spec, spec.metrics[0]);
  }
  if (spec.relative_label == kPrevious) {
    grid->title += fmt::format(", relative to the {} before", spec.relative_axis);
  } else if (!spec.relative_axis.empty()) {
    grid->title += fmt::format(", relative to {}={}", spec.relative_axis, spec.relative_label);
  }
  grid->columns = {fmt::format("{}", fmt::join(spec.rows, " "))};
  for (const std::string& label : labels) {
    for (const std::string& metric : spec.metrics) {
      const std::string title = MetricTitle(e, spec, metric);
      const std::string value = spec.columns + "=" + label;
      grid->columns.push_back(spec.columns.empty()       ? title
                              : spec.metrics.size() == 1 ? value
                                                         : value + " " + title);
    }
  }
}

// Returns the measured cell whose labels are those of `cell` but for the axis; nothing when there
// is none.
std::optional<size_t> Sibling(const ResultSet& results, size_t cell, const std::string& axis,
                              const std::string& label) {
  std::map<std::string, std::string> labels = results.cells()[cell].labels;
  labels[axis] = label;
  for (size_t i = 0; i < results.cells().size(); ++i) {
    if (results.measured(i) && results.cells()[i].labels == labels) return i;
  }
  return std::nullopt;
}

// Returns the cell that the figures of `cell` are set in relation to; nothing when it was not
// measured. For kPrevious the reference has the preceding value among the axis values that the
// table names. The value may be one that was not measured: then there is no ratio, instead of one
// that spans two steps.
std::optional<size_t> ReferenceOf(const ResultSet& results, size_t cell, const TableSpec& spec) {
  const std::string& axis = spec.relative_axis;
  if (spec.relative_label != kPrevious) return Sibling(results, cell, axis, spec.relative_label);
  const auto where = spec.where.find(axis);
  const std::string* before = nullptr;
  for (const AxisValue& value : results.experiment().FindAxis(axis)->values) {
    if (value.label == results.cells()[cell].labels.at(axis)) break;
    const bool named =
        where == spec.where.end() ||
        std::find(where->second.begin(), where->second.end(), value.label) != where->second.end();
    if (named) before = &value.label;
  }
  return before == nullptr ? std::nullopt : Sibling(results, cell, axis, *before);
}

// Returns the reference of each cell; none when a cell has none, or the table has no relation.
std::vector<size_t> ReferencesOf(const ResultSet& results, const std::vector<size_t>& cells,
                                 const TableSpec& spec) {
  std::vector<size_t> references;
  if (spec.relative_axis.empty()) return references;
  for (size_t cell : cells) {
    const std::optional<size_t> reference = ReferenceOf(results, cell, spec);
    if (!reference) return {};
    references.push_back(*reference);
  }
  return references;
}

// Returns the mean of a metric over cells for each round in which all of them finished.
std::map<int, double> ByRound(const ResultSet& results, const std::vector<size_t>& cells,
                              const std::string& metric) {
  std::map<int, double> sums;
  std::map<int, size_t> finished;  // cells
  for (size_t cell : cells) {
    size_t known = 0;  // finished rounds of this cell so far
    for (int round = 1; round <= results.rounds(); ++round) {
      if (!results.finished(cell, round)) continue;
      sums[round] += results.Values(cell, metric)[known++];
      ++finished[round];
    }
  }
  std::erase_if(sums, [&](const auto& sum) { return finished[sum.first] != cells.size(); });
  for (auto& [round, sum] : sums) sum /= static_cast<double>(cells.size());
  return sums;
}

// Returns the ratios of cells to their references, in each round that has both.
std::map<int, double> RatiosByRound(const ResultSet& results, const std::vector<size_t>& cells,
                                    const std::vector<size_t>& references,
                                    const std::string& metric) {
  std::map<int, double> ratios;
  if (references.empty()) return ratios;
  const std::map<int, double> of_references = ByRound(results, references, metric);
  for (const auto& [round, value] : ByRound(results, cells, metric)) {
    const auto reference = of_references.find(round);
    if (reference != of_references.end()) ratios[round] = value / reference->second;
  }
  return ratios;
}

// Returns the estimate over these rounds. The mean of none is not known, which is no 0.
Estimate EstimateOfRounds(const std::map<int, double>& rounds) {
  if (rounds.empty()) return {0, std::nan(""), 0};
  std::vector<double> values;
  for (const auto& [round, value] : rounds) values.push_back(value);
  return EstimateMean(values);
}

// Returns the figure of cells, or of their ratios to the references when the table has a relation.
Grid::Figure FigureOf(const ResultSet& results, const std::vector<size_t>& cells,
                      const std::vector<size_t>& references, const TableSpec& spec,
                      const std::string& metric) {
  Grid::Figure figure{cells, {}, {}};
  figure.cells.insert(figure.cells.end(), references.begin(), references.end());
  if (cells.empty()) return figure;
  figure.rounds = spec.relative_axis.empty() ? ByRound(results, cells, metric)
                                             : RatiosByRound(results, cells, references, metric);
  figure.estimate = EstimateOfRounds(figure.rounds);
  return figure;
}

}  // namespace

// When the table does not name an axis in which cells differ, several cells fall into one figure.
// Then their mean in each round counts, because the difference between the cells is no spread of
// the figure. A single round has no spread: runs on one load tell nothing about the next.
Estimate EstimateOf(const ResultSet& results, const std::vector<size_t>& cells,
                    const std::string& metric) {
  return EstimateOfRounds(ByRound(results, cells, metric));
}

Grid MakeGrid(const ResultSet& results, const TableSpec& spec) {
  const std::vector<std::string> labels = ColumnLabels(results, spec);
  Grid grid;
  NameColumns(results, spec, labels, &grid);
  // Rows are told apart by their labels, and not by the text of these: a label may have blanks.
  using Labels = std::vector<std::string>;
  std::vector<Labels> rows;
  std::map<Labels, std::map<std::string, std::vector<size_t>>> found;
  for (size_t i = 0; i < results.cells().size(); ++i) {
    if (!Shows(results, i, spec)) continue;
    const Cell& cell = results.cells()[i];
    Labels row;
    for (const std::string& axis : spec.rows) row.push_back(cell.labels.at(axis));
    if (!found.contains(row)) rows.push_back(row);
    found[row][spec.columns.empty() ? "" : cell.labels.at(spec.columns)].push_back(i);
    grid.cells.push_back(i);
  }
  for (const Labels& of_row : rows) {
    Grid::Row row{fmt::format("{}", fmt::join(of_row, " ")), {}};
    for (const std::string& label : labels) {
      const std::vector<size_t>& cells = found[of_row][label];
      const std::vector<size_t> references = ReferencesOf(results, cells, spec);
      grid.cells.insert(grid.cells.end(), references.begin(), references.end());
      for (const std::string& metric : spec.metrics) {
        row.figures.push_back(FigureOf(results, cells, references, spec, metric));
      }
    }
    grid.rows.push_back(std::move(row));
  }
  return grid;
}

}  // namespace testbed
