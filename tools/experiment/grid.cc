#include "tools/experiment/grid.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace testbed {
namespace {

std::string MetricTitle(const Experiment& e, const std::string& name) {
  const Metric* metric = e.FindMetric(name);
  return metric->unit.empty() ? name : fmt::format("{} ({})", name, metric->unit);
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
    grid->title += ": " + MetricTitle(e, spec.metrics[0]);
  }
  grid->columns = {fmt::format("{}", fmt::join(spec.rows, " "))};
  for (const std::string& label : labels) {
    for (const std::string& metric : spec.metrics) {
      const std::string title = MetricTitle(e, metric);
      const std::string value = spec.columns + "=" + label;
      grid->columns.push_back(spec.columns.empty()       ? title
                              : spec.metrics.size() == 1 ? value
                                                         : value + " " + title);
    }
  }
}

}  // namespace

// When the table does not name an axis in which cells differ, several cells fall into one figure.
// Then their mean in each round counts, because the difference between the cells is no spread of the
// figure. A single round has no spread: runs on one load tell nothing about the next.
Estimate EstimateOf(const ResultSet& results, const std::vector<size_t>& cells,
                    const std::string& metric) {
  std::vector<double> values = results.Values(cells[0], metric);
  for (size_t i = 1; i < cells.size(); ++i) {
    const std::vector<double>& more = results.Values(cells[i], metric);
    values.resize(std::min(values.size(), more.size()));
    for (size_t round = 0; round < values.size(); ++round) values[round] += more[round];
  }
  for (double& value : values) value /= static_cast<double>(cells.size());
  return EstimateMean(values);
}

Grid MakeGrid(const ResultSet& results, const TableSpec& spec) {
  const std::vector<std::string> labels = ColumnLabels(results, spec);
  Grid grid;
  NameColumns(results, spec, labels, &grid);
  std::vector<std::string> row_names;
  std::map<std::string, std::map<std::string, std::vector<size_t>>> found;
  for (size_t i = 0; i < results.cells().size(); ++i) {
    if (!Shows(results, i, spec)) continue;
    const Cell& cell = results.cells()[i];
    std::vector<std::string> of_row;
    for (const std::string& axis : spec.rows) of_row.push_back(cell.labels.at(axis));
    const std::string row = fmt::format("{}", fmt::join(of_row, " "));
    if (!found.contains(row)) row_names.push_back(row);
    found[row][spec.columns.empty() ? "" : cell.labels.at(spec.columns)].push_back(i);
    grid.cells.push_back(i);
  }
  for (const std::string& name : row_names) {
    Grid::Row row{name, {}};
    for (const std::string& label : labels) {
      const std::vector<size_t>& cells = found[name][label];
      for (const std::string& metric : spec.metrics) {
        row.figures.push_back(
            {cells, cells.empty() ? Estimate() : EstimateOf(results, cells, metric)});
      }
    }
    grid.rows.push_back(std::move(row));
  }
  return grid;
}

}  // namespace testbed
