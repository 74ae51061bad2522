#include "tools/experiment/sweep/time_left.h"

#include <gtest/gtest.h>

#include <optional>

namespace testbed {
namespace {

TEST(TimeLeftTest, ACellTakesAsLongAsInTheRoundBefore) {
  TimeLeft time;
  for (int round = 0; round < 3; ++round) {
    time.Add("short");
    time.Add("long");
  }
  EXPECT_EQ(time.Seconds(), std::nullopt) << "nothing has ended";
  time.Ended("short", 2);
  EXPECT_EQ(time.Seconds(), 2 * 2 + 3 * 2) << "a cell that has not run takes the mean";
  time.Ended("long", 100);
  EXPECT_EQ(time.Seconds(), 2 * 2 + 2 * 100);
  time.Ended("short", 3);
  EXPECT_EQ(time.Seconds(), 1 * 3 + 2 * 100) << "the last round counts";
  time.Ended("long", 90);
  time.Ended("short", 3);
  EXPECT_EQ(time.Seconds(), 90);
  time.Ended("long", 90);
  EXPECT_EQ(time.Seconds(), 0);
}

TEST(TimeLeftTest, CellsThatHaveNotRunTakeTheMeanOfThoseThatHave) {
  TimeLeft time;
  for (const char* name : {"a", "b", "c", "d"}) time.Add(name);
  time.Ended("a", 1);
  time.Ended("b", 3);
  EXPECT_EQ(time.Seconds(), 2 * 2);
}

}  // namespace
}  // namespace testbed
