// Tests how long a plan is said to take, and which plans are refused because the disk has too
// little room. A plan is accepted unless it is sure to need more room than there is.
#include "tools/experiment/sweep/forecast.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdint>
#include <string>
#include <vector>

#include "device/error.h"
#include "tests/unit/tools/experiment/small_experiment.h"
#include "tools/cache/cache_rehearsal.h"
#include "tools/experiment/plan/plan.h"

namespace testbed {
namespace {

std::vector<Cell> SmallCells(const std::string& text, int rounds = 1, const OptionMap& set = {}) {
  PlanOptions options{"full", set, {}, {}};
  options.rounds = rounds;
  return PlanCells(ParseExperiment(text, "small.toml"), options);
}

bool None(const Cell&) { return false; }

Forecast ForecastOfSmall(const std::string& text, const OptionMap& set = {}) {
  return ForecastOf(SmallCells(text, 1, set), None);
}

// Returns the small experiment, of three cells, with `lines` in place of its workload.
std::string SmallWith(const std::string& lines) {
  const std::string workload = "workload = \"insert,point-read\"";
  std::string text = kSmall;
  return text.replace(text.find(workload), workload.size(), lines);
}

// Once, a forecast had such steps last for --seconds, which does not end them.
TEST(ForecastTest, PhasesThatEndByThemselvesTakeTheirOwnTime) {
  const Forecast steps = ForecastOfSmall(
      SmallWith("workload = \"ib.i0,ib.qr100,ib.qp500\"\nworkload-option = { query_seconds = 3 }"));
  EXPECT_DOUBLE_EQ(steps.measure_seconds, 3 * (3 + 3));
  EXPECT_FALSE(steps.open_ended);
  const Forecast build = ForecastOfSmall(SmallWith("workload = \"ib.i0,ib.x\""));
  EXPECT_EQ(build.measure_seconds, 0);
  EXPECT_TRUE(build.open_ended) << "how long it takes to build indexes is not known";
}

TEST(ForecastTest, RowsWithIndexesTakeLonger) {
  const Forecast plain = ForecastOfSmall(kSmall);
  EXPECT_GT(plain.load_bytes, 0u);
  EXPECT_NEAR(plain.load_seconds, static_cast<double>(plain.load_bytes) / 30e6, 1e-9);
  const Forecast indexed = ForecastOfSmall(SmallWith("workload = \"concurrent-inserts:2\""));
  EXPECT_EQ(indexed.loads, 3u);
  EXPECT_NEAR(indexed.load_seconds, 4 * static_cast<double>(indexed.load_bytes) / 30e6, 1e-9);
  EXPECT_NE(ForecastText(indexed, "x").find(" in 3 loads at 7.5 MB/s"), std::string::npos)
      << ForecastText(indexed, "x");
  // The steps insert twice as many rows as the load, with three indexes.
  const Forecast steps = ForecastOfSmall(
      SmallWith("workload = \"ib.i0,ib.i1,ib.i2\"\nworkload-option = { nr2_share = 2 }"));
  EXPECT_NEAR(steps.load_seconds, static_cast<double>(steps.load_bytes) / 30e6, 1e-9);
  EXPECT_NEAR(steps.measure_seconds, 2 * 4 * steps.load_seconds, 1e-4);
  EXPECT_FALSE(steps.open_ended);
}

// One load was forecast, however many runs a cell that writes had.
TEST(ForecastTest, ACellThatLoadsItsOwnDatabaseLoadsForEachOfItsRuns) {
  const std::string writes = SmallWith("workload = \"insert,mixed\"\nmix = \"update=1\"");
  const OptionMap three = {{"repeat-runs", "3"}};
  const Forecast once = ForecastOfSmall(writes), thrice = ForecastOfSmall(writes, three);
  EXPECT_EQ(once.loads, 3u);
  EXPECT_EQ(thrice.loads, 9u);
  EXPECT_EQ(thrice.load_bytes, 3 * once.load_bytes);
  EXPECT_DOUBLE_EQ(thrice.load_seconds, 3 * once.load_seconds);
  EXPECT_DOUBLE_EQ(thrice.measure_seconds, 3 * once.measure_seconds);
  EXPECT_DOUBLE_EQ(thrice.edge_seconds, 3 * once.edge_seconds);
  const Forecast shared = ForecastOfSmall(kSmall, three);
  EXPECT_EQ(shared.loads, 2u) << "runs that only read have one load";
  EXPECT_DOUBLE_EQ(shared.load_seconds, ForecastOfSmall(kSmall).load_seconds);
}

TEST(ForecastTest, OperationsHaveTheirRateOrOneThatIsSaid) {
  const Forecast assumed = ForecastOfSmall(kSmall, {{"operations", "10000"}});
  EXPECT_DOUBLE_EQ(assumed.measure_seconds, 3 * 2);
  EXPECT_FALSE(assumed.open_ended);
  EXPECT_NE(
      ForecastText(assumed, "x")
          .find(" s: 6 s of measuring with 5,000 operations a second where their number is set"),
      std::string::npos)
      << ForecastText(assumed, "x");
  const Forecast given = ForecastOfSmall(kSmall, {{"operations", "10000"}, {"rate", "1000"}});
  EXPECT_DOUBLE_EQ(given.measure_seconds, 3 * 10);
  EXPECT_FALSE(given.assumes_rate);
}

// They were forecast at the speed of loads, though --rate paces them, too.
TEST(ForecastTest, LoadsAndStepsKeepToTheRate) {
  const Forecast slow = ForecastOfSmall(kSmall, {{"rate", "10"}});
  EXPECT_EQ(slow.loads, 2u);
  EXPECT_DOUBLE_EQ(slow.load_seconds, 2 * 1000 / 10.0);
  const Forecast fast = ForecastOfSmall(kSmall, {{"rate", "1000000000"}});
  EXPECT_DOUBLE_EQ(fast.load_seconds, ForecastOfSmall(kSmall).load_seconds);
  std::string text = kSmall;
  text.replace(text.find("[load]\n"), 7, "[load]\nrate = 100\n");
  EXPECT_DOUBLE_EQ(ForecastOfSmall(text, {{"rate", "10"}}).load_seconds, 2 * 1000 / 100.0);

  const std::string steps = SmallWith("workload = \"ib.i0,ib.i1\"");
  const double one = ForecastOfSmall(steps, {{"rate", "1"}}).measure_seconds;
  EXPECT_GT(one, 10 * ForecastOfSmall(steps).measure_seconds);
  EXPECT_DOUBLE_EQ(one, 2 * ForecastOfSmall(steps, {{"rate", "2"}}).measure_seconds);
}

TEST(ForecastTest, AStepThatOperationsEndTakesItsShare) {
  const std::string read =
      SmallWith("workload = \"ib.i0,ib.qr100\"\nworkload-option = { query_seconds = 3 }");
  const Forecast whole = ForecastOfSmall(read, {{"operations", "1000000000"}});
  EXPECT_DOUBLE_EQ(whole.measure_seconds, 3 * 3);
  EXPECT_FALSE(whole.assumes_rate) << "the step sets its rate itself";
  const Forecast begun = ForecastOfSmall(read, {{"operations", "1"}});
  EXPECT_GT(begun.measure_seconds, 3 * 0.005);
  EXPECT_LT(begun.measure_seconds, 3 * 3);
}

// Ten times the phase were forecast, though the trials have a length of their own.
TEST(ForecastTest, TrialsOfTheCacheTakeHalfOfTheSecondsAndHalfAMinuteAtMost) {
  const std::string text = SmallWith("workload = \"insert,point-read\"\ncache-pct = \"auto\"");
  const auto measuring = [&text](const OptionMap& set) {
    return ForecastOfSmall(text, set).measure_seconds;
  };
  EXPECT_DOUBLE_EQ(measuring({}), 3 * (5 + 20 + 50 * 10));
  EXPECT_DOUBLE_EQ(measuring({{"seconds", "600"}}), 3 * (5 + 600 + 50 * 30));
  EXPECT_DOUBLE_EQ(measuring({{"operations", "1000000"}}), 3 * (200 + 50 * 0.5));
}

TEST(ForecastTest, OnlyDatabasesThatTakeTheirBytesNeedRoom) {
  const Forecast of_files = ForecastOfSmall(kSmall);
  EXPECT_EQ(of_files.least_bytes, SmallCells(kSmall)[0].data_bytes);
  EXPECT_GT(of_files.least_bytes, 0u);
  std::string text = kSmall;
  text.replace(text.find("engine = \"btree\""), 16, "engine = \"null\"");
  const Forecast of_memory = ForecastOfSmall(text);
  EXPECT_GT(of_memory.cells, 0u);
  EXPECT_GT(of_memory.disk_bytes, 0u);
  EXPECT_EQ(of_memory.least_bytes, 0u) << "a single run is exempt, too";
}

// Once, rehearsals were no part of the forecast, and took most of the first round.
TEST(ForecastTest, RehearsalsCountOnceForTheCellsThatShareThem) {
  const std::string text = SmallWith("workload = \"insert,point-read\"\ncache-pct = \"most\"");
  const Forecast once = ForecastOf(SmallCells(text, 1), None);
  // The loads of both page sizes rehearse, too, since [load] has no share of its own.
  EXPECT_EQ(once.rehearsals, 2 * (3u + 2u));
  // Where the run measures for 20 s, a rehearsal does for 5 s, after a warm-up of 5 s.
  EXPECT_NEAR(once.rehearse_seconds, 6 * (5 + 5), 6);
  EXPECT_FALSE(once.open_ended);
  const std::vector<Cell> cells = SmallCells(text, 3);
  const Forecast thrice = ForecastOf(cells, None);
  EXPECT_EQ(thrice.cells, 9u);
  EXPECT_EQ(thrice.rehearsals, once.rehearsals);
  EXPECT_DOUBLE_EQ(thrice.measure_seconds, 3 * once.measure_seconds);
  EXPECT_NE(ForecastText(thrice, "x").find(" in about 10 rehearsals, "), std::string::npos)
      << ForecastText(thrice, "x");
  const std::vector<Forecast> each = ForecastOfEach(cells, None);
  EXPECT_EQ(each.size(), cells.size());
  EXPECT_GT(ForecastSeconds(each[0]), 20 + ForecastSeconds(each[8])) << "it rehearses for the rest";
  const auto first_is_done = [](const Cell& cell) { return cell.round == 1; };
  EXPECT_EQ(ForecastOf(cells, first_is_done).rehearsals, once.rehearsals) << "none were kept";

  std::string directory = testing::TempDir() + "forecast_XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  RunOptions run = CellRunOptions(cells[0].options);
  LeaveOutLoad(&run);
  run.rehearsals_dir = directory;
  KeepRehearsals(run, RehearsalsJson({{50, 1, 2, 3}}, 50));
  EXPECT_EQ(ForecastOf(cells, None, directory).rehearsals, 2 * (2u + 2u));
  RunOptions load = CellRunOptions(cells[0].load_options);
  KeepLoadAlone(&load);
  load.rehearsals_dir = directory;
  KeepRehearsals(load, RehearsalsJson({{50, 1, 2, 3}}, 50));
  EXPECT_EQ(ForecastOf(cells, None, directory).rehearsals, 2 * (2u + 1u));
}

// A sweep has no [load], so that each shared load is made about three times.
TEST(ForecastTest, ALoadThatRehearsesIsLoadedForEachRehearsal) {
  std::string text = SmallWith("workload = \"insert,point-read\"\ncache-pct = \"most\"");
  text.replace(text.find("rows = 1000\n"), 12, "rows = 1000000\n");
  const Forecast most = ForecastOf(SmallCells(text), None);
  EXPECT_EQ(most.loads, 2u);
  EXPECT_GT(most.load_seconds, 10);
  EXPECT_NEAR(most.rehearse_seconds, 6 * (5 + 5) + 2 * most.load_seconds, 6);
  text.replace(text.find("[load]\n"), 7, "[load]\ncache-pct = 50\n");
  const Forecast fixed = ForecastOf(SmallCells(text), None);
  EXPECT_EQ(fixed.rehearsals, 2 * 3u);
  EXPECT_NEAR(fixed.rehearse_seconds, 6 * (5 + 5), 6);
}

TEST(ForecastTest, ARehearsalOfACellThatLoadsLoadsToo) {
  const std::string lines = "workload = \"concurrent-inserts:2\"\ncache-pct = \"most\"\nrows = ";
  std::string text = SmallWith(lines + "1000000");
  text.erase(text.find("rows = 1000\n"), 12);
  const Forecast forecast = ForecastOfSmall(text);
  EXPECT_EQ(forecast.loads, 3u);
  EXPECT_EQ(forecast.rehearsals, 6u);
  EXPECT_NEAR(forecast.rehearse_seconds, 2 * forecast.load_seconds, 6);
  EXPECT_GT(forecast.load_seconds, 20);
  EXPECT_NEAR(ForecastSeconds(forecast), 3 * forecast.load_seconds, 12);
}

// The file system of /proc has no space at all.
TEST(ForecastTest, WhatEarlierCallsHaveLeftHasItsRoom) {
  Forecast forecast;
  forecast.disk_bytes = 9 << 20;
  EXPECT_NO_THROW(CheckRoom(forecast, "/proc", "--out")) << "how little it takes is not known";
  forecast.least_bytes = 3 << 20;
  const auto refused = [&](uint64_t held) {
    return ErrorOf([&] { CheckRoom(forecast, "/proc", "--out", held); });
  };
  EXPECT_EQ(refused(3 << 20), "no error");
  const std::string error = refused((3 << 20) - 1);
  EXPECT_NE(error.find("the file system of /proc has 0 free, and a database of it may take 9M"),
            std::string::npos)
      << error;
}

}  // namespace
}  // namespace testbed
