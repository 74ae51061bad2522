// Tests when the syncs of lazy durability begin.
#include "device/log/lazy_pace.h"

#include <gtest/gtest.h>

#include <chrono>

namespace testbed {
namespace {

using std::chrono::minutes;

TEST(LazyPaceTest, ATurnWithoutASyncTellsNothingOfHowLongASyncTakes) {
  LazyPace pace(minutes(100));
  EXPECT_EQ(pace.Period(), minutes(90));
  const LazyPace::Clock::time_point begin = LazyPace::Clock::now();
  pace.Begin(begin);
  pace.End(begin + minutes(20));
  EXPECT_EQ(pace.Period(), minutes(60));
  for (int i = 0; i < 100; ++i) pace.Turn([] { return false; });
  EXPECT_EQ(pace.Period(), minutes(60));
  pace.Turn([] { return true; });
  EXPECT_EQ(pace.Period(), minutes(65)) << "a fast sync takes an eighth off";
}

}  // namespace
}  // namespace testbed
