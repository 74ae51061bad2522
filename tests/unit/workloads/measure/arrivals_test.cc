#include "workloads/measure/arrivals.h"

#include <gtest/gtest.h>

namespace testbed {
namespace {

TEST(ArrivalsTest, EvenOnesStandAtEqualGapsAndThreadsBetweenEachOther) {
  ArrivalTimes first(Arrivals::kEven, 1000, 0, 4, 1), third(Arrivals::kEven, 1000, 2, 4, 1);
  for (uint64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(first.Next(), i * 1000000);
    EXPECT_EQ(third.Next(), i * 1000000 + 500000);
  }
}

// The gaps of a Poisson process have a standard deviation equal to their mean, and a share of 1/e
// of them is longer than the mean.
TEST(ArrivalsTest, ExponentialOnesAreAPoissonProcessOfTheRate) {
  ArrivalTimes times(Arrivals::kExponential, 50000, 3, 8, 42);
  constexpr int kCount = 200000;
  double sum = 0, squares = 0;
  int longer = 0;
  uint64_t before = 0;
  for (int i = 0; i < kCount; ++i) {
    const uint64_t at = times.Next();
    ASSERT_GE(at, before);
    const auto gap = static_cast<double>(at - before);
    before = at;
    sum += gap;
    squares += gap * gap;
    longer += gap > 20000;
  }
  const double mean = sum / kCount;
  EXPECT_NEAR(mean, 20000, 200);
  EXPECT_NEAR(std::sqrt(squares / kCount - mean * mean) / mean, 1, 0.02);
  EXPECT_NEAR(static_cast<double>(longer) / kCount, std::exp(-1), 0.01);
}

TEST(ArrivalsTest, AreTheSameForOneSeedAndOthersForAnotherThread) {
  ArrivalTimes a(Arrivals::kExponential, 1000, 0, 2, 7), b(Arrivals::kExponential, 1000, 0, 2, 7),
      c(Arrivals::kExponential, 1000, 1, 2, 7);
  int alike = 0;
  for (int i = 0; i < 100; ++i) {
    const uint64_t at = a.Next();
    EXPECT_EQ(at, b.Next());
    alike += at == c.Next();
  }
  EXPECT_LT(alike, 5);
}

}  // namespace
}  // namespace testbed
