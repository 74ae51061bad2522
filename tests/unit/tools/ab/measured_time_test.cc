// Tests for how long a load is measured: SpreadOf on samples whose spread is known, and
// MeasuredSeconds against the variance that it is to make least.
#include "tools/ab/measured_time.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace testbed {
namespace {

using nlohmann::json;

AbOptions Options(double time) {
  AbOptions options;
  options.sides.resize(2);
  options.way = Way::kInterleave;
  options.slice_seconds = 0.1;
  options.time = time;
  return options;
}

// Adds a block in which the second side's rate is exp(`ratio`) times that of the first.
void AddBlock(int load, int block, double ratio, json* samples) {
  for (const auto& [side, rate] :
       {std::pair("a", 1000.0), std::pair("b", 1000.0 * std::exp(ratio))}) {
    samples->push_back({{"side", side},
                        {"load", load},
                        {"block", block},
                        {"count", rate * 0.1},
                        {"seconds", 0.1}});
  }
}

// Returns samples of several loads. `loads` has the logarithm of each load's ratio; its pairs of
// blocks lie above and below it by `pair`.
json Samples(const std::vector<double>& loads, double pair) {
  json samples = json::array();
  for (int load = 0; load < static_cast<int>(loads.size()); ++load) {
    for (int block = 0; block < 8; ++block) {
      // The drift of a pair, which mirrored blocks do not have as a whole.
      const double drift = block % 2 == 0 ? 0.3 : -0.3;
      const double off = block % 4 < 2 ? pair : -pair;
      AddBlock(load, block, loads[static_cast<size_t>(load)] + off + drift, &samples);
    }
  }
  return samples;
}

TEST(MeasuredTimeTest, TheSpreadOfLoadsIsWhatTheirPairsDoNotExplain) {
  const auto spread = SpreadOf(Samples({0.1, 0.2, 0.3}, 0.06));
  ASSERT_TRUE(spread);
  EXPECT_NEAR(spread->of_pairs, 4 * 0.06 * 0.06 / 3, 1e-9);
  EXPECT_NEAR(spread->of_loads, 0.01 - 0.06 * 0.06 / 3, 1e-9);
}

TEST(MeasuredTimeTest, LoadsThatDifferLessThanTheirPairsExplainHaveNoSpreadOfTheirOwn) {
  const auto spread = SpreadOf(Samples({0.1, 0.1, 0.1}, 0.06));
  ASSERT_TRUE(spread);
  EXPECT_EQ(spread->of_loads, 0);
}

TEST(MeasuredTimeTest, FewLoadsAndFewPairsTellNoSpread) {
  EXPECT_FALSE(SpreadOf(json::array()));
  EXPECT_FALSE(SpreadOf(Samples({0.1, 0.2}, 0.06)));
  json one_side = json::array();
  for (const json& sample : Samples({0.1, 0.2, 0.3}, 0.06)) {
    if (sample["side"] == "a") one_side.push_back(sample);
  }
  EXPECT_FALSE(SpreadOf(one_side));
  json one_pair = Samples({0.1, 0.2}, 0.06);
  AddBlock(2, 0, 0.1, &one_pair);
  AddBlock(2, 1, 0.1, &one_pair);
  EXPECT_FALSE(SpreadOf(one_pair));
}

TEST(MeasuredTimeTest, WithoutASpreadALoadIsMeasuredForAsLongAsItWasLoaded) {
  EXPECT_DOUBLE_EQ(MeasuredSeconds(Options(600), 4, 0, std::nullopt), 4);
}

// MeasuredSeconds must return the time at which the variance of the mean is least. The test also
// computes that variance for other times.
TEST(MeasuredTimeTest, NoOtherTimeMakesTheMeanMoreExact) {
  constexpr double kLoading = 4;
  const RatioSpread spread{0.02, 0.0005};
  const double of_second = spread.of_pairs * 0.4;  // a pair of blocks has four slices
  const auto variance = [&](double measured) {
    return (of_second / measured + spread.of_loads) * (kLoading + measured);
  };
  const double best = MeasuredSeconds(Options(600), kLoading, 0, spread);
  EXPECT_GT(best, kLoading);
  EXPECT_LT(best, 3 * kLoading);
  EXPECT_LT(variance(best), variance(best * 1.05));
  EXPECT_LT(variance(best), variance(best / 1.05));
}

TEST(MeasuredTimeTest, ItIsFromOneToThreeTimesTheLoading) {
  EXPECT_DOUBLE_EQ(MeasuredSeconds(Options(600), 4, 0, RatioSpread{0.01, 1}), 4);
  EXPECT_DOUBLE_EQ(MeasuredSeconds(Options(600), 4, 0, RatioSpread{0.01, 1e-9}), 12);
  EXPECT_DOUBLE_EQ(MeasuredSeconds(Options(600), 4, 0, RatioSpread{0.01, 0}), 12);
}

// A load that must first be warm costs as much more.
TEST(MeasuredTimeTest, AWarmUpThatIsGivenIsPartOfTheLoading) {
  AbOptions options = Options(600);
  options.common.warmup = 6;
  EXPECT_DOUBLE_EQ(MeasuredSeconds(options, 4, 0, std::nullopt), 10);
  EXPECT_DOUBLE_EQ(MeasuredSeconds(options, 4, 0, RatioSpread{0.01, 0}), 30);
}

// In a duet the sides work at once, so a pair of blocks takes half the time.
TEST(MeasuredTimeTest, APairOfADuetTakesTheTimeOfTwoSlices) {
  AbOptions duet = Options(600);
  duet.way = Way::kDuet;
  const RatioSpread spread{0.02, 0.0003};
  const double ratio =
      MeasuredSeconds(Options(600), 4, 0, spread) / MeasuredSeconds(duet, 4, 0, spread);
  EXPECT_NEAR(ratio, std::sqrt(2), 1e-9);
}

TEST(MeasuredTimeTest, TheTimeAllowsSixLoads) {
  // A sixth of 30 s is 5 s; 3 s of it are left behind the loading, 4/5 of them behind the warm-up.
  EXPECT_NEAR(MeasuredSeconds(Options(30), 2, 0, RatioSpread{0.01, 0}), 2.4, 1e-9);
  // At least eight blocks of two slices.
  EXPECT_NEAR(MeasuredSeconds(Options(1), 2, 0, RatioSpread{0.01, 0}), 1.6, 1e-9);
  // At most a hundred loads: quick loading is measured for longer.
  EXPECT_NEAR(MeasuredSeconds(Options(600), 0.1, 0, RatioSpread{0.01, 1}), 5.9 * 4 / 5, 1e-9);
}

TEST(MeasuredTimeTest, WithANumberOfLoadsTheyFillWhatEachHas) {
  AbOptions options = Options(600);
  options.loads = 3;
  EXPECT_NEAR(MeasuredSeconds(options, 2, 12, std::nullopt), 8, 1e-9);
  options.common.warmup = 1;
  EXPECT_NEAR(MeasuredSeconds(options, 2, 12, RatioSpread{0.01, 1}), 9, 1e-9);
}

// The first loads are short, and the next one may be three times as long.
TEST(MeasuredTimeTest, TheNextLoadTakesAsLongAsItIsPlanned) {
  LoadTimes times{.loads = 3, .seconds = 30, .load_seconds = 12, .measured_seconds = 15};
  // A load of 10 s without its slices of 5 s, and slices of 4 s behind a warm-up of 1 s.
  EXPECT_DOUBLE_EQ(NextLoadSeconds(Options(600), times), 10);
  times.spread = RatioSpread{0.01, 0};
  EXPECT_DOUBLE_EQ(NextLoadSeconds(Options(600), times), 5 + 3 + 12);
  AbOptions options = Options(600);
  options.loads = 5;
  // The slices may be eight blocks of 0.2 s, behind a warm-up of 0.4 s.
  EXPECT_DOUBLE_EQ(NextLoadSeconds(options, times), 5 + 1.6 + 0.4);
  options.way = Way::kRounds;
  EXPECT_DOUBLE_EQ(NextLoadSeconds(options, times), 10);
}

// A first load of 14 s, 4 of them slices. The next ones have the least slices, of 2 s with their
// warm-up, so three loads take 14 + 2 * 12 s.
LoadTimes FirstOf14Seconds() {
  return {.loads = 1, .seconds = 14, .load_seconds = 10, .measured_seconds = 4, .spread = {}};
}

TEST(MeasuredTimeTest, ATimeThatIsTooShortForThreeLoadsIsToldWithOneThatIsNot) {
  // Three loads of 12 s, and a quarter of that to spare.
  EXPECT_EQ(ShortTimeText(Options(30), FirstOf14Seconds()),
            "the first load of the sides took 14 s of the 30 s of --time, and an answer needs 3 "
            "loads; give --time 45s or more");
  EXPECT_EQ(ShortTimeText(Options(45), FirstOf14Seconds()), "");
  EXPECT_NE(ShortTimeText(Options(37.9), FirstOf14Seconds()), "");
  EXPECT_EQ(ShortTimeText(Options(38.1), FirstOf14Seconds()), "");
}

TEST(MeasuredTimeTest, TheTimeIsTooShortWhereTheFirstLoadTookLongerThanThat) {
  const std::string text = ShortTimeText(Options(9.5), FirstOf14Seconds());
  EXPECT_EQ(text.find("the first load of the sides took 14 s of the 9.5 s of --time"), 0u) << text;
}

TEST(MeasuredTimeTest, TheTimeMayBeTooShortAfterTheSecondLoad) {
  LoadTimes times = FirstOf14Seconds();
  times.loads = 2;
  times.seconds = 28;
  times.load_seconds = 20;
  times.measured_seconds = 8;
  EXPECT_EQ(ShortTimeText(Options(30), times).find("the first 2 loads of the sides took 28 s"), 0u);
  EXPECT_EQ(ShortTimeText(Options(41), times), "");
  times.loads = 3;
  EXPECT_EQ(ShortTimeText(Options(30), times), "");
}

TEST(MeasuredTimeTest, RoundsAreAsLongAsTheFirstOne) {
  AbOptions rounds = Options(30);
  rounds.way = Way::kRounds;
  const LoadTimes times{
      .loads = 1, .seconds = 14, .load_seconds = 0, .measured_seconds = 0, .spread = {}};
  const std::string text = ShortTimeText(rounds, times);
  EXPECT_NE(text.find("give --time 53s or more"), std::string::npos) << text;
  rounds.time = 42;
  EXPECT_EQ(ShortTimeText(rounds, times), "");
}

TEST(MeasuredTimeTest, WhatDoesNotEndByTheTimeLacksNone) {
  AbOptions options = Options(30);
  options.loads = 2;  // the user asks for too few
  EXPECT_EQ(ShortTimeText(options, FirstOf14Seconds()), "");
  options.loads = 5;
  EXPECT_NE(ShortTimeText(options, FirstOf14Seconds()), "");
  options.time = std::nullopt;
  EXPECT_EQ(ShortTimeText(options, FirstOf14Seconds()), "");
}

}  // namespace
}  // namespace testbed
