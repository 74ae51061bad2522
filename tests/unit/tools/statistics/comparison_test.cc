#include "tools/statistics/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tools/statistics/corrections.h"
#include "tools/statistics/looks.h"
#include "tools/statistics/sentence.h"
#include "tools/statistics/student.h"

namespace testbed {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The hours of sleep that two drugs gained ten patients (Cushny, Peebles, 1905), on which Student
// showed his test in 1908. R's manual page of t.test has its results.
const std::vector<double> kFirst = {0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0};
const std::vector<double> kSecond = {1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4};

std::vector<Sample> Samples(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<Sample> samples;
  for (size_t i = 0; i < a.size(); ++i) {
    samples.push_back({.side = kA, .load = static_cast<int>(i), .value = a[i]});
  }
  for (size_t i = 0; i < b.size(); ++i) {
    samples.push_back({.side = kB, .load = static_cast<int>(i), .value = b[i]});
  }
  return samples;
}

std::vector<double> Exp(std::vector<double> values) {
  for (double& v : values) v = std::exp(v);
  return values;
}

TEST(StudentTest, HasTheQuantilesOfTheTables) {
  EXPECT_NEAR(StudentQuantile(0.025, 1), 12.706, 0.0005);
  EXPECT_NEAR(StudentQuantile(0.025, 4), 2.776, 0.0005);
  EXPECT_NEAR(StudentQuantile(0.005, 10), 3.169, 0.0005);
  EXPECT_NEAR(StudentQuantile(0.025, 30), 2.042, 0.0005);
  EXPECT_NEAR(StudentTail(2.776445, 4), 0.025, 1e-7);
}

TEST(CompareTest, GivesStudentsPairedResult) {
  const Answer answer = Compare(Samples(kFirst, kSecond), {});
  EXPECT_EQ(answer.scale, Scale::kDifference);  // some gains are not positive
  EXPECT_NEAR(answer.effect, 1.58, 1e-9);
  EXPECT_NEAR(answer.low, 0.7001142, 1e-6);
  EXPECT_NEAR(answer.high, 2.4598858, 1e-6);
  EXPECT_NEAR(answer.p, 0.002833, 1e-6);
  EXPECT_EQ(answer.freedom, 9);
  EXPECT_EQ(answer.outcome, Outcome::kMore);
}

TEST(CompareTest, GivesWelchsUnpairedResult) {
  const Answer answer = Compare(Samples(kFirst, kSecond), {.pairing = Pairing::kNone});
  EXPECT_NEAR(answer.low, -0.2054832, 1e-6);
  EXPECT_NEAR(answer.high, 3.3654832, 1e-6);
  EXPECT_NEAR(answer.p, 0.07939, 1e-5);
  EXPECT_NEAR(answer.freedom, 17.776, 0.001);
  EXPECT_EQ(answer.outcome, Outcome::kUnknown);
  EXPECT_EQ(answer.reason, Reason::kTooWide);
}

TEST(CompareTest, ComparesPositiveValuesByTheirRatio) {
  const Answer answer = Compare(Samples(Exp(kFirst), Exp(kSecond)), {});
  EXPECT_EQ(answer.scale, Scale::kRatio);
  EXPECT_NEAR(std::log(answer.effect), 1.58, 1e-9);
  EXPECT_NEAR(std::log(answer.low), 0.7001142, 1e-6);
  EXPECT_NEAR(std::log(answer.high), 2.4598858, 1e-6);
  EXPECT_NEAR(std::log(answer.b / answer.a), 1.58, 1e-9);
}

TEST(CompareTest, AveragesTheSlicesOfALoadAndCountsLoads) {
  std::vector<Sample> samples;
  for (int load = 0; load < 4; ++load) {
    for (int slice = 0; slice < 100; ++slice) {
      const double machine = slice % 2 == 0 ? 1 : 3;  // slow slices are slow for both sides
      samples.push_back({kA, load, 0, slice, machine * 100});
      samples.push_back({kB, load, 0, slice, machine * (103 + load)});
    }
  }
  const Answer answer = Compare(samples, {});
  EXPECT_EQ(answer.loads_a, 4);
  EXPECT_EQ(answer.freedom, 3);
  EXPECT_NEAR(answer.effect, std::pow(1.03 * 1.04 * 1.05 * 1.06, 0.25), 1e-9);
  EXPECT_EQ(answer.outcome, Outcome::kMore);
}

// Each slice has 100 operations. The four slices of a load take two seconds on A and three on B, so
// the answers on the rate and on the mean latency must be each other's inverse.
TEST(CompareTest, SlicesCountByTheirWeights) {
  std::vector<Sample> rates, latencies;
  for (int load = 0; load < 3; ++load) {
    for (int slice = 0; slice < 4; ++slice) {
      const double seconds = slice % 2 == 0 ? 0.1 : 0.9;
      for (const auto& [side, longer] : {std::pair(kA, 1.0), std::pair(kB, 1.25)}) {
        const double of_slice = slice % 2 == 0 ? 0.1 + 2 * (longer - 1) : seconds;
        rates.push_back({side, load, 0, slice, 100 / of_slice, of_slice});
        latencies.push_back({side, load, 0, slice, of_slice / 100, 100});
      }
    }
  }
  const Answer rate = Compare(rates, {}), latency = Compare(latencies, {});
  EXPECT_NEAR(rate.a, 400 / 2.0, 1e-9);
  EXPECT_NEAR(rate.b, 400 / 3.0, 1e-9);
  EXPECT_NEAR(latency.a, 2 / 400.0, 1e-12);
  EXPECT_NEAR(rate.effect * latency.effect, 1, 1e-9) << "the rate and the mean latency contradict";
  EXPECT_EQ(rate.outcome, Outcome::kLess);
  // Without a weight a value is missing.
  rates.push_back({kA, 0, 0, 0, 1, 0});
  rates.push_back({kA, 0, 0, 0, 1, std::nan("")});
  EXPECT_EQ(Compare(rates, {}).left_out, 2);
}

TEST(CompareTest, LeavesOutWhatIsMissingOrHasNoPartner) {
  std::vector<Sample> samples;
  for (int load = 0; load < 3; ++load) {
    for (int slice = 0; slice < 4; ++slice) {
      samples.push_back({kA, load, 0, slice, 100.0 + slice});
      samples.push_back({kB, load, 0, slice, 200.0 + 2 * slice});
    }
    samples.push_back({kA, load, 0, 7, 1});             // B has no slice 7
    samples.push_back({kB, load, 0, 8, std::nan("")});  // missing
  }
  samples.push_back({kA, 9, 0, 0, 5});  // B has no load 9
  const Answer answer = Compare(samples, {});
  EXPECT_EQ(answer.left_out, 7);
  EXPECT_EQ(answer.loads_a, 3);
  EXPECT_NEAR(answer.effect, 2, 1e-12);
  EXPECT_NEAR(answer.low, 2, 1e-9);
}

// `testbed explain same` and docs/first-hour.md say so. At 9 degrees of freedom the one-sided tests
// ask for 1.83 standard errors, and the interval reaches to 2.26 of them.
TEST(CompareTest, TheIntervalOfSidesThatAreTheSameMayReachBeyondTheMargin) {
  std::vector<double> near;
  for (int i = 0; i < 10; ++i) near.push_back(std::exp(i % 2 == 0 ? 0.029 : -0.029));
  const Answer answer = Compare(Samples(std::vector<double>(10, 1.0), near), {.margin = 0.02});
  EXPECT_EQ(answer.scale, Scale::kRatio);
  EXPECT_EQ(answer.outcome, Outcome::kSame);
  EXPECT_GT(answer.high, 1.02);
}

TEST(CompareTest, EqualCountsAreTheSameAndATenthOfAPercentIsFound) {
  const Answer same = Compare(Samples({3.03, 3.15, 3.08}, {3.03, 3.15, 3.08}), {});
  EXPECT_EQ(same.outcome, Outcome::kSame);
  EXPECT_EQ(same.effect, 1);
  const Answer more =
      Compare(Samples({3.03, 3.15, 3.08}, {3.03 * 1.001, 3.15 * 1.001, 3.08 * 1.001}), {});
  EXPECT_EQ(more.outcome, Outcome::kMore);
  EXPECT_NEAR(more.effect, 1.001, 1e-9);
  const Answer zero = Compare(Samples({0, 0, 0}, {0, 0, 0}), {});
  EXPECT_EQ(zero.outcome, Outcome::kSame);
  EXPECT_EQ(Compare(Samples({0, 0, 0}, {0, 0, 0}), {.pairing = Pairing::kNone}).outcome,
            Outcome::kSame);
  const Answer some = Compare(Samples({0, 0, 0}, {2, 2, 2}), {});
  EXPECT_EQ(some.outcome, Outcome::kMore);
  EXPECT_EQ(some.effect, 2);
}

TEST(CompareTest, EqualCoarseValuesAreNoCertainty) {
  const std::vector<Sample> samples = Samples({100, 100, 100}, {101.5, 101.5, 101.5});
  EXPECT_EQ(Compare(samples, {}).outcome, Outcome::kMore);
  EXPECT_EQ(Compare(samples, {.resolution = 1.0 / 64}).outcome, Outcome::kUnknown);
}

// The true values differ by 0.1 %, and a border between two steps lies between them. Rounding moves
// all loads alike, so that no number of loads can tell a difference of one step.
TEST(CompareTest, AStepIsNoDifferenceHoweverManyLoadsThereAre) {
  constexpr double kStep = 1.0 / 64;
  const double a = 100, b = 100 * (1 + kStep);
  for (const Pairing pairing : {Pairing::kLoads, Pairing::kNone}) {
    for (size_t n : {size_t{3}, size_t{20}, size_t{100}}) {
      const auto compare = [&](double of_b) {
        return Compare(Samples(std::vector<double>(n, a), std::vector<double>(n, of_b)),
                       {.pairing = pairing, .resolution = kStep});
      };
      const Answer step = compare(b);
      EXPECT_EQ(step.outcome, Outcome::kUnknown) << n;
      EXPECT_LE(step.low, 1.001) << n;
      EXPECT_FALSE(step.more) << "no number of loads would tell";
      EXPECT_EQ(compare(a * (1 + 3 * kStep)).outcome, Outcome::kMore) << n;
      // Values of one step are within 1.6 % of each other for sure.
      EXPECT_EQ(compare(a).outcome, Outcome::kSame) << n;
    }
  }
  // Where the loads spread over several steps, their rounding errors average out.
  std::vector<double> first, second;
  for (int i = 0; i < 40; ++i) {
    first.push_back(100 * (1 + kStep * (i % 5)));
    second.push_back(101 * (1 + kStep * (i % 5)));
  }
  const Answer spread = Compare(Samples(first, second), {.resolution = kStep});
  EXPECT_EQ(spread.rounding, 0);
  EXPECT_EQ(spread.outcome, Outcome::kMore);
}

// The median of a cached read is 33 or 34 ns, as a clock of nanoseconds reads it.
TEST(CompareTest, AStepOfFixedSizeIsLargeAmongSmallValues) {
  const Metric& p50 = *FindMetric("p50");
  EXPECT_EQ(p50.grain, 0.001) << "percentiles are in microseconds";
  EXPECT_EQ(MetricNamed("update.p50")->grain, 0.001);
  for (const Pairing pairing : {Pairing::kLoads, Pairing::kNone}) {
    const auto compare = [&](double a, double b, double grain) {
      return Compare(Samples({a, a, a, a}, {b, b, b, b}),
                     {.pairing = pairing, .resolution = p50.resolution, .grain = grain});
    };
    EXPECT_EQ(compare(0.033, 0.034, 0).outcome, Outcome::kMore);
    EXPECT_EQ(compare(0.033, 0.034, p50.grain).outcome, Outcome::kUnknown);
    EXPECT_EQ(compare(0.033, 0.036, p50.grain).outcome, Outcome::kMore);
    // Among larger values the buckets are wider than a nanosecond.
    EXPECT_EQ(compare(33, 33.4, p50.grain).outcome, compare(33, 33.4, 0).outcome);
    EXPECT_EQ(compare(33, 34.5, p50.grain).outcome, Outcome::kMore);
    // Without a ratio the step is what it is.
    EXPECT_EQ(compare(0, 0.001, p50.grain).outcome, Outcome::kUnknown);
    EXPECT_EQ(compare(0, 0.003, p50.grain).outcome, Outcome::kMore);
  }
}

TEST(CompareTest, AnyValuesGetAnAnswer) {
  const double huge = std::numeric_limits<double>::max(), tiny = 5e-324;
  const double infinity = std::numeric_limits<double>::infinity();
  for (const std::vector<double>& b : {std::vector<double>{huge, -huge, huge, 0},
                                       {tiny, tiny, tiny, tiny},
                                       {0, 0, 0, huge},
                                       {-1, -1, -1, -1},
                                       {infinity, 1, 1, 1},
                                       {infinity, infinity, infinity, infinity}}) {
    for (Pairing pairing : {Pairing::kLoads, Pairing::kNone}) {
      for (bool sequential : {false, true}) {
        const CompareOptions options = {
            .pairing = pairing, .sequential = sequential, .resolution = 0.1};
        std::vector<Answer> answers = {Compare(Samples({1, 2, 3, 4}, b), options),
                                       Compare(Samples(b, {huge, huge, huge, 1}), options)};
        CorrectByHolm(answers);
        ControlFalseDiscoveries(answers);
        for (const Answer& answer : answers) {
          EXPECT_FALSE(Sentence(answer, Metrics()[0]).empty());
          EXPECT_GE(answer.p, 0);
          EXPECT_LE(answer.p, 1);
        }
      }
    }
  }
}

TEST(CompareTest, FewLoadsTellNothing) {
  const Answer none = Compare({}, {});
  EXPECT_EQ(none.reason, Reason::kNoValues);
  EXPECT_FALSE(none.more);
  for (int loads : {1, 2}) {
    const std::vector<double> a(static_cast<size_t>(loads), 1), b(static_cast<size_t>(loads), 2);
    const Answer answer = Compare(Samples(a, b), {.seconds_per_load = 10});
    EXPECT_EQ(answer.outcome, Outcome::kUnknown);
    EXPECT_EQ(answer.reason, Reason::kFewLoads);
    EXPECT_EQ(answer.effect, 2);
    EXPECT_EQ(answer.more->loads, 3 - loads);
    EXPECT_EQ(answer.more->seconds, 10 * (3 - loads));
  }
  EXPECT_EQ(std::isinf(Compare(Samples({1}, {2}), {}).high), true);
}

TEST(CompareTest, ForecastsTheLoadsThatWouldTell) {
  const std::vector<double> a = {100, 100, 100, 100, 100}, b = {97, 100, 103, 106, 104};
  const Answer answer = Compare(Samples(a, b), {});
  ASSERT_EQ(answer.reason, Reason::kTooWide);
  ASSERT_TRUE(answer.more);
  // With the same spread, the forecast number of loads is enough to tell, and one load less is not.
  const int n = 5 + answer.more->loads;
  const auto told = [&](int loads) {
    const double error = answer.standard_error * std::sqrt(5.0 / loads);
    return answer.center > error * StudentQuantile(0.025, loads - 1);
  };
  EXPECT_TRUE(told(n));
  EXPECT_FALSE(told(n - 1));
}

// Three loads of the second side agree by chance. Welch's interval alone would be a third as wide.
TEST(CompareTest, TheWiderOfWelchsAndStudentsIntervalsCounts) {
  const std::vector<double> few = {102, 102.1, 101.9};
  std::vector<double> many;
  for (int i = 0; i < 30; ++i) many.push_back(100 + (i % 2 == 0 ? 3 : -3));
  const CompareOptions unpaired = {.pairing = Pairing::kNone};
  const Answer answer = Compare(Samples(many, few), unpaired);
  EXPECT_FALSE(answer.low > 1 || answer.high < 1) << answer.low << " to " << answer.high;
  EXPECT_EQ(answer.outcome, Outcome::kUnknown);
  EXPECT_EQ(Compare(Samples(few, many), unpaired).outcome, Outcome::kUnknown);
  EXPECT_EQ(answer.pooled_freedom, 31);
  const double pooled =
      (29 * (*answer.spreads)[kA] + 2 * (*answer.spreads)[kB]) / 31 * (1 / 30.0 + 1 / 3.0);
  EXPECT_NEAR(answer.pooled_error, std::sqrt(pooled), 1e-12);
  EXPECT_NEAR(std::log(answer.high / answer.effect),
              answer.pooled_error * StudentQuantile(0.025, 31), 1e-9);
  EXPECT_NEAR(answer.p, 2 * StudentTail(answer.center / answer.pooled_error, 31), 1e-9);
  // When the side with few loads spreads more, Welch's interval is the wider one.
  const Answer noisy = Compare(Samples(many, {90, 102, 115}), unpaired);
  EXPECT_NEAR(std::log(noisy.high / noisy.effect),
              noisy.standard_error * StudentQuantile(0.025, noisy.freedom), 1e-9);
  EXPECT_GT(noisy.standard_error, noisy.pooled_error);
  // With equal numbers of loads Welch's interval is never the narrower one.
  EXPECT_NEAR(Compare(Samples(few, few), unpaired).freedom, 4, 1e-6);
}

// The side with many loads is the noisy one. A few more loads of each side reduce its error little.
TEST(CompareTest, ForecastsTheLoadsOfSidesThatHaveUnequalNumbers) {
  const std::vector<double> a = {100, 100.1, 99.9, 100};
  std::vector<double> b;
  for (int i = 0; i < 20; ++i) b.push_back(104.5 + (i % 2 == 0 ? 10 : -10));
  const Answer answer = Compare(Samples(a, b), {.pairing = Pairing::kNone});
  ASSERT_EQ(answer.reason, Reason::kTooWide);
  ASSERT_TRUE(answer.more);
  const auto told = [&](int more) {
    const double n = 4 + more, m = 20 + more;
    const double of_a = (*answer.spreads)[kA] / n, of_b = (*answer.spreads)[kB] / m;
    const double freedom =
        std::pow(of_a + of_b, 2) / (of_a * of_a / (n - 1) + of_b * of_b / (m - 1));
    const double pooled =
        ((n - 1) * (*answer.spreads)[kA] + (m - 1) * (*answer.spreads)[kB]) / (n + m - 2);
    const double welch = std::sqrt(of_a + of_b) * StudentQuantile(0.025, freedom);
    const double student = std::sqrt(pooled / n + pooled / m) * StudentQuantile(0.025, n + m - 2);
    return answer.center > std::max(welch, student);
  };
  EXPECT_TRUE(told(answer.more->loads));
  EXPECT_FALSE(told(answer.more->loads - 1));
  EXPECT_NEAR(std::sqrt((*answer.spreads)[kA] / 4 + (*answer.spreads)[kB] / 20),
              answer.standard_error, 1e-12);
  EXPECT_FALSE(Compare(Samples(a, a), {}).spreads) << "pairs";
}

TEST(CompareTest, LooksMakeTheIntervalWiderAndAreTakenAtFixedNumbers) {
  std::vector<double> a, b;
  for (int i = 0; i < 11; ++i) {
    a.push_back(100);
    b.push_back(102 + i % 3);
  }
  const Answer fixed = Compare(Samples(a, b), {});
  const Answer looking = Compare(Samples(a, b), {.sequential = true});
  EXPECT_EQ(looking.loads_a, 10);
  EXPECT_EQ(looking.left_out, 2);
  EXPECT_LT(looking.low, fixed.low);
  EXPECT_GT(looking.p, fixed.p);
  // When the comparison has ended, all loads count: no later look will come to count them.
  const Answer ended = Compare(Samples(a, b), {.sequential = true, .ended = true});
  EXPECT_EQ(ended.loads_a, 11);
  EXPECT_EQ(ended.left_out, 0);
  EXPECT_LT(ended.low, fixed.low);
  EXPECT_EQ(LastLook(2), 0);
  EXPECT_EQ(LastLook(11), 11);
  EXPECT_EQ(LastLook(1000), 100);
  EXPECT_EQ(LookAt(2), 0);
  EXPECT_EQ(LookAt(11), 10);
  EXPECT_EQ(LookAt(1000), 100);
  EXPECT_EQ(NextLook(10), 12);
  EXPECT_EQ(NextLook(100), 0);
  EXPECT_NEAR(AnytimeTail(LookTail(0.025)), 0.025, 1e-9);
  EXPECT_EQ(AnytimeTail(0.9), 1);
  EXPECT_NEAR(AnytimeTail(1e-20), 16e-20, 1e-25);
}

TEST(CorrectionsTest, AdjustAsPublished) {
  // R's p.adjust of these four.
  EXPECT_THAT(HolmAdjusted(std::vector<double>{0.01, 0.04, 0.03, 0.005}),
              ElementsAre(::testing::DoubleEq(0.03), ::testing::DoubleEq(0.06),
                          ::testing::DoubleEq(0.06), ::testing::DoubleEq(0.02)));
  // The example of Benjamini and Hochberg, 1995, section 4: four are rejected at 5 %, three by
  // Bonferroni's and Holm's.
  const std::vector<double> p = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                                 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0};
  const auto rejected = [](const std::vector<double>& adjusted) {
    return std::count_if(adjusted.begin(), adjusted.end(), [](double q) { return q <= 0.05; });
  };
  EXPECT_EQ(rejected(BenjaminiHochbergAdjusted(p)), 4);
  EXPECT_EQ(rejected(HolmAdjusted(p)), 3);
  EXPECT_TRUE(HolmAdjusted({}).empty());
}

