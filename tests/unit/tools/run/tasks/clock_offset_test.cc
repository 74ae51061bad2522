// Tests the estimate of the difference between two clocks, with simulated ones.
#include "tools/run/tasks/clock_offset.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "workloads/measure/clock.h"
#include "workloads/random.h"

namespace testbed {
namespace {

constexpr int64_t kNow = 1'700'000'000'000'000'000;

// Returns the exchange of a host with one whose clock is `offset` ahead, of which the messages are
// under way for `there` and `back`, and which takes `thinks` to answer.
ClockExchange Exchange(int64_t offset, int64_t there, int64_t thinks, int64_t back) {
  return {.asked = kNow,
          .received = kNow + there + offset,
          .answered = kNow + there + thinks + offset,
          .returned = kNow + there + thinks + back};
}

TEST(ClockOffsetTest, IsExactWhereBothWaysTakeAsLong) {
  // A host may run for a year longer than another one.
  for (const int64_t offset :
       {int64_t{0}, int64_t{123'456}, int64_t{-7'000'000'000}, int64_t{31'000'000'000'000'000}}) {
    const ClockOffset found = OffsetOf({Exchange(offset, 40'000, 900'000, 40'000)});
    EXPECT_EQ(found.ns, offset);
    EXPECT_EQ(found.error_ns, 40'000) << "the time to answer makes nothing uncertain";
  }
}

TEST(ClockOffsetTest, ErrsByHalfOfTheDifferenceOfTheWaysAndTellsABoundOfIt) {
  const ClockOffset found = OffsetOf({Exchange(5000, 10'000, 0, 90'000)});
  EXPECT_EQ(found.ns, 5000 - 40'000);
  EXPECT_EQ(found.error_ns, 50'000);
}

// A message that waits for a processor or in a queue is late on one way, at random.
TEST(ClockOffsetTest, GoesByTheFastestOfManyExchanges) {
  constexpr int64_t kOffset = -3'210'000;
  Random random(5);
  std::vector<ClockExchange> exchanges;
  for (int i = 0; i < 16; ++i) {
    const auto late = [&] { return static_cast<int64_t>(20'000 + random.Below(5'000'000)); };
    exchanges.push_back(Exchange(kOffset, late(), 700, late()));
  }
  exchanges[11] = Exchange(kOffset, 21'000, 10, 20'000);
  const ClockOffset found = OffsetOf(exchanges);
  EXPECT_EQ(found.ns, kOffset + 500);
  EXPECT_LE(std::llabs(found.ns - kOffset), found.error_ns);
}

TEST(WallAheadOfTest, FollowsTheTimeOfDay) {
  constexpr int64_t kHour = 3'600'000'000'000;
  int64_t step = 0;
  const auto now = [&step] { return SystemNs() - kHour - step; };
  EXPECT_LE(std::llabs(WallAheadOf(now) - kHour), 100'000'000);
  // The time of day is set by a minute, which the clock of the tasks does not follow.
  step = 60'000'000'000;
  EXPECT_LE(std::llabs(WallAheadOf(now) - kHour - step), 100'000'000);
}

}  // namespace
}  // namespace testbed
