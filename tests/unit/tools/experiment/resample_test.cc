// Tests resampled statements on figures whose true means are known.
#include "tools/experiment/verdict/resample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace testbed {
namespace {

using Values = std::vector<double>;

TEST(ResampleTest, NormalNumbersAreNormal) {
  Normal normal(3);
  constexpr int kN = 200000;
  double sum = 0, squares = 0, fourth = 0;
  int beyond = 0;
  for (int i = 0; i < kN; ++i) {
    const double z = normal();
    sum += z;
    squares += z * z;
    fourth += z * z * z * z;
    beyond += std::abs(z) > 1.959964;
  }
  EXPECT_NEAR(sum / kN, 0, 0.01);
  EXPECT_NEAR(squares / kN, 1, 0.015);
  EXPECT_NEAR(fourth / kN, 3, 0.1);
  EXPECT_NEAR(beyond / double(kN), 0.05, 0.002);
}

// The draws of a figure, in both ways, must have the quantiles of Student's t around the mean (any
// statistics table). Those of a positive figure are the quantiles of its logarithm.
TEST(ResampleTest, AFigureIsDrawnFromAStudentDistribution) {
  struct Case {
    Values rounds;
    double t90, t95;  // one-sided quantiles for n - 1 degrees
  };
  for (const Case& c : {Case{{-1, 2, 5}, 1.886, 2.920}, Case{{-3, 1, 1, 0, 6}, 1.533, 2.132},
                        Case{{10, 12}, 3.078, 6.314}, Case{{1, 2, 8}, 1.886, 2.920}}) {
    const bool positive = c.rounds[0] > 0;
    Values x = c.rounds;
    for (double& v : x) v = positive ? std::log(v) : v;
    const auto n = static_cast<double>(x.size());
    const double mean = std::accumulate(x.begin(), x.end(), 0.0) / n;
    double squares = 0;
    for (double v : x) squares += (v - mean) * (v - mean);
    const double error = std::sqrt(squares / (n - 1) / n);
    for (const Resampler::Way way : {Resampler::kCommon, Resampler::kByCell}) {
      Resampler resampler({{7, c.rounds}}, 11);
      constexpr int kDraws = 40000;
      int above90 = 0, above95 = 0, below = 0;
      for (int i = 0; i < kDraws; ++i) {
        const double drawn = resampler.Draw(way)[0];
        const double t = ((positive ? std::log(drawn) : drawn) - mean) / error;
        above90 += t > c.t90;
        above95 += t > c.t95;
        below += t < 0;
      }
      EXPECT_NEAR(above90 / double(kDraws), 0.10, 0.006);
      EXPECT_NEAR(above95 / double(kDraws), 0.05, 0.005);
      EXPECT_NEAR(below / double(kDraws), 0.50, 0.01);
    }
  }
}

TEST(ResampleTest, FiguresThatNeverVaryDecide) {
  const std::vector<Measured> figures = {{0, {4096, 4096, 4096}}, {1, {0.1, 0.1, 0.1}}};
  const Certainty yes =
      CertaintyOf(figures, [](const Values& v) { return v[0] == 4096 && v[1] == 0.1; });
  EXPECT_EQ(yes.common, 1);
  EXPECT_EQ(yes.by_cell, 1);
  EXPECT_TRUE(yes.holds());
  const Certainty no = CertaintyOf(figures, [](const Values& v) { return v[0] > 4096; });
  EXPECT_EQ(no.share(), 0);
  EXPECT_TRUE(no.fails());
  const Certainty unknown = CertaintyOf(figures, [](const Values&) { return std::nan(""); });
  EXPECT_EQ(unknown.share(), 0.5);
}

// A shared load makes all cells of a round faster or slower. That must not hide a difference that
// every round shows. The metrics of one cell always vary together.
TEST(ResampleTest, CellsOfARoundAreComparedAsPairs) {
  const std::vector<Measured> figures = {{0, {110, 55, 222}}, {1, {100, 50, 200}}};
  const auto faster = [](const Values& v) { return v[0] > v[1]; };
  const Certainty certainty = CertaintyOf(figures, faster);
  EXPECT_GT(certainty.common, 0.99);
  EXPECT_LT(certainty.by_cell, 0.80);
  EXPECT_EQ(certainty.share(), certainty.by_cell);
  EXPECT_FALSE(certainty.holds()) << "the cells may as well have nothing in common";
  // Two figures of one cell are known to vary together.
  EXPECT_TRUE(CertaintyOf({{5, {110, 55, 222}}, {5, {100, 50, 200}}}, faster).holds());
}

// Simulates thousands of experiments on cells that are equal, or differ by a known share.
class SimulationTest : public testing::Test {
 protected:
  struct Setting {
    size_t cells = 2;
    size_t rounds = 3;
    double noise = 0.05;  // standard deviation of each figure, as a share of it
    double shared = 0;    // standard deviation that all figures of a round share
    double faster = 0;    // share by which the first half of the cells is faster
  };
  template <typename F>
  double ShareOfHolds(const Setting& setting, F statement) {
    Normal normal(17);
    constexpr int kExperiments = 2000;
    int holds = 0;
    for (int e = 0; e < kExperiments; ++e) {
      std::vector<Measured> figures(setting.cells);
      Values of_round(setting.rounds);
      for (double& v : of_round) v = setting.shared * normal();
      for (size_t cell = 0; cell < setting.cells; ++cell) {
        figures[cell].cell = cell;
        const double mean = cell < setting.cells / 2 ? 1000 * (1 + setting.faster) : 1000;
        for (double shared : of_round) {
          figures[cell].rounds.push_back(mean * (1 + shared + setting.noise * normal()));
        }
      }
      // The test takes fewer draws than a verdict, to save time. The expected shares are equal.
      holds += CertaintyOf(figures, statement, static_cast<uint64_t>(e), 500).holds();
    }
    return holds / double(kExperiments);
  }
};

// A share of 5 % over 2000 experiments, plus three standard errors.
constexpr double kAtMost = 0.05 + 0.0146;

TEST_F(SimulationTest, EqualCellsAreRarelyCalledFaster) {
  const auto faster = [](const Values& v) { return v[0] > v[1]; };
  for (size_t rounds : {3, 5}) {
    for (double shared : {0.0, 0.05, 0.5}) {
      EXPECT_LE(ShareOfHolds({2, rounds, 0.05, shared}, faster), kAtMost) << rounds << shared;
    }
    EXPECT_LE(ShareOfHolds({2, rounds, 0.0001, 0}, faster), kAtMost);
  }
}

TEST_F(SimulationTest, EqualGroupsAreRarelyCalledApart) {
  const auto apart = [](const Values& v) {
    return std::min({v[0], v[1]}) > std::max({v[2], v[3]});
  };
  for (size_t rounds : {3, 5}) {
    for (double shared : {0.0, 0.2}) {
      EXPECT_LE(ShareOfHolds({4, rounds, 0.05, shared}, apart), kAtMost) << rounds << shared;
    }
  }
}

// Three and five rounds must find a difference of 10 % at 2 % and 5 % of noise with these
// probabilities.
TEST_F(SimulationTest, ClearDifferencesAreFound) {
  const auto faster = [](const Values& v) { return v[0] > v[1]; };
  const auto power = [&](size_t rounds, double noise, double shared) {
    const double share = ShareOfHolds({2, rounds, noise, shared, 0.10}, faster);
    RecordProperty("power", std::to_string(share));
    printf("%zu rounds, noise %.2f, shared %.2f: found in %.3f\n", rounds, noise, shared, share);
    return share;
  };
  EXPECT_GT(power(3, 0.02, 0), 0.80);
  EXPECT_GT(power(5, 0.02, 0), 0.99);
  EXPECT_GT(power(3, 0.05, 0), 0.25);
  EXPECT_GT(power(5, 0.05, 0), 0.65);
  EXPECT_GT(power(5, 0.02, 0.05), 0.65) << "a shared load is not known to be shared";
}

// The ways are equal, the rounds differ from each other, and any two ways are compared after
// looking at the values.
TEST(ResampleTest, EqualWaysAreSeldomToldApart) {
  Normal normal(3);
  for (const auto& [ways, rounds] : {std::pair{2, 3}, {8, 3}, {24, 5}}) {
    constexpr int kExperiments = 200;
    int alarms = 0, found = 0;
    for (int n = 0; n < kExperiments; ++n) {
      std::vector<std::vector<double>> values(static_cast<size_t>(ways));
      for (int round = 0; round < rounds; ++round) {
        const double weather = 0.3 * normal();
        for (auto& way : values) way.push_back(weather + 0.05 * normal());
      }
      const auto differ = [&] {
        double least = 1e9, most = -1e9;
        for (const auto& way : values) {
          double sum = 0;
          for (double value : way) sum += value;
          least = std::min(least, sum / rounds);
          most = std::max(most, sum / rounds);
        }
        return most - least > HonestlySignificantDifference(values);
      };
      alarms += differ();
      for (double& value : values[0]) value += 1;
      found += differ();
    }
    EXPECT_LE(alarms, 10 + 10) << ways << " ways";  // 5 % plus 3 standard errors
    EXPECT_GE(found, kExperiments * 3 / 4) << ways << " ways";
  }
  EXPECT_FALSE(std::isfinite(HonestlySignificantDifference({{1, 2, 3}})));
  EXPECT_FALSE(std::isfinite(HonestlySignificantDifference({{1}, {2}})));
}

}  // namespace
}  // namespace testbed