TEST(CorrectionsTest, IntervalsHoldZeroExactlyWhenNoDifferenceIsTold) {
  for (auto correct : {CorrectByHolm, ControlFalseDiscoveries}) {
    std::vector<Answer> answers;
    for (double shift : {0.2, 1.0, 1.6, 1.8, 2.0, 4.0}) {
      std::vector<double> b = kFirst;
      for (size_t i = 0; i < b.size(); ++i) b[i] += shift + (i % 2 == 0 ? 2.0 : -2.0);
      answers.push_back(Compare(Samples(Exp(kFirst), Exp(b)), {}));
    }
    answers.push_back(Compare({}, {}));
    correct(answers);
    int told = 0;
    for (const Answer& answer : answers) {
      if (answer.reason == Reason::kNoValues) continue;
      const bool differs = answer.low > 1 || answer.high < 1;
      EXPECT_EQ(differs, answer.outcome == Outcome::kMore) << answer.effect;
      told += differs;
    }
    EXPECT_GT(told, 0);
    EXPECT_LT(told, 6);
  }
}

// Holm's method adjusts two p-values to the same value unless the larger one is more than twice the
// smaller one.
TEST(CorrectionsTest, EqualAdjustedValuesHaveIntervalsInTheOrderOfTheirOwn) {
  std::vector<Answer> answers;
  for (double shift : {0.0233, 0.0265}) {
    std::vector<double> b;
    for (double rest : {-0.02, -0.01, 0.0, 0.01, 0.02}) b.push_back(100 * std::exp(shift + rest));
    answers.push_back(Compare(Samples(std::vector<double>(5, 100), b), {}));
  }
  ASSERT_GT(answers[0].p, 0.025);
  ASSERT_LT(answers[0].p, 0.05);
  ASSERT_LT(answers[1].p, 0.025);
  ASSERT_GT(2 * answers[1].p, answers[0].p);
  CorrectByHolm(answers);
  EXPECT_EQ(answers[0].p, answers[1].p);
  for (const Answer& answer : answers) {
    EXPECT_EQ(answer.outcome, Outcome::kMore);
    EXPECT_GT(answer.low, 1);
  }
}

