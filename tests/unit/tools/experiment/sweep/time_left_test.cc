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

// Once, after a cell that failed at once, hours of others were said to take seconds.
TEST(TimeLeftTest, ACellThatFailsSaysNothingOfTheOthers) {
  TimeLeft time;
  time.Add("fails", 10);
  time.Add("finishes", 10);
  time.Add("to come", 30);
  time.Add("fails", 10);
  time.Ended("fails", 0.5, false);
  EXPECT_EQ(time.Seconds(), std::nullopt);
  time.Ended("finishes", 20);
  EXPECT_EQ(time.Seconds(), 2 * 30 + 0.5) << "it is taken to fail again";
  time.Ended("fails", 40);
  EXPECT_EQ(time.Seconds(), 3 * 30) << "60 s, of which 20 were forecast";
}

TEST(TimeLeftTest, AFailureBehindAResultIsNotExpectedAgain) {
  TimeLeft time;
  for (int round = 0; round < 3; ++round) time.Add("a", 10);
  time.Ended("a", 20);
  time.Ended("a", 1, false);
  EXPECT_EQ(time.Seconds(), 20);
}

// Once, the time left had cells that other processes had finished until the end.
TEST(TimeLeftTest, ACellThatIsLeftToAnotherProcessTakesNoTime) {
  TimeLeft time;
  for (int round = 0; round < 2; ++round) {
    time.Add("a", 10);
    time.Add("b", 10);
    time.Add("c", 10);
  }
  time.Drop("a");
  EXPECT_EQ(time.Seconds(), std::nullopt);
  time.Ended("b", 20);
  EXPECT_EQ(time.Seconds(), 4 * 20) << "of a, b, and twice c";
  time.Drop("c");
  time.Drop("a");
  EXPECT_EQ(time.Seconds(), 2 * 20);
  time.Drop("b");
  time.Drop("b");
  EXPECT_EQ(time.Seconds(), 20) << "of c";
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
