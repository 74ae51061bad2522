#include "workloads/measure/arrivals/arrivals.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <vector>

namespace testbed {
namespace {

TEST(ArrivalsTest, EvenOnesStandAtEqualGapsAndThreadsBetweenEachOther) {
  ArrivalTimes first(Arrivals::kEven, RateCurve::Constant(1000), 0, 4, 1),
      third(Arrivals::kEven, RateCurve::Constant(1000), 2, 4, 1);
  for (uint64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(first.Next(), i * 1000000);
    EXPECT_EQ(third.Next(), i * 1000000 + 500000);
  }
}

// The gaps of a Poisson process have a standard deviation equal to their mean, and a share of 1/e
// of them is longer than the mean.
TEST(ArrivalsTest, ExponentialOnesAreAPoissonProcessOfTheRate) {
  ArrivalTimes times(Arrivals::kExponential, RateCurve::Constant(50000), 3, 8, 42);
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
  ArrivalTimes a(Arrivals::kExponential, RateCurve::Constant(1000), 0, 2, 7),
      b(Arrivals::kExponential, RateCurve::Constant(1000), 0, 2, 7),
      c(Arrivals::kExponential, RateCurve::Constant(1000), 1, 2, 7);
  int alike = 0;
  for (int i = 0; i < 100; ++i) {
    const uint64_t at = a.Next();
    EXPECT_EQ(at, b.Next());
    alike += at == c.Next();
  }
  EXPECT_LT(alike, 5);
}

// A curve, and its rate as a function of the time.
struct KnownCurve {
  const char* name;
  RateCurve curve;
  std::function<double(double)> rate;
};

constexpr double kLength = 20;

std::vector<KnownCurve> KnownCurves() {
  const auto ramp = [](double a, double b) {
    return [=](double t) { return a + (b - a) * t / kLength; };
  };
  const auto burst = [](double a, double b) {
    return [=](double t) { return std::fmod(t, 7) < 1.5 ? b : a; };
  };
  const auto wave = [](double a, double b, double period) {
    return [=](double t) {
      return (a + b) / 2 - (b - a) / 2 * std::cos(2 * std::numbers::pi * t / period);
    };
  };
  return {{"constant", RateCurve::Constant(900), ramp(900, 900)},
          {"rising", RateCurve::Ramp(100, 2000, kLength), ramp(100, 2000)},
          {"falling to 0", RateCurve::Ramp(2000, 0, kLength), ramp(2000, 0)},
          {"rising from 0", RateCurve::Ramp(0, 2000, kLength), ramp(0, 2000)},
          {"bursts", RateCurve::Burst(500, 4000, 1.5, 7), burst(500, 4000)},
          {"bursts alone", RateCurve::Burst(0, 4000, 1.5, 7), burst(0, 4000)},
          {"pauses", RateCurve::Burst(1000, 0, 1.5, 7), burst(1000, 0)},
          {"wave", RateCurve::Wave(300, 1500, 3), wave(300, 1500, 3)},
          {"wave from 0", RateCurve::Wave(0, 1500, 30), wave(0, 1500, 30)},
          {"wave to 0", RateCurve::Wave(1500, 0, 8), wave(1500, 0, 8)}};
}

// Counts the starts of all threads in each tenth of a phase, and the integral of the rate there.
void CountTenths(Arrivals arrivals, const KnownCurve& known, std::array<double, 10>* counts,
                 std::array<double, 10>* expected) {
  constexpr int kThreads = 3, kSteps = 20000;
  counts->fill(0);
  for (int t = 0; t < kThreads; ++t) {
    ArrivalTimes times(arrivals, known.curve.Share(1.0 / kThreads), t, kThreads, 5);
    while (true) {
      const double at = static_cast<double>(times.Next()) / 1e9;
      if (at >= kLength) break;
      ++(*counts)[static_cast<size_t>(at / kLength * 10)];
    }
  }
  for (size_t i = 0; i < 10; ++i) {
    (*expected)[i] = 0;
    const double step = kLength / 10 / kSteps;
    for (int k = 0; k < kSteps; ++k) {
      (*expected)[i] += step * known.rate(static_cast<double>(i) * kLength / 10 + (k + 0.5) * step);
    }
  }
}

TEST(ArrivalsTest, EvenOnesFollowTheCurveOfTheRateInEachTenthOfThePhase) {
  std::array<double, 10> counts{}, expected{};
  for (const KnownCurve& known : KnownCurves()) {
    CountTenths(Arrivals::kEven, known, &counts, &expected);
    for (size_t i = 0; i < 10; ++i) {
      EXPECT_NEAR(counts[i], expected[i], 1.2) << known.name << ' ' << i;
    }
  }
}

// In ten cells whose counts are independent and of Poisson's distribution, chi-square is between
// 1.48 and 29.59 with a probability of 99.8 %. Even starts would be below.
TEST(ArrivalsTest, ExponentialOnesAreAPoissonProcessOfTheCurve) {
  std::array<double, 10> counts{}, expected{};
  for (const KnownCurve& known : KnownCurves()) {
    CountTenths(Arrivals::kExponential, known, &counts, &expected);
    double chi_square = 0;
    for (size_t i = 0; i < 10; ++i) {
      if (expected[i] < 0.5) {
        EXPECT_EQ(counts[i], 0) << known.name << ' ' << i;
        chi_square += 1;
        continue;
      }
      chi_square += (counts[i] - expected[i]) * (counts[i] - expected[i]) / expected[i];
    }
    EXPECT_GT(chi_square, 1.48) << known.name;
    EXPECT_LT(chi_square, 29.59) << known.name;
  }
}

TEST(ArrivalsTest, ARateThatFallsToZeroEndsThere) {
  const RateCurve curve = RateCurve::Ramp(100, 0, 2);
  EXPECT_EQ(curve.Mean(), 50);
  EXPECT_EQ(curve.Until(2), 100);
  EXPECT_EQ(curve.Until(9), 100);
  EXPECT_LT(curve.NsOf(99.9), 2e9);
  EXPECT_EQ(curve.NsOf(100.1), RateCurve::kNeverNs);
  EXPECT_NEAR(RateCurve::Ramp(100, 50, 2).NsOf(200), 3e9, 1) << "it stays at the last rate";
}

}  // namespace
}  // namespace testbed
