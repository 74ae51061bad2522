// Tests on simulated sides that the intervals cover the truth as often as they promise.
// bench/statistics_simulation.cc does the same at length.
#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "tools/statistics/comparison.h"
#include "tools/statistics/simulated_sides.h"

namespace testbed {
namespace {

constexpr int kTimes = 1000;

// Returns the share of comparisons whose interval covers the truth.
double Coverage(const SimulatedWorld& world, const SimulatedPlan& plan,
                const CompareOptions& options) {
  constexpr double kTruth = 1.03;
  SimulatedSides sides(11);
  int covered = 0;
  for (int i = 0; i < kTimes; ++i) {
    const Answer answer = Compare(sides.Draw(world, plan, kTruth), options);
    covered += answer.low <= kTruth && kTruth <= answer.high;
  }
  return static_cast<double>(covered) / kTimes;
}

TEST(CoverageTest, IsAsStatedInEachWorldAndDesign) {
  for (SimulatedDesign design :
       {SimulatedDesign::kInterleave, SimulatedDesign::kRounds, SimulatedDesign::kStored}) {
    for (auto shape :
         {SimulatedWorld::kNormal, SimulatedWorld::kSkewed, SimulatedWorld::kBimodal}) {
      const SimulatedWorld world = {.shape = shape, .loads = 0.03};
      const SimulatedPlan plan = {.design = design, .loads = 5, .slices = 3};
      const double share = Coverage(world, plan, OptionsOf(world, plan));
      EXPECT_GT(share, 0.925);  // 93 %, and what chance explains of 1000
      EXPECT_LT(share, 0.985);
    }
  }
}

// Percentiles are rounded to the buckets of a histogram, in which all loads of a side may lie
// alike.
TEST(CoverageTest, CoarseValuesAreCoveredHoweverTheyLieInTheirSteps) {
  constexpr double kStep = 1.0 / 64;
  for (const SimulatedDesign design : {SimulatedDesign::kRounds, SimulatedDesign::kStored}) {
    for (const double spread : {0.1, 0.5, 2.0}) {
      const SimulatedWorld world = {.loads = spread * kStep, .slices = 0, .step = kStep};
      const SimulatedPlan plan = {.design = design, .loads = 5, .slices = 1};
      CompareOptions options = OptionsOf(world, plan);
      EXPECT_GT(Coverage(world, plan, options), 0.925) << spread;
      // Without `resolution` the intervals must fail, or the expectation above would prove nothing.
      options.resolution = 0;
      if (spread < 0.2) {
        EXPECT_LT(Coverage(world, plan, options), 0.7);
      }
    }
  }
}

// History compares the last three nights with up to thirty before them. Three of two modes agree by
// chance in one of four times.
TEST(CoverageTest, FewLoadsAgainstManyRaiseNoFalseAlarm) {
  constexpr size_t kMany = 30;
  for (const auto shape :
       {SimulatedWorld::kNormal, SimulatedWorld::kSkewed, SimulatedWorld::kBimodal}) {
    const SimulatedWorld world = {.shape = shape, .loads = 0.03, .slices = 0};
    const SimulatedPlan plan = {
        .design = SimulatedDesign::kStored, .loads = static_cast<int>(kMany), .slices = 1};
    SimulatedSides sides(14);
    int alarms = 0;
    for (int i = 0; i < kTimes; ++i) {
      const std::vector<Sample> samples = sides.Draw(world, plan, 1);
      const Answer answer = Compare(std::span(samples).first(kMany + 3), OptionsOf(world, plan));
      alarms += answer.outcome == Outcome::kLess || answer.outcome == Outcome::kMore;
    }
    EXPECT_LT(alarms, 70) << shape;  // 5 %, and what chance explains
  }
}

// Counting slices as if they were loads must fail here, or the test above would prove nothing.
TEST(CoverageTest, SlicesTakenForLoadsCoverFarLess) {
  const SimulatedWorld world = {.loads = 0.03, .slices = 0.01};
  const SimulatedPlan plan = {.design = SimulatedDesign::kRounds, .loads = 1, .slices = 10};
  SimulatedSides sides(12);
  int covered = 0;
  for (int i = 0; i < kTimes; ++i) {
    std::vector<Sample> samples = sides.Draw(world, plan, 1);
    for (Sample& sample : samples) sample.load = sample.block;
    const Answer answer = Compare(samples, {});
    covered += answer.low <= 1 && 1 <= answer.high;
  }
  EXPECT_LT(covered, kTimes / 2);
}

TEST(CoverageTest, LookingAllAlongRaisesNoFalseAlarm) {
  const SimulatedWorld world = {.loads = 0.03, .slices = 0};
  const SimulatedPlan plan = {.design = SimulatedDesign::kRounds, .loads = 20, .slices = 1};
  SimulatedSides sides(13);
  int alarms = 0, naive = 0;
  for (int i = 0; i < kTimes; ++i) {
    const std::vector<Sample> samples = sides.Draw(world, plan, 1);
    bool alarm = false, naive_alarm = false;
    for (int n = 3; n <= plan.loads; ++n) {
      const auto seen = std::span(samples).first(static_cast<size_t>(2 * n));
      const auto differs = [&](bool sequential) {
        const Outcome outcome = Compare(seen, {.sequential = sequential}).outcome;
        return outcome == Outcome::kLess || outcome == Outcome::kMore;
      };
      alarm = alarm || differs(true);
      naive_alarm = naive_alarm || differs(false);
    }
    alarms += alarm;
    naive += naive_alarm;
  }
  EXPECT_LT(alarms, 70);  // 5 %, and what chance explains
  EXPECT_GT(naive, 150);  // looking without a correction is wrong three times as often
}

// Sides that differ by just the margin are not the same within it.
TEST(CoverageTest, LookingAllAlongTellsSidesAtTheMarginSeldomTheSame) {
  const SimulatedWorld world = {.loads = 0.01, .slices = 0};
  const SimulatedPlan plan = {.design = SimulatedDesign::kRounds, .loads = 20, .slices = 1};
  const double margin = CompareOptions().margin;
  SimulatedSides sides(15);
  int same = 0, naive = 0;
  for (int i = 0; i < kTimes; ++i) {
    const std::vector<Sample> samples = sides.Draw(world, plan, 1 + margin);
    bool told = false, naively_told = false;
    for (int n = 3; n <= plan.loads; ++n) {
      const auto seen = std::span(samples).first(static_cast<size_t>(2 * n));
      const auto is_same = [&](bool sequential) {
        const Answer answer = Compare(seen, {.sequential = sequential});
        return answer.p_same <= answer.alpha;
      };
      told = told || is_same(true);
      naively_told = naively_told || is_same(false);
    }
    same += told;
    naive += naively_told;
  }
  EXPECT_LT(same, 70);    // 5 %, and what chance explains
  EXPECT_GT(naive, 100);  // looking without a correction is wrong twice as often
}

}  // namespace
}  // namespace testbed
