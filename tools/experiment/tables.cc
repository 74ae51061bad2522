#include "tools/experiment/tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tools/experiment/verdict/equal_terms.h"
#include "tools/output/statistics.h"
#include "tools/output/table.h"

namespace testbed {
namespace {

std::string MetricTitle(const Experiment& e, const std::string& name) {
  const Metric* metric = e.FindMetric(name);
  return metric->unit.empty() ? name : fmt::format("{} ({})", name, metric->unit);
}

// A table before it becomes text: each figure with the cells of the experiment that it comes from.
struct Grid {
  struct Figure {
    std::vector<size_t> cells;  // empty when the combination was not measured
    Estimate estimate;
  };
  struct Row {
    std::string name;
    std::vector<Figure> figures;
  };
  std::string title;
  std::vector<std::string> columns;  // the first column holds the rows' names
  std::vector<Row> rows;
  std::vector<size_t> cells;  // all cells that the table shows
};

// Returns the estimate of a metric over the rounds. When the table does not name an axis in which
// cells differ, several cells fall into one figure. Then their mean in each round counts, because
// the difference between the cells is no spread of the figure. With a single round the repeats
// count.
Estimate EstimateOf(const ResultSet& results, const std::vector<size_t>& cells,
                    const std::string& metric) {
  std::vector<double> values;
  if (results.rounds() == 1) {
    for (size_t cell : cells) {
      const std::vector<double> repeats = results.RepeatValues(cell, metric);
      values.insert(values.end(), repeats.begin(), repeats.end());
    }
    return EstimateMean(values);
  }
  values = results.Values(cells[0], metric);
  for (size_t i = 1; i < cells.size(); ++i) {
    const std::vector<double>& more = results.Values(cells[i], metric);
    values.resize(std::min(values.size(), more.size()));
    for (size_t round = 0; round < values.size(); ++round) values[round] += more[round];
  }
  for (double& value : values) value /= static_cast<double>(cells.size());
  return EstimateMean(values);
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

// Makes the grid of a table, with rows in the order of the cells and a column for each value of the
// column axis and each metric.
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

bool AnyNotInForce(const ResultSet& results, const std::vector<size_t>& cells) {
  return std::any_of(cells.begin(), cells.end(),
                     [&](size_t cell) { return !results.not_in_force(cell).empty(); });
}

std::string FigureText(const ResultSet& results, const Grid::Figure& figure) {
  if (figure.cells.empty()) return "";
  if (!std::isfinite(figure.estimate.mean)) return "-";
  std::string text = Short(figure.estimate.mean);
  if (figure.estimate.n > 1) text += " ±" + Short(figure.estimate.half_width);
  return AnyNotInForce(results, figure.cells) ? text + "*" : text;
}

// Returns the lines under a table that restrict its figures: settings that were not in force, and
// unequal terms between engines.
std::string LinesUnder(const ResultSet& results, const std::vector<size_t>& cells) {
  std::vector<std::string> refused;
  for (size_t cell : cells) {
    const std::string& why = results.not_in_force(cell);
    if (why.empty() || std::find(refused.begin(), refused.end(), why) != refused.end()) continue;
    refused.push_back(why);
  }
  std::string text;
  for (const std::string& why : refused) text += fmt::format("* not in force: {}\n", why);
  return text + UnequalTerms(results, cells);
}

Table TextTable(const ResultSet& results, const Grid& grid) {
  Table table(grid.title, grid.columns);
  for (const Grid::Row& row : grid.rows) {
    std::vector<std::string> cells = {row.name};
    for (const Grid::Figure& figure : row.figures) cells.push_back(FigureText(results, figure));
    table.Row(std::move(cells));
  }
  return table;
}

Table PublishedTable(const TableSpec& spec) {
  Table table("published", spec.published_columns);
  for (const std::vector<std::string>& row : spec.published) table.Row(row);
  return table;
}

std::string NumberText(double value) {
  return std::isfinite(value) ? fmt::format("{:.9g}", value) : "";
}

// Makes a table with each figure and, when a figure has several values, half the width of its 95 %
// confidence interval.
Table CsvTable(const ResultSet& results, const Grid& grid) {
  bool spread = false;
  for (const Grid::Row& row : grid.rows) {
    for (const Grid::Figure& figure : row.figures) spread = spread || figure.estimate.n > 1;
  }
  const bool marked = AnyNotInForce(results, grid.cells);
  std::vector<std::string> columns = {grid.columns[0]};
  for (size_t i = 1; i < grid.columns.size(); ++i) {
    columns.push_back(grid.columns[i]);
    if (spread) columns.push_back(grid.columns[i] + " ±");
  }
  if (marked) columns.push_back("not in force");
  Table table(grid.title, columns);
  for (const Grid::Row& row : grid.rows) {
    std::vector<std::string> cells = {row.name};
    std::string refused;
    for (const Grid::Figure& figure : row.figures) {
      cells.push_back(figure.cells.empty() ? "" : NumberText(figure.estimate.mean));
      if (spread) {
        cells.push_back(figure.estimate.n > 1 ? NumberText(figure.estimate.half_width) : "");
      }
      for (size_t cell : figure.cells) {
        if (refused.empty()) refused = results.not_in_force(cell);
      }
    }
    if (marked) cells.push_back(refused);
    table.Row(std::move(cells));
  }
  return table;
}

}  // namespace

std::string TablesText(const ResultSet& results) {
  std::string text;
  for (const TableSpec& spec : results.experiment().tables) {
    const Grid grid = MakeGrid(results, spec);
    if (grid.rows.empty()) continue;
    text += TextTable(results, grid).Text();
    const std::string under = LinesUnder(results, grid.cells);
    if (!under.empty()) text += under + "\n";
    if (!spec.published.empty()) text += PublishedTable(spec).Text();
    if (!spec.note.empty()) text += spec.note + "\n";
  }
  return text;
}

std::string TablesCsv(const ResultSet& results) {
  std::string text;
  for (const TableSpec& spec : results.experiment().tables) {
    const Grid grid = MakeGrid(results, spec);
    if (!grid.rows.empty()) text += CsvTable(results, grid).Csv();
  }
  return text;
}

}  // namespace testbed
