// Tests which plans are refused because the disk has too little room. A plan is accepted unless it
// is sure to need more room than there is.
#include "tools/experiment/sweep/forecast.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "device/error.h"
#include "tests/unit/tools/experiment/small_experiment.h"
#include "tools/experiment/plan/plan.h"

namespace testbed {
namespace {

Forecast ForecastOfSmall(const std::string& text) {
  const std::vector<Cell> cells =
      PlanCells(ParseExperiment(text, "small.toml"), {"full", {}, {}, {}});
  return ForecastOf(cells, [](const Cell&) { return false; });
}

TEST(ForecastTest, OnlyDatabasesThatTakeTheirBytesNeedRoom) {
  const Forecast of_files = ForecastOfSmall(kSmall);
  EXPECT_EQ(of_files.least_bytes, PlanCells(Small(), {"full", {}, {}, {}})[0].data_bytes);
  EXPECT_GT(of_files.least_bytes, 0u);
  std::string text = kSmall;
  text.replace(text.find("engine = \"btree\""), 16, "engine = \"null\"");
  const Forecast of_memory = ForecastOfSmall(text);
  EXPECT_GT(of_memory.cells, 0u);
  EXPECT_GT(of_memory.disk_bytes, 0u);
  EXPECT_EQ(of_memory.least_bytes, 0u) << "a single run is exempt, too";
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
