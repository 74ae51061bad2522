// Prints the tables of an experiment. A table has a row for each combination of the axes that it
// names, the means over the rounds with their spread, and the published figures below.
#ifndef TESTBED_TOOLS_EXPERIMENT_TABLES_H_
#define TESTBED_TOOLS_EXPERIMENT_TABLES_H_

#include <set>
#include <string>
#include <vector>

#include "tools/experiment/grid.h"
#include "tools/experiment/results.h"
#include "tools/output/report_style.h"

namespace testbed {

// The figures of a table's first metric that are marked: the best, null when none is, and those
// that cannot be told from it.
struct BestMarks {
  const Grid::Figure* best = nullptr;
  std::set<const Grid::Figure*> alike;
};

// Returns the marks of a table; they point into `grid`.
BestMarks MarkBest(const Grid& grid, const TableSpec& spec);

// Returns the lines under a table that restrict its figures: settings that were not in force,
// rounds that ran on several hosts, phases that ended early, and unequal terms between engines.
std::string LinesUnder(const ResultSet& results, const std::vector<size_t>& cells);

// Returns the tables with what is said under them. In narrow lines a table keeps the column of its
// best figure.
std::string TablesText(const ResultSet& results, const ReportStyle& style = {.wide = true});

// Returns a row for each finished cell and round as comma-separated values: the experiment, the
// scale (empty of a sweep), the round, the label of each axis, each metric with full precision, and
// what was not in force.
std::string CellsCsv(const ResultSet& results);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_TABLES_H_
