// Tests that open loops are compared by their latency from the intended start, too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tools/report/compare.h"
#include "tools/statistics/metrics.h"

namespace testbed {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Returns a document of four loads, in which each operation takes 30 us, and with `wait_us` above 0
// waits for about so long before it. Each load measures `count` operations.
json OpenLoopDocument(double wait_us, int count = 2000) {
  json document = {{"options", {{"engine", "btree"}, {"rate", wait_us > 0 ? 100 : 0}}},
                   {"machine", json::object()},
                   {"runs", json::array()}};
  for (int load = 0; load < 4; ++load) {
    json operation = {{"name", "point-read"},
                      {"count", count},
                      {"rate", 100},
                      {"latency_us", {{"mean", 30}, {"p50", 30}, {"p99", 30}, {"p999", 30}}}};
    if (wait_us > 0) {
      const double us = 30 + wait_us + load;
      operation["latency_from_intended_us"] = {
          {"mean", us}, {"p50", 31}, {"p99", us}, {"p999", us}, {"count", count + 10}};
    }
    const json phase = {{"name", "point-read"},
                        {"kind", "measure"},
                        {"count", count},
                        {"rate", 100},
                        {"operations", json::array({operation})},
                        {"account", {{"causes", json::array()}}}};
    document["runs"].push_back(
        {{"threads", 1}, {"repeat", 0}, {"load", load}, {"phases", json::array({phase})}});
  }
  return document;
}

Outcome OutcomeOf(const CellComparison& comparison, const std::string& metric) {
  for (const ComparedRow& row : comparison.rows) {
    if (row.metric == metric) return row.answer.outcome;
  }
  ADD_FAILURE() << "nothing is told of " << metric;
  return Outcome::kUnknown;
}

// A stall of one side makes the operations behind it wait, and is one slow operation among many by
// the time from their actual start.
TEST(CompareOpenLoopTest, TheWaitForASlowOperationIsCompared) {
  const json first = OpenLoopDocument(10), second = OpenLoopDocument(9000);
  const auto metrics = MetricsOf(first["runs"][0]["phases"][0]).at("");
  EXPECT_EQ(metrics.at("p99"), 30);
  EXPECT_EQ(metrics.at("intended_mean"), 40);
  EXPECT_EQ(metrics.at("intended_p50"), 31);
  EXPECT_EQ(metrics.at("intended_p99"), 40);
  EXPECT_EQ(metrics.at("intended_p999"), 40);
  const CellComparison comparison = CompareDocuments(first, second, {});
  EXPECT_NE(OutcomeOf(comparison, "p99"), Outcome::kMore);
  EXPECT_EQ(OutcomeOf(comparison, "intended_p99"), Outcome::kMore);
  EXPECT_TRUE(comparison.few_operations.empty());
  CompareSettings settings;
  settings.metrics = {"intended_p999"};
  EXPECT_EQ(CompareDocuments(first, second, settings).few_operations.count("intended_p999"), 1u);
}

TEST(CompareOpenLoopTest, PercentilesOfFewOperationsAreToldByTheirShare) {
  const auto few = [](int first, int second) {
    CompareSettings settings;
    settings.metrics = {"rate", "intended_mean", "intended_p50", "intended_p99"};
    const CellComparison comparison =
        CompareDocuments(OpenLoopDocument(10, first), OpenLoopDocument(9000, second), settings);
    std::vector<std::string> metrics;
    for (const auto& [metric, rows] : comparison.few_operations) metrics.push_back(metric);
    return metrics;
  };
  // Ten of the operations are to be slower than a percentile, with the ten that had not begun.
  EXPECT_THAT(few(990, 990), ElementsAre());
  EXPECT_THAT(few(989, 990), ElementsAre("intended_p99"));
  EXPECT_THAT(few(990, 989), ElementsAre("intended_p99"));
  EXPECT_THAT(few(10, 990), ElementsAre("intended_p99"));
  EXPECT_THAT(few(990, 9), ElementsAre("intended_p50", "intended_p99"));
}

TEST(CompareOpenLoopTest, AClosedLoopHasNoIntendedStarts) {
  const json closed = OpenLoopDocument(0), open = OpenLoopDocument(10);
  EXPECT_FALSE(MetricsOf(closed["runs"][0]["phases"][0]).at("").contains("intended_p99"));
  EXPECT_THAT(ComparisonText(CompareDocuments(closed, closed, {})), Not(HasSubstr("intended")));
  EXPECT_THAT(ComparisonText(CompareDocuments(closed, open, {})),
              HasSubstr("intended_p99 was measured on the second side alone in 1 of 1 cell\n"));
}

}  // namespace
}  // namespace testbed
