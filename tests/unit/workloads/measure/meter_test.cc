#include "workloads/measure/meter.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "engines/registry.h"
#include "workloads/random.h"

namespace testbed {
namespace {

TEST(SteadyTest, TellsLevelFromMovingSeries) {
  Random random(5);
  std::vector<double> level, rising, falling, steps;
  for (int i = 0; i < 40; ++i) {
    const double noise = random.Unit() * 2 - 1;
    level.push_back(1000 + 20 * noise);
    rising.push_back(1000 + 20 * i + noise);
    falling.push_back(1000 - 10 * i + noise);
    steps.push_back((i < 30 ? 1000 : 700) + noise);
  }
  EXPECT_EQ(Steady(level), true);
  EXPECT_EQ(Steady(rising), false);
  EXPECT_EQ(Steady(falling), false);
  EXPECT_EQ(Steady(steps), false);
  EXPECT_EQ(Steady({1, 2, 3}), std::nullopt);
}

TEST(SteadyTest, ForgetsTheFirstHalf) {
  std::vector<double> warming;
  for (int i = 0; i < 40; ++i) warming.push_back(i < 20 ? 50 * i : 1000);
  EXPECT_EQ(Steady(warming), true);
}

// An engine may compute a counter from others that it does not read at the same moment.
TEST(MeterTest, ACounterThatFallsIsNoGrowthOfTwoToTheSixtyFour) {
  const std::unique_ptr<Engine> engine = FindEngine("null").open(".", {});
  const Meter meter(*engine, ".", AccountDepth::kFile, nullptr, false, false);
  Reading before, after;
  before.engine.block_requests = 100;
  before.engine.block_hits = 90;
  before.engine.more = {{"falls", 7}, {"grows", 7}};
  after.engine.block_requests = 130;
  after.engine.block_hits = 80;
  after.engine.block_reads = 5;
  after.engine.more = {{"falls", 6}, {"grows", 9}};
  const EngineCounters delta = meter.Account(before, after).engine;
  EXPECT_EQ(delta.block_requests, 30u);
  EXPECT_EQ(delta.block_hits, 0u);
  EXPECT_EQ(delta.block_reads, 5u);
  ASSERT_EQ(delta.more.size(), 2u);
  EXPECT_EQ(delta.more[0].second, 0u);
  EXPECT_EQ(delta.more[1].second, 2u);
}

}  // namespace
}  // namespace testbed
