#include "tools/experiment/sweep/time_left.h"

#include <gtest/gtest.h>

#include <optional>

namespace testbed {
namespace {

TEST(TimeLeftTest, ACellTakesAsLongAsInTheRoundBefore) {
  TimeLeft time;
  for (int round = 0; round < 3; ++round) {
    time.Add("short", 1);
    time.Add("long", 1);
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
  for (const char* name : {"a", "b", "c", "d"}) time.Add(name, 1);
  time.Ended("a", 1);
  time.Ended("b", 3);
  EXPECT_EQ(time.Seconds(), 2 * 2);
}

// The longest cells often run last. Once, they were expected to take the mean of the short ones
// before.
TEST(TimeLeftTest, ACellThatIsForecastToBeLongerTakesLonger) {
  TimeLeft time;
  time.Add("cached", 2);
  time.Add("larger", 20);
  time.Ended("cached", 3);
  EXPECT_EQ(time.Seconds(), 30);
}

// A cell of the first round rehearses for the cells of the others. Once, these were expected to
// take as long.
TEST(TimeLeftTest, ALaterRoundWithoutRehearsalsIsShorter) {
  TimeLeft time;
  time.Add("a", 12);
  time.Add("b", 4);
  time.Add("a", 4);
  time.Add("b", 4);
  time.Ended("a", 24);
  EXPECT_EQ(time.Seconds(), 3 * 8);
  time.Ended("b", 4);
  EXPECT_EQ(time.Seconds(), 8 + 4);
  time.Ended("a", 8);
  EXPECT_EQ(time.Seconds(), 4);
}

}  // namespace
}  // namespace testbed
