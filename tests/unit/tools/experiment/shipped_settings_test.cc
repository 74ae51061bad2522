// Tests that what shipped findings say of databases that are cached, or larger than memory, is
// judged where they are, and that releases are compared in all that is measured of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tools/experiment/experiment.h"
#include "tools/experiment/expression.h"
#include "tools/experiment/plan/plan.h"
#include "tools/experiment/results.h"

namespace testbed {
namespace {

// Returns the planned cells that an expression of the experiment names.
std::set<size_t> CellsNamedBy(const Experiment& e, const std::vector<Cell>& cells,
                              const std::string& expression) {
  const Statement statement(
      expression, [&](const std::string& name) { return e.FindMetric(name) != nullptr; },
      [&](const Selection& selection) {
        return MatchingGroups(cells, selection.where, [&](size_t i) { return cells[i].planned(); });
      });
  std::set<size_t> named;
  for (const Statement::Figure& figure : statement.figures()) named.insert(figure.cell);
  return named;
}

// Expects that each of these parts at the scale needs a setting of all cells that it judges, by
// this metric. Returns the number of the parts.
size_t ExpectSettings(const Experiment& e, const std::string& scale, const std::string& metric,
                      bool (*is_meant)(const Finding&, const FindingPart&)) {
  const std::vector<Cell> cells = PlanCells(e, {scale, {}, {}, {}, 1});
  size_t parts = 0;
  for (const Finding& finding : e.findings) {
    for (const FindingPart& part : finding.parts) {
      if (!IsOneOf(e, scale, part.scales) || !is_meant(finding, part)) continue;
      ++parts;
      const std::string where = finding.id + " at " + scale + ": " + part.says;
      EXPECT_NE(part.needs.find(metric + "["), std::string::npos) << where;
      if (part.needs.empty()) continue;
      const std::set<size_t> judged = CellsNamedBy(e, cells, part.holds);
      const std::set<size_t> known = CellsNamedBy(e, cells, part.needs);
      EXPECT_TRUE(std::includes(known.begin(), known.end(), judged.begin(), judged.end())) << where;
    }
  }
  return parts;
}

// Once, inserts of D and E had filled the caches within seconds, and the rates were judged as those
// of cached databases.
TEST(ShippedSettingsTest, RatesOfYcsbCountAsCachedWhereNoDatabaseIsLargerThanItsCache) {
  const Experiment e = LoadExperiment("ycsb");
  const auto is_cached = [](const Finding&, const FindingPart& part) {
    return part.says.starts_with("cached");
  };
  EXPECT_EQ(ExpectSettings(e, "small", "unfit_reads", is_cached), 6u);
  EXPECT_EQ(ExpectSettings(e, "full", "unfit_reads", is_cached), 6u);
  const std::string& expression = e.FindMetric("unfit_reads")->expression;
  Figures run;
  run["measured.database_bytes"] = 100;
  run["measured.log_file_bytes"] = 20;
  run["measured.account.own.reads"] = 5;
  run["measured.count"] = 100;
  run["options.cache_size"] = 60;
  run["options.ram"] = 120;
  EXPECT_EQ(EvaluateFigures(expression, run), 0.05);
  run["options.cache_size"] = 90;
  EXPECT_EQ(EvaluateFigures(expression, run), 0) << "with room for the database, its log apart";
  run["options.cache_size"] = 0;
  EXPECT_EQ(EvaluateFigures(expression, run), 0) << "the page cache has all of the memory";
  run["options.ram"] = 70;
  EXPECT_EQ(EvaluateFigures(expression, run), 0.05);
}

TEST(ShippedSettingsTest, LoadsOfLinkbenchAreJudgedWhereTheDatabaseIsCachedOrNotAsThere) {
  const Experiment e = LoadExperiment("linkbench");
  const auto is_load = [](const Finding& finding, const FindingPart&) {
    return finding.id == "E4";
  };
  EXPECT_EQ(ExpectSettings(e, "small", "load_ram_share", is_load), 7u);
  EXPECT_EQ(ExpectSettings(e, "full", "load_ram_share", is_load), 9u);
}

// With --set db-ratio the rounds of concurrent-inserts are of any size.
TEST(ShippedSettingsTest, RoundsOfConcurrentInsertsAreJudgedWhereTheRowsFitOrNotAsThere) {
  const Experiment e = LoadExperiment("concurrent-inserts");
  const auto is_by_size = [](const Finding& finding, const FindingPart& part) {
    static const std::set<std::string> kFindings = {"D1", "D2", "D3", "D4", "D5", "D7"};
    return kFindings.contains(finding.id) && !part.says.starts_with("all rounds");
  };
  EXPECT_EQ(ExpectSettings(e, "small", "data_1", is_by_size), 15u);
  EXPECT_EQ(ExpectSettings(e, "full", "data_1", is_by_size), 34u);
}

// A release may do the same work as fast with more processor time, or with more reads.
TEST(ShippedSettingsTest, EachStepOfTheReleasesIsShownInAllMetrics) {
  const Experiment e = LoadExperiment("versions");
  for (const std::string engine : {"RocksDB", "WiredTiger"}) {
    std::set<std::string> shown;
    for (const TableSpec& table : e.tables) {
      if (!table.title.starts_with(engine) || table.relative_label != kPrevious) continue;
      shown.insert(table.metrics.begin(), table.metrics.end());
    }
    for (const ExperimentMetric& metric : e.metrics) {
      EXPECT_TRUE(shown.contains(metric.name)) << engine << ": " << metric.name;
    }
  }
}

}  // namespace
}  // namespace testbed
