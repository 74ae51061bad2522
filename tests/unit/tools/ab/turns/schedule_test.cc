// Tests the order in which sides take turns, and the processors that they get.
#include "tools/ab/turns/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "tools/ab/turns/processors.h"

namespace testbed {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

TEST(AbScheduleTest, BlocksComeInPairsThatMirrorEachOther) {
  Schedule schedule(3, 1);
  for (int i = 0; i < 50; ++i) {
    const std::vector<int> first = schedule.NextBlock(), second = schedule.NextBlock();
    EXPECT_THAT(first, UnorderedElementsAre(0, 1, 2));
    EXPECT_EQ(std::vector<int>(first.rbegin(), first.rend()), second);
  }
}

TEST(AbScheduleTest, EachSideBeginsAboutAsOften) {
  Schedule schedule(2, 7);
  int begins = 0;
  for (int i = 0; i < 1000; ++i) {
    begins += schedule.NextBlock()[0];
    schedule.NextBlock();
  }
  EXPECT_GT(begins, 400);
  EXPECT_LT(begins, 600);
}

TEST(AbScheduleTest, EveryOrderOfRoundsComesUp) {
  Schedule schedule(3, 3);
  std::map<std::vector<int>, int> seen;
  for (int i = 0; i < 600; ++i) ++seen[schedule.Shuffled()];
  EXPECT_EQ(seen.size(), 6u);
  for (const auto& [order, times] : seen) EXPECT_GT(times, 50);
}

TEST(AbScheduleTest, AnotherSeedGivesAnotherOrder) {
  std::vector<int> one, other, again;
  Schedule a(2, 1), b(2, 2), c(2, 1);
  for (int i = 0; i < 64; ++i) {
    one.push_back(a.Shuffled()[0]);
    other.push_back(b.Shuffled()[0]);
    again.push_back(c.Shuffled()[0]);
  }
  EXPECT_NE(one, other);
  EXPECT_EQ(one, again);
}

TEST(AbProcessorsTest, SharesAreEqualAndDoNotOverlap) {
  EXPECT_THAT(Shares({0, 1}, 2), ElementsAre(ElementsAre(0), ElementsAre(1)));
  EXPECT_THAT(Shares({0, 2, 3, 5, 9}, 2), ElementsAre(ElementsAre(0, 2), ElementsAre(3, 5)));
}

}  // namespace
}  // namespace testbed
