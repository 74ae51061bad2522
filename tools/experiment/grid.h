// The grid of an experiment's table: rows, columns and figures, before they become text.
#ifndef TESTBED_TOOLS_EXPERIMENT_GRID_H_
#define TESTBED_TOOLS_EXPERIMENT_GRID_H_

#include <map>
#include <string>
#include <vector>

#include "tools/experiment/results.h"
#include "tools/statistics/estimate.h"

namespace testbed {

// A table before it becomes text: each figure with the cells of the experiment that it comes from.
struct Grid {
  struct Figure {
    // The figure's cells, then the cells that it is divided by; empty when the combination was not
    // measured.
    std::vector<size_t> cells;
    Estimate estimate;             // its mean is NaN when no round has all of the cells
    std::map<int, double> rounds;  // the values that the estimate is of, by round
  };
  struct Row {
    std::string name;
    std::vector<Figure> figures;
  };
  std::string title;
  std::vector<std::string> columns;  // the first column holds the rows' names
  std::vector<Row> rows;
  std::vector<size_t> cells;  // all cells that its figures come from; some several times
};

// Returns the estimate of a metric over the rounds that all of the cells finished, which fall into
// one figure. Its mean is NaN when there is no such round.
Estimate EstimateOf(const ResultSet& results, const std::vector<size_t>& cells,
                    const std::string& metric);

// Returns the grid of a table, with rows in the order of the cells and a column for each value of
// the column axis and each metric.
Grid MakeGrid(const ResultSet& results, const TableSpec& spec);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_GRID_H_
