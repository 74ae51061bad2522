#include "workloads/measure/meter.h"

#include <gtest/gtest.h>

#include <vector>

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

}  // namespace
}  // namespace testbed
