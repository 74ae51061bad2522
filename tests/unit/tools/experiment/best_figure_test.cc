// Tests what a table marks: its best figure, and what cannot be told from it; and what is said
// under the tables of tails of latency.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/tools/experiment/small_experiment.h"
#include "tests/unit/tools/experiment/small_results.h"
#include "tools/experiment/report.h"
#include "tools/experiment/tables.h"

namespace testbed {
namespace {

using testing::HasSubstr;
using testing::Not;

// The cells of a round share the conditions of the machine, so their own intervals may overlap
// although every round shows the same order. A figure that differs from the best only by chance
// must be marked as not told from it.
TEST_F(ResultsTest, WhatCannotBeToldFromTheBestIsMarkedByRounds) {
  const auto table = [this] {
    Experiment e = Small();
    e.tables[0].best = "max";
    return TablesText(ResultSet(e, cells_, dir_));
  };
  PlanRounds(3);
  WriteRounds(0, {100, 150, 225});
  WriteRounds(1, {80, 120.5, 181});
  WriteRounds(2, {90, 134, 202});
  EXPECT_THAT(table(), testing::ContainsRegex("direct +158 ±156 best +142 ±140\n")) << table();
  EXPECT_THAT(table(), Not(HasSubstr("~")));
  WriteRounds(2, {110, 120, 230});
  EXPECT_THAT(table(), testing::ContainsRegex("direct +158 ±156 best +153 ±165 ~\n")) << table();
  EXPECT_THAT(table(), HasSubstr("~ cannot be told from the best\n"));
}

// Once, such a figure was 0, and so the best one where the least is best.
TEST_F(ResultsTest, AFigureOfCellsThatHaveNoRoundInCommonIsNotKnown) {
  PlanRounds(2);
  Write(0, {100});                      // the first cell in the first round alone
  Write(2 + cells_.size() / 2, {300});  // the other one of its row in the second round alone
  WriteRounds(1, {80, 90});
  Experiment e = Small();
  e.tables[0].columns.clear();
  e.tables[0].best = "min";
  const std::string table = TablesText(ResultSet(e, cells_, dir_));
  EXPECT_THAT(table, testing::ContainsRegex("direct +-\n")) << table;
  EXPECT_THAT(table, Not(HasSubstr("best"))) << table;
  Write(2, {300});
  EXPECT_THAT(TablesText(ResultSet(e, cells_, dir_)), testing::ContainsRegex("direct +200"));
}

// The best figure of a table that is too wide for a line is not in what is left out.
TEST_F(ResultsTest, NarrowLinesKeepTheBestFigure) {
  Write(0, {100});
  Write(1, {80});
  Write(2, {300});
  Experiment e = Small();
  TableSpec& table = e.tables[0];
  table.best = "max";
  table.title = std::string(90, 't') + " with words behind it";
  for (const std::string more : {"a_second_metric", "a_third_metric"}) {
    ExperimentMetric metric = *e.FindMetric("qps");
    metric.name = more;
    e.metrics.push_back(metric);
    table.metrics.push_back(more);
  }
  const ResultSet results(e, cells_, dir_);
  EXPECT_THAT(TablesText(results), HasSubstr(" page-size=4k a_third_metric (/s)"));
  EXPECT_THAT(TablesText(results), HasSubstr("t with words behind it\n"));
  const std::string narrow = TablesText(results, {});
  EXPECT_THAT(narrow, Not(HasSubstr("page-size=4k a_third_metric"))) << narrow;
  EXPECT_THAT(narrow, HasSubstr(" 300 best\n")) << narrow;
  EXPECT_THAT(narrow, HasSubstr(" with --wide)\n")) << narrow;
  EXPECT_THAT(narrow, HasSubstr("t with\n  words behind it\n")) << narrow;
}

TEST_F(ResultsTest, TailsOfAClosedLoopSayWhatTheyLeaveOut) {
  Write(0, {100});
  Experiment e = Small();
  ExperimentMetric tail = *e.FindMetric("qps");
  tail.name = "tail";
  tail.expression = "point_read.operations.a.latency_us.p99";
  e.metrics.push_back(tail);
  const auto text = [&] { return ExperimentText(ResultSet(e, cells_, dir_)); };
  EXPECT_THAT(text(), Not(HasSubstr("closed loop"))) << "no table has it";
  e.tables[0].metrics.emplace_back("tail");
  EXPECT_THAT(text(), HasSubstr("\ntail: latency from the moment at which an operation began; in a "
                                "closed loop"));
  e.metrics.back().expression = "point_read.operations.a.latency_from_intended_us.p99";
  EXPECT_THAT(text(), Not(HasSubstr("closed loop"))) << "it counts those that wait";
}

}  // namespace
}  // namespace testbed