TEST(SentenceTest, SaysWhatIsKnown) {
  const Metric rate = *FindMetric("rate"), p99 = *FindMetric("p99");
  Answer answer = Compare(Samples({100, 100, 100}, {104.1, 104.0, 104.2}), {});
  EXPECT_EQ(Sentence(answer, rate), "B is faster by 4.1 % (3.9 to 4.3)");
  EXPECT_EQ(Sentence(answer, p99, "new"), "p99 of new is higher by 4.1 % (3.9 to 4.3)");
  EXPECT_EQ(EffectText(answer), "+4.1 % (+3.9 to +4.3)");
  answer = Compare(Samples({104.1, 104.0, 104.2}, {100, 100, 100}), {});
  EXPECT_EQ(Sentence(answer, rate), "B is slower by 3.9 % (3.7 to 4.2)");
  answer = Compare(Samples({1, 1, 1}, {4, 4, 4}), {});
  EXPECT_EQ(Sentence(answer, rate), "B is faster by a factor of 4.00 (4.00 to 4.00)");
  answer = Compare(Samples({100, 100, 100}, {100.1, 99.9, 100.1}), {});
  EXPECT_EQ(Sentence(answer, rate), "the same within 2 % (-0.25 to +0.32)");
  answer = Compare(Samples({100}, {120}), {});
  EXPECT_EQ(Sentence(answer, rate),
            "cannot be told from 1 load of each, because loads differ: it takes at least 3 of "
            "each; about 2 more loads of each would be enough");
  answer = Compare(Samples({100, 100, 100}, {98, 103, 105}), {.seconds_per_load = 20});
  EXPECT_THAT(Sentence(answer, rate),
              HasSubstr("cannot be told: B is between 6.7 % slower and 11 % faster; about "));
  EXPECT_EQ(PercentText(999), "99900");
  EXPECT_EQ(PercentText(1.38e13), "1e+15");
  answer.more = Answer::More{2, 0.4};
  EXPECT_THAT(Sentence(answer, rate),
              HasSubstr("; about 1 more second would be enough (2 more loads of"));
  EXPECT_EQ(Sentence(Compare({}, {}), rate),
            "cannot be told: rate was not measured on either side");
}

