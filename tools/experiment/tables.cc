#include "tools/experiment/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tools/experiment/grid.h"
#include "tools/experiment/verdict/equal_terms.h"
#include "tools/experiment/verdict/resample.h"
#include "tools/output/csv.h"
#include "tools/output/report_style.h"
#include "tools/output/table.h"
#include "tools/statistics/estimate.h"

namespace testbed {
namespace {

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

// Returns the best figure of the table's first metric; null when the table marks none, or has not
// two to choose from.
const Grid::Figure* BestOf(const Grid& grid, const TableSpec& spec) {
  if (spec.best.empty()) return nullptr;
  const Grid::Figure* best = nullptr;
  size_t known = 0;
  for (const Grid::Row& row : grid.rows) {
    for (size_t i = 0; i < row.figures.size(); i += spec.metrics.size()) {
      const Grid::Figure& figure = row.figures[i];
      if (figure.cells.empty() || !std::isfinite(figure.estimate.mean)) continue;
      ++known;
      const bool better =
          best == nullptr || (spec.best == "max" ? figure.estimate.mean > best->estimate.mean
                                                 : figure.estimate.mean < best->estimate.mean);
      if (better) best = &figure;
    }
  }
  return known > 1 ? best : nullptr;
}

// Returns those of a table's first figures that cannot be told from the best, by the rule of
// `testbed advise`: the means over the rounds, of logarithms where all values are positive, differ
// by no more than the honestly significant difference (verdict/resample.h). A figure that lacks a
// round of the best cannot be told from it. One round tells nothing, and marks nothing.
std::set<const Grid::Figure*> AlikeBest(const Grid& grid, const TableSpec& spec,
                                        const Grid::Figure* best) {
  std::set<const Grid::Figure*> alike;
  if (best == nullptr || best->rounds.size() < 2) return alike;
  std::vector<const Grid::Figure*> figures;
  std::vector<std::vector<double>> values;
  bool positive = true;
  for (const Grid::Row& row : grid.rows) {
    for (size_t i = 0; i < row.figures.size(); i += spec.metrics.size()) {
      const Grid::Figure& figure = row.figures[i];
      if (figure.cells.empty() || !std::isfinite(figure.estimate.mean)) continue;
      std::vector<double> rounds;
      for (const auto& [round, unused] : best->rounds) {
        const auto found = figure.rounds.find(round);
        if (found != figure.rounds.end()) rounds.push_back(found->second);
      }
      if (rounds.size() < best->rounds.size()) {
        alike.insert(&figure);
        continue;
      }
      positive =
          positive && std::all_of(rounds.begin(), rounds.end(), [](double v) { return v > 0; });
      figures.push_back(&figure);
      values.push_back(std::move(rounds));
    }
  }
  std::vector<double> means;
  for (std::vector<double>& rounds : values) {
    for (double& value : rounds) value = positive ? std::log(value) : value;
    means.push_back(EstimateMean(rounds).mean);
  }
  const auto at_best =
      static_cast<size_t>(std::find(figures.begin(), figures.end(), best) - figures.begin());
  const std::vector<double> sure = HonestlySignificantDifferences(values, at_best);
  for (size_t i = 0; i < figures.size(); ++i) {
    if (!(std::abs(means[i] - means[at_best]) > sure[i])) alike.insert(figures[i]);
  }
  return alike;
}

Table TextTable(const ResultSet& results, const Grid& grid, const TableSpec& spec) {
  Table table(grid.title, grid.columns);
  const BestMarks marks = MarkBest(grid, spec);
  for (const Grid::Row& row : grid.rows) {
    std::vector<std::string> cells = {row.name};
    for (size_t i = 0; i < row.figures.size(); ++i) {
      const Grid::Figure* figure = &row.figures[i];
      const char* mark = figure == marks.best ? " best" : marks.alike.contains(figure) ? " ~" : "";
      if (figure == marks.best) table.Keep({grid.columns[i + 1]});
      cells.push_back(FigureText(results, *figure) + mark);
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

}  // namespace

BestMarks MarkBest(const Grid& grid, const TableSpec& spec) {
  const Grid::Figure* best = BestOf(grid, spec);
  return {best, AlikeBest(grid, spec, best)};
}

std::string LinesUnder(const ResultSet& results, const std::vector<size_t>& cells) {
  std::vector<std::string> refused;
  for (size_t cell : cells) {
    const std::string& why = results.not_in_force(cell);
    if (why.empty() || std::find(refused.begin(), refused.end(), why) != refused.end()) continue;
    refused.push_back(why);
  }
  std::string text;
  for (const std::string& why : refused) text += fmt::format("* not in force: {}\n", why);
  for (const std::string& line : HostsLines(results, cells)) text += line + "\n";
  const std::string early = EndedEarlyText(results, cells);
  if (!early.empty()) text += early + "\n";
  return text + UnequalTerms(results, cells);
}

std::string TablesText(const ResultSet& results, const ReportStyle& style) {
  const auto lines = [&](const std::string& text) {
    return !style.markdown ? Wrapped(text, style.most()) : text.empty() ? "" : Fenced(text) + "\n";
  };
  const auto shown = [&](const Table& table) {
    return style.markdown ? table.Markdown(true) : table.Text(style.most());
  };
  std::string text;
  for (const TableSpec& spec : results.experiment().tables) {
    const Grid grid = MakeGrid(results, spec);
    if (grid.rows.empty()) continue;
    const std::string table = shown(TextTable(results, grid, spec));
    text += table;
    std::string under;
    if (table.find(" ~") != std::string::npos && !spec.best.empty()) {
      under += "~ cannot be told from the best\n\n";
    }
    const std::string restrictions = LinesUnder(results, grid.cells);
    if (!restrictions.empty()) under += restrictions + "\n";
    text += lines(under);
    if (!spec.published.empty()) text += shown(PublishedTable(spec));
    if (!spec.note.empty()) text += lines(spec.note + "\n");
  }
  return text;
}

std::string CellsCsv(const ResultSet& results) {
  const Experiment& e = results.experiment();
  std::vector<std::string> columns = {"experiment", "scale", "round"};
  for (const Axis& axis : e.axes) columns.push_back(axis.name);
  for (const ExperimentMetric& metric : e.metrics) columns.push_back(metric.name);
  columns.push_back("not_in_force");
  Csv csv(columns);
  for (size_t i = 0; i < results.cells().size(); ++i) {
    size_t known = 0;  // finished rounds of this cell so far
    for (int round = 1; round <= results.rounds(); ++round) {
      if (!results.finished(i, round)) continue;
      std::vector<std::string> row = {CsvText(e.name), CsvText(results.ChosenScale()),
                                      std::to_string(round)};
      for (const Axis& axis : e.axes) {
        row.push_back(CsvText(results.cells()[i].labels.at(axis.name)));
      }
      for (const ExperimentMetric& metric : e.metrics) {
        row.push_back(CsvNumber(results.Values(i, metric.name)[known]));
      }
      row.push_back(CsvText(results.not_in_force(i)));
      csv.Row(row);
      ++known;
    }
  }
  return csv.Text();
}

}  // namespace testbed
