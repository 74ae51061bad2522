// Tests which metrics are known to be missing in a comparison.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tools/statistics/document_cells.h"

namespace testbed {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

DocumentCell CellWith(const std::string& name, const std::vector<std::string>& metrics) {
  DocumentCell cell{name, "", {}, 0, 0, {}};
  for (const std::string& metric : metrics) cell.samples[metric] = {Sample{.value = 1}};
  return cell;
}

TEST(LackedMetricsTest, CountsTheCellsThatOneListAloneHasAMetricOf) {
  const std::vector<DocumentCell> first = {CellWith("x", {"rate", "engine_asks"}),
                                           CellWith("y", {"rate", "engine_asks"}),
                                           CellWith("z", {"rate", "size"})};
  const std::vector<DocumentCell> second = {CellWith("x", {"rate", "engine_asks", "file_reads"}),
                                            CellWith("y", {"rate"})};
  const std::vector<LackedMetric> lacked =
      LackedMetrics(first, second, {"rate", "size", "engine_asks", "file_reads"});
  ASSERT_EQ(lacked.size(), 3u) << "both have the rate of both cells";
  EXPECT_EQ(lacked[0].metric, "size");
  EXPECT_EQ(lacked[0].in_first, 0u) << "the cell z is in the first list alone";
  EXPECT_EQ(lacked[0].in_both, 0u);
  EXPECT_EQ(lacked[1].metric, "engine_asks");
  EXPECT_EQ(lacked[1].in_first, 1u);
  EXPECT_EQ(lacked[1].in_second, 0u);
  EXPECT_EQ(lacked[1].in_both, 1u);
  EXPECT_EQ(lacked[2].metric, "file_reads");
  EXPECT_EQ(lacked[2].in_second, 1u);
  EXPECT_THAT(LackedMetrics(first, first, {"rate", "engine_asks", "size"}), IsEmpty());
}

TEST(LackedMetricsTest, CellsOfAKindOfOperationAreThoseOfItAlone) {
  DocumentCell update = CellWith("mixed update, 1 thr", {"rate", "p99"}), erase = update;
  update.operation = "update";
  erase.name = "mixed erase, 1 thr";
  erase.operation = "erase";
  std::vector<DocumentCell> second = {update, erase};
  EXPECT_THAT(CellsWithMetricOfOne({update, erase}, second, "p99"), IsEmpty());
  for (DocumentCell& cell : second) cell.samples.erase("p99");
  EXPECT_THAT(CellsWithMetricOfOne({update, erase}, second, "p99"),
              ElementsAre("mixed update, 1 thr", "mixed erase, 1 thr"));
  EXPECT_THAT(CellsWithMetricOfOne({update, erase}, second, "erase.p99"),
              ElementsAre("mixed erase, 1 thr"));
  EXPECT_THAT(CellsWithMetricOfOne(second, {update}, "update.p99"),
              ElementsAre("mixed update, 1 thr"));
  EXPECT_THAT(CellsWithMetricOfOne({update}, {erase}, "p99"), IsEmpty());
}

}  // namespace
}  // namespace testbed
