// Tests resampled statements on figures whose true means are known.
#include "tools/experiment/verdict/resample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

#include "tools/statistics/estimate.h"

namespace testbed {
namespace {

using Values = std::vector<double>;

// Returns how certain one statement is.
Certainty CertaintyOf(const std::vector<Measured>& figures,
                      const std::function<double(const Values&)>& statement, uint64_t seed = 1,
                      int draws = kResamples) {
  const auto statements = [&](const Values& drawn) { return Values{statement(drawn)}; };
  return CertaintiesOf(figures, statements, seed, draws).front();
}

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
  EXPECT_TRUE(yes.TrueAt(1));
  const Certainty no = CertaintyOf(figures, [](const Values& v) { return v[0] > 4096; });
  EXPECT_EQ(no.share(), 0);
  EXPECT_TRUE(no.FalseAt(1));
  const Certainty unknown = CertaintyOf(figures, [](const Values&) { return std::nan(""); });
  EXPECT_EQ(unknown.share(), 0.5);
}

// Reading the clock takes as long as such figures say, in each round alike. What is far above it is
// judged as without it.
TEST(ResampleTest, FiguresWithinTheirGrainDecideNothing) {
  const auto no_more = [](const Values& v) { return v[0] <= 1.5 * v[1]; };
  const auto of = [&](double first, double second, double grain) {
    return CertaintyOf({{0, Values(3, first), grain}, {1, Values(3, second), grain}}, no_more);
  };
  EXPECT_TRUE(of(10, 10, 0).TrueAt(SureAtLook()));
  EXPECT_TRUE(of(20, 10, 0).FalseAt(SureAtLook()));
  for (const Certainty& certainty : {of(10, 10, 10), of(0, 0, 10)}) {
    EXPECT_NEAR(certainty.common, 2.0 / 3, 0.05);
    EXPECT_NEAR(certainty.by_cell, 2.0 / 3, 0.05);
  }
  EXPECT_FALSE(of(20, 10, 10).FalseAt(SureAtLook()));
  EXPECT_EQ(of(1000, 1000, 10).share(), 1);
  EXPECT_EQ(of(2000, 1000, 10).share(), 0);
  // Two metrics of a cell have an error each.
  EXPECT_FALSE(
      CertaintyOf({{5, Values(3, 10), 10}, {5, Values(3, 10), 10}}, no_more).TrueAt(SureAtLook()));
}

TEST(ResampleTest, AGrainReachesAsFarOnBothSidesButNotBelowZero) {
  struct Case {
    Values rounds;
    double grain, least, most;
  };
  for (const Case& c : {Case{{50, 50, 50}, 10, 40, 60}, Case{{4, 4, 4}, 10, 0, 14},
                        Case{{-4, -4, -4}, 10, -14, 6}, Case{{7}, 2, 5, 9}}) {
    Resampler resampler({{7, c.rounds, c.grain}}, 11);
    double least = HUGE_VAL, most = -HUGE_VAL;
    for (int i = 0; i < 1000; ++i) {
      const double drawn = resampler.Draw(Resampler::kByCell)[0];
      least = std::min(least, drawn);
      most = std::max(most, drawn);
    }
    EXPECT_GE(least, c.least);
    EXPECT_LE(most, c.most);
    EXPECT_NEAR(least, c.least, 0.5);
    EXPECT_NEAR(most, c.most, 0.5);
  }
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
  EXPECT_FALSE(certainty.TrueAt(SureAtLook())) << "the cells may as well have nothing in common";
  // Two figures of one cell are known to vary together.
  EXPECT_TRUE(CertaintyOf({{5, {110, 55, 222}}, {5, {100, 50, 200}}}, faster).TrueAt(SureAtLook()));
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
      const Certainty certainty = CertaintyOf(figures, statement, static_cast<uint64_t>(e), 500);
      holds += certainty.TrueAt(SureAtLook());
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
  EXPECT_GT(power(3, 0.05, 0), 0.2);
  EXPECT_GT(power(5, 0.05, 0), 0.65);
  EXPECT_GT(power(5, 0.02, 0.05), 0.65) << "a shared load is not known to be shared";
}

// The ways are equal, the rounds differ from each other, and any two ways are compared after
// looking at the values. `noisy` of the ways vary by 10 %.
TEST(ResampleTest, EqualWaysAreSeldomToldApart) {
  struct Case {
    size_t ways, rounds, noisy;
    double quiet;  // the noise of the others
  };
  Normal normal(3);
  for (const Case& c : {Case{2, 3, 2, 0.1}, Case{8, 3, 8, 0.1}, Case{24, 5, 24, 0.1},
                        Case{8, 3, 2, 0.01}, Case{8, 9, 4, 0.01}}) {
    constexpr int kExperiments = 200;
    int alarms = 0, found = 0;
    for (int n = 0; n < kExperiments; ++n) {
      std::vector<Values> values(c.ways);
      for (size_t round = 0; round < c.rounds; ++round) {
        const double weather = 0.3 * normal();
        for (size_t way = 0; way < c.ways; ++way) {
          values[way].push_back(weather + (way < c.noisy ? 0.1 : c.quiet) * normal());
        }
      }
      const auto differ = [&] {
        Values means;
        for (const Values& way : values) means.push_back(MeanOf(way));
        const auto best = std::max_element(means.begin(), means.end());
        const Values sure =
            HonestlySignificantDifferences(values, static_cast<size_t>(best - means.begin()));
        for (size_t i = 0; i < means.size(); ++i) {
          if (*best - means[i] > sure[i]) return true;
        }
        return false;
      };
      alarms += differ();
      for (double& value : values[0]) value += 2;
      found += differ();
    }
    EXPECT_LE(alarms, 10 + 10) << c.ways << " ways, " << c.noisy;  // 5 % plus 3 standard errors
    EXPECT_GE(found, kExperiments * 3 / 4) << c.ways << " ways, " << c.noisy;
  }
}

TEST(ResampleTest, ADifferenceThatIsNotKnownIsInfinite) {
  const auto finite = [](const std::vector<Values>& values, size_t way) {
    return std::isfinite(HonestlySignificantDifferences(values, 0)[way]);
  };
  EXPECT_FALSE(finite({{1, 2, 3}}, 0));
  EXPECT_FALSE(finite({{1}, {2}}, 1));
  EXPECT_FALSE(finite({{1, 2, 3}, {2, 1, std::nan("")}}, 1));
  const std::vector<Values> one_has_lost = {{1, 2, 3}, {3, 1, 2}, {9, 9.5}};
  EXPECT_TRUE(finite(one_has_lost, 1));
  EXPECT_FALSE(finite(one_has_lost, 2));
}

// The variance of a pair counts where it is larger than that of all ways, and that of all ways
// where it is larger.
TEST(ResampleTest, AQuietWayDoesNotLendItsVariance) {
  const std::vector<Values> values = {{1, 2, 3}, {3, 1, 2}, {1.1, 2.1, 3.1}, {1.2, 2.2, 3.2}};
  const Values sure = HonestlySignificantDifferences(values, 0);
  EXPECT_GT(sure[1], 2 * sure[2]);
  EXPECT_EQ(sure[2], sure[0]);
  EXPECT_EQ(sure[2], sure[3]);
}

}  // namespace
}  // namespace testbed
