#include "tools/experiment/grid.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/tools/experiment/small_experiment.h"
#include "tests/unit/tools/experiment/small_results.h"

namespace testbed {
namespace {

// Once, the row of the first cell had the mean of both.
TEST_F(ResultsTest, RowsWhoseLabelsHaveBlanksStayApart) {
  Write(0, {100});
  Write(1, {80});
  Experiment e = Small();
  e.tables[0].rows = {"io", "page-size"};
  e.tables[0].columns.clear();
  std::vector<Cell> cells = cells_;
  cells[0].labels = {{"io", "a b"}, {"page-size", "c"}};
  cells[1].labels = {{"io", "a"}, {"page-size", "b c"}};
  const Grid grid = MakeGrid(ResultSet(e, cells, dir_), e.tables[0]);
  ASSERT_EQ(grid.rows.size(), 2u);
  EXPECT_EQ(grid.rows[0].figures.at(0).estimate.mean, 100);
  EXPECT_EQ(grid.rows[1].figures.at(0).estimate.mean, 80);
}

}  // namespace
}  // namespace testbed
