// Tests the models of mixgraph: compares shares of operations, keys and sizes with the published
// distributions, at a level of 1 %. The seeds are fixed, so the tests do not fail by chance.
#include "workloads/mixgraph/models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "device/error.h"
#include "workloads/random.h"

namespace testbed::mixgraph {
namespace {

constexpr uint64_t kRows = 1'000'000;
constexpr int kDraws = 200'000;

Options ZippyDb() { return Options::From({{"model", "zippydb"}}); }

// Returns the sum of (seen - expected)^2 / expected.
double ChiSquare(const std::vector<double>& seen, const std::vector<double>& expected) {
  double sum = 0;
  for (size_t i = 0; i < seen.size(); ++i) {
    sum += (seen[i] - expected[i]) * (seen[i] - expected[i]) / expected[i];
  }
  return sum;
}

// Returns the 99 % quantile of the chi-square distribution with that many degrees of freedom, by
// the approximation of Wilson and Hilferty.
double Critical(size_t degrees) {
  const double n = static_cast<double>(degrees), a = 2 / (9 * n);
  return n * std::pow(1 - a + 2.326 * std::sqrt(a), 3);
}

TEST(MixgraphModelsTest, TheFirstNumberIsThatOfTheStandardGenerator) {
  for (const uint64_t seed : {0ull, 1ull, 2ull, 5489ull, 123456789012345678ull, ~0ull}) {
    EXPECT_EQ(FirstOfMersenneTwister(seed), std::mt19937_64(seed)()) << seed;
  }
}

TEST(MixgraphModelsTest, OperationsHaveTheirShares) {
  const Options options = ZippyDb();
  const QueryModel queries(options);
  Random random(1);
  std::vector<double> seen(3);
  for (int i = 0; i < kDraws; ++i) ++seen[queries.Of(random.Below(kRows))];
  std::vector<double> expected;
  for (const double share : {0.83, 0.14, 0.03}) expected.push_back(share * kDraws);
  EXPECT_LT(ChiSquare(seen, expected), Critical(2));
  const QueryModel reads{Options()};
  for (uint64_t word = 0; word < 5000; ++word) ASSERT_EQ(reads.Of(word), QueryModel::kGet);
  EXPECT_EQ(
      QueryModel(Options::From(
                     {{"mix_get_ratio", "50"}, {"mix_put_ratio", "25"}, {"mix_seek_ratio", "25"}}))
          .share(QueryModel::kPut),
      0.25);
}

TEST(MixgraphModelsTest, KeyRangesAreAsHotAsTheTwoTermExponentialSays) {
  const Options o = ZippyDb();
  const KeyModel keys(o, kRows);
  EXPECT_STREQ(keys.name(), "prefix_dist");
  ASSERT_EQ(keys.ranges().size(), 30u);
  const auto hotness = [&](uint64_t rank) {
    const auto x = static_cast<double>(rank);
    return o.keyrange_a * std::exp(o.keyrange_b * x) + o.keyrange_c * std::exp(o.keyrange_d * x);
  };
  // Shares are whole multiples of that of the coldest range, rounded down.
  const double scale = std::floor(1 / hotness(30)) + 1;
  double all = 0;
  std::vector<uint64_t> accesses;
  for (const KeyModel::Range& range : keys.ranges()) {
    EXPECT_EQ(static_cast<double>(range.begin), all);
    all += static_cast<double>(range.accesses);
    accesses.push_back(range.accesses);
  }
  const auto hotter = std::greater<>();
  EXPECT_FALSE(std::is_sorted(accesses.begin(), accesses.end())) << "they are scattered";
  EXPECT_FALSE(std::is_sorted(accesses.begin(), accesses.end(), hotter)) << "they are scattered";
  std::sort(accesses.begin(), accesses.end(), hotter);
  for (uint64_t rank = 1; rank <= 30; ++rank) {
    EXPECT_EQ(accesses[rank - 1], std::floor(scale * hotness(rank))) << rank;
  }
  Random random(2);
  std::vector<double> seen(30), expected;
  for (int i = 0; i < kDraws; ++i) {
    const uint64_t key = keys.Key(random.Below(kRows));
    ASSERT_LT(key, kRows);
    ++seen[key / (kRows / 30)];
  }
  for (const KeyModel::Range& range : keys.ranges()) {
    expected.push_back(kDraws * static_cast<double>(range.accesses) / all);
  }
  EXPECT_LT(ChiSquare(seen, expected), Critical(29));
}

TEST(MixgraphModelsTest, HotKeysHaveTheSharesOfThePowerLaw) {
  Options o;
  o.key_a = 0.002312;
  o.key_b = 0.3467;
  const KeyModel keys(o, kRows);
  EXPECT_STREQ(keys.name(), "all_dist");
  constexpr uint64_t kHot = 50;
  std::vector<uint64_t> hot;  // the keys of the ranks from 1 on
  for (uint64_t rank = 1; rank <= kHot; ++rank) {
    hot.push_back(std::mt19937_64(rank)() % kRows);
  }
  const auto up_to = [&](uint64_t rank) {
    return o.key_a * std::pow(static_cast<double>(rank), o.key_b);
  };
  Random random(3);
  std::vector<double> seen(kHot + 1), expected;
  for (int i = 0; i < kDraws; ++i) {
    const uint64_t key = keys.Key(random.Below(kRows));
    ASSERT_LT(key, kRows) << "no key is negative";
    ++seen[static_cast<size_t>(std::find(hot.begin(), hot.end(), key) - hot.begin())];
  }
  for (uint64_t rank = 1; rank <= kHot; ++rank) {
    expected.push_back(kDraws * (up_to(rank) - (rank == 1 ? 0 : up_to(rank - 1))));
  }
  expected.push_back(kDraws * (1 - up_to(kHot)));
  EXPECT_LT(ChiSquare(seen, expected), Critical(kHot));
}

TEST(MixgraphModelsTest, WithoutModelsKeysAreUniform) {
  const KeyModel keys(Options(), kRows);
  EXPECT_STREQ(keys.name(), "all_random");
  EXPECT_EQ(keys.Key(123), 123u);
  Options o;
  o.keyrange_a = 14.18;
  o.keyrange_b = -2.917;
  o.keyrange_num = 4;
  EXPECT_STREQ(KeyModel(o, kRows).name(), "prefix_random");
}

// Compares a sample with its distribution by the test of Kolmogorov and Smirnov, whose statistic is
// the largest distance between the two.
TEST(MixgraphModelsTest, SizesOfValuesFitTheParetoDistribution) {
  const Options o;
  Random random(4);
  std::vector<uint64_t> sizes(kDraws);
  for (uint64_t& size : sizes) {
    size = ValueBytes(o, static_cast<double>(random.Below(kRows)) / static_cast<double>(kRows));
    ASSERT_GE(size, 10u);
    ASSERT_LE(size, o.max_value_size);
  }
  std::sort(sizes.begin(), sizes.end());
  double distance = 0;
  for (uint64_t s = 10; s < 1024; ++s) {
    const auto below = std::upper_bound(sizes.begin(), sizes.end(), s) - sizes.begin();
    const double published =
        1 - std::pow(1 + o.value_k * static_cast<double>(s) / o.value_sigma, -1 / o.value_k);
    distance = std::max(distance, std::abs(static_cast<double>(below) / kDraws - published));
  }
  EXPECT_LT(distance, 1.63 / std::sqrt(kDraws));
}

// db_bench prints these means for 100,000 keys and half reads, a quarter updates, a quarter scans
// (RocksDB's pull request 9711): "avg size: 36.0 value, 504.9 scan".
TEST(MixgraphModelsTest, MeansAreThoseThatDbBenchPrints) {
  const Options o =
      Options::From({{"mix_get_ratio", "50"}, {"mix_put_ratio", "25"}, {"mix_seek_ratio", "25"}});
  constexpr uint64_t kKeys = 100'000;
  const QueryModel queries(o);
  double values = 0, puts = 0, rows = 0, seeks = 0;
  for (uint64_t word = 0; word < kKeys; ++word) {
    const double u = static_cast<double>(word) / static_cast<double>(kKeys);
    if (queries.Of(word) == QueryModel::kPut) {
      ++puts;
      values += static_cast<double>(ValueBytes(o, u));
    } else if (queries.Of(word) == QueryModel::kSeek) {
      ++seeks;
      rows += static_cast<double>(std::min(ScanRows(o, u), kKeys - word));
    }
  }
  EXPECT_EQ(puts, kKeys / 4);
  EXPECT_NEAR(values / puts, 36.0, 0.8) << "three standard errors of 25,000 draws";
  EXPECT_NEAR(rows / seeks, 504.9, 30) << "of 25,000 scans of very different lengths";
}

TEST(MixgraphModelsTest, ExtremeDrawsAndParametersHaveValues) {
  Options o;
  EXPECT_EQ(ValueBytes(o, 0), 10u);
  EXPECT_EQ(ScanRows(o, 0), 0u);
  EXPECT_EQ(InversePareto(1e-300, 0, 2.517, 14.236), INT64_MAX);
  o.value_k = 0;
  EXPECT_EQ(ValueBytes(o, 0.5), 18u) << "25.45 ln 2, rounded up";
  EXPECT_EQ(InversePower(0, 0.002312, 0.3467), 0);
  for (const char* ratio : {"mix_get_ratio", "keyrange_num", "mix_max_value_size"}) {
    EXPECT_THROW(Options::From({{ratio, "0"}}), Error) << ratio;
  }
  EXPECT_THROW(KeyModel(ZippyDb(), 10), Error) << "more ranges than rows";
}

TEST(MixgraphModelsTest, StartsFollowTheSine) {
  const Options o = Options::From({{"sine_mix_rate", "on"},
                                   {"sine_a", "300"},
                                   {"sine_b", "0.5"},
                                   {"sine_d", "200"},
                                   {"sine_mix_rate_interval_milliseconds", "1000"}});
  constexpr int kThreads = 4, kSeconds = 13;
  std::vector<double> count(kSeconds);
  for (int t = 0; t < kThreads; ++t) {
    SineTimes times(o, t, kThreads, 1);
    uint64_t before = 0;
    for (uint64_t at; (at = times.Next()) < kSeconds * 1'000'000'000ull; before = at) {
      ASSERT_GE(at, before);
      ++count[at / 1'000'000'000];
    }
  }
  for (int s = 0; s < kSeconds; ++s) {
    const double rate = 300 * std::sin(0.5 * s) + 200;
    EXPECT_NEAR(count[static_cast<size_t>(s)], std::max(rate, 0.0), 8) << s;
  }
}

// A gap between two starts may span several intervals, and the rate of each must count.
TEST(MixgraphModelsTest, StartsAreAsManyAsTheIntegralOfTheRate) {
  const Options o = Options::From({{"sine_mix_rate", "on"}});  // 1 + sin t, every 10 s
  constexpr int kIntervals = 30;
  double integral = 0;
  for (int i = 0; i < kIntervals; ++i) integral += 10 * (1 + std::sin(10.0 * i));
  for (const int threads : {1, 3, 50}) {
    double count = 0;
    for (int t = 0; t < threads; ++t) {
      SineTimes times(o, t, threads, 1);
      while (times.Next() < kIntervals * 10'000'000'000ull) ++count;
    }
    EXPECT_NEAR(count, integral, 1) << threads;
  }
}

TEST(MixgraphModelsTest, StartsThatArePassedOverAreAsManyAsTheOthers) {
  const Options o = Options::From({{"sine_mix_rate", "on"},
                                   {"sine_a", "100"},
                                   {"sine_d", "50"},
                                   {"sine_mix_rate_interval_milliseconds", "500"}});
  SineTimes one_by_one(o, 1, 3, 1), skipping(o, 1, 3, 1);
  for (const uint64_t n : {0, 1, 2, 10, 1000}) {
    for (uint64_t i = 0; i < n; ++i) (void)one_by_one.Next();
    skipping.Skip(n);
    EXPECT_NEAR(static_cast<double>(skipping.Next()), static_cast<double>(one_by_one.Next()), 1e4)
        << n;
  }
}

// The rate is below 0 at the beginning and in half of all intervals. The clients must keep their
// order over these.
TEST(MixgraphModelsTest, ClientsKeepTheirTurns) {
  const Options o = Options::From({{"sine_mix_rate", "on"},
                                   {"sine_a", "100"},
                                   {"sine_c", "-1.57"},
                                   {"sine_d", "0"},
                                   {"sine_mix_rate_interval_milliseconds", "500"}});
  constexpr int kThreads = 4;
  std::vector<uint64_t> starts;
  for (int t = 0; t < kThreads; ++t) {
    SineTimes times(o, t, kThreads, 1);
    for (int i = 0; i < 500; ++i) starts.push_back(times.Next());
  }
  std::sort(starts.begin(), starts.end());
  EXPECT_GE(starts.front(), 500'000'000u);
  for (size_t i = 1; i < starts.size(); ++i) {
    ASSERT_GE(starts[i] - starts[i - 1], 9'999'000u) << "at most 100 a second: " << i;
  }
}

TEST(MixgraphModelsTest, ARateThatIsNeverAboveZeroIsRefused) {
  using Extra = std::map<std::string, std::string>;
  const Extra none = {{"sine_a", "0"}, {"sine_d", "0"}};
  const Extra flat = {{"sine_a", "5"}, {"sine_b", "0"}, {"sine_c", "-1"}, {"sine_d", "4"}};
  for (Extra extra : {none, flat}) {
    EXPECT_NO_THROW(Options::From(extra));
    extra["sine_mix_rate"] = "on";
    EXPECT_THROW(Options::From(extra), Error);
  }
  Options o;
  o.sine_a = o.sine_d = 0;
  SineTimes times(o, 0, 1, 1);
  for (int i = 0; i < 2; ++i) {
    const uint64_t never = times.Next();
    EXPECT_GT(never, 30 * 86'400'000'000'000ull);
    EXPECT_LT(never, 1ull << 60) << "a clock of 10 ticks a nanosecond has no room for it";
  }
}

}  // namespace
}  // namespace testbed::mixgraph