// The means beside it say that something is left.
TEST(SentenceTest, AFallThatLeavesSomethingIsLessThanAHundredPerCent) {
  EXPECT_EQ(ChangeText(0.959), "4.1");
  EXPECT_EQ(ChangeText(1.041), "4.1");
  EXPECT_EQ(ChangeText(0.01), "99");
  EXPECT_EQ(ChangeText(0.004), "99.6");
  EXPECT_EQ(ChangeText(0.0003), "99.97");
  EXPECT_EQ(ChangeText(0.00004), "99.996");
  EXPECT_EQ(ChangeText(1e-300), "99.999999999");
  EXPECT_EQ(ChangeText(0), "100") << "nothing is left";
  EXPECT_EQ(ChangeText(1.996), "100") << "a rise may be of any size";
  EXPECT_EQ(SignedChangeText(0.004), "-99.6");
  EXPECT_EQ(SignedChangeText(1.041), "+4.1");
  EXPECT_EQ(SignedChangeText(1), "+0.0");
  EXPECT_EQ(SignedChangeText(std::numeric_limits<double>::infinity()), "?");
  const Metric rate = *FindMetric("rate");
  Answer answer = Compare(Samples({1000, 1000, 1000}, {4, 4, 4}), {});
  ASSERT_EQ(answer.outcome, Outcome::kLess);
  EXPECT_EQ(Sentence(answer, rate), "B is slower by 99.6 % (99.6 to 99.6)");
  EXPECT_EQ(EffectText(answer), "-99.6 % (-99.6 to -99.6)");
  answer.outcome = Outcome::kUnknown;
  answer.reason = Reason::kTooWide;
  answer.high = 1.2;
  EXPECT_THAT(Sentence(answer, rate),
              HasSubstr("cannot be told: B is between 99.6 % slower and 20 % faster"));
  answer.outcome = Outcome::kLess;
  EXPECT_EQ(Sentence(answer, rate), "B is slower by 99.6 % (-20 to 99.6)");
}

}  // namespace
}  // namespace testbed
