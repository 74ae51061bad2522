#include "tools/statistics/looks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tools/statistics/simulated_sides.h"

namespace testbed {
namespace {

double ShareUpTo(const std::vector<double>& sorted, double value) {
  return static_cast<double>(std::upper_bound(sorted.begin(), sorted.end(), value) -
                             sorted.begin()) /
         static_cast<double>(sorted.size());
}

// Pocock, Biometrika 64, 1977, table 1: 5 looks at 5 %, two-sided, need the nominal level 0.0158 at
// each; 2 looks need 0.0294. With 200 values between looks Student's t is nearly normal.
TEST(LooksTest, TheSimulationGivesPococksLevels) {
  constexpr int kPaths = 10000;
  const std::vector<double> five =
      LeastTails(std::vector<int>{200, 400, 600, 800, 1000}, kPaths, 1);
  EXPECT_NEAR(ShareUpTo(five, 0.0158 / 2), 0.025, 0.006);
  const std::vector<double> two = LeastTails(std::vector<int>{200, 400}, kPaths, 2);
  EXPECT_NEAR(ShareUpTo(two, 0.0294 / 2), 0.025, 0.006);
}

TEST(LooksTest, TheTableIsWhatTheSimulationGives) {
  const std::vector<double> least = LeastTails(kLooks, 10000, 3);
  for (double tail : {0.001, 0.003, 0.01, 0.05}) {
    const double share = ShareUpTo(least, tail);
    EXPECT_NEAR(AnytimeTail(tail), share, 0.004 + share / 20) << tail;
  }
}

// The time of a comparison may be over after any number of loads.
TEST(LooksTest, ALastLookBetweenTwoLooksKeepsTheLevel) {
  for (int last : {7, 15, 31}) {
    std::vector<int> looks;
    for (int look : kLooks) {
      if (look < last) looks.push_back(look);
    }
    looks.push_back(last);
    const std::vector<double> least = LeastTails(looks, 5000, 4);
    for (double tail : {0.001, 0.003, 0.01}) {
      EXPECT_LE(ShareUpTo(least, tail), AnytimeTail(tail) + 0.004) << last << " " << tail;
    }
  }
}

TEST(LooksTest, AnytimeLevelsRiseWithTheLevelAtALook) {
  double before = 0;
  for (double tail = 1e-12; tail < 1; tail *= 1.1) {
    const double anytime = AnytimeTail(tail);
    EXPECT_GE(anytime, before);
    EXPECT_GE(anytime, tail);
    EXPECT_LE(anytime, 1);
    before = anytime;
  }
}

}  // namespace
}  // namespace testbed
