// Tests which rows --distribution draws, against probabilities that are known.
#include "workloads/row_chooser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "device/error.h"
#include "workloads/population.h"

namespace testbed {
namespace {

constexpr uint64_t kRows = 1000, kDraws = 400000;

// Draws rows and returns how often each was drawn, the most popular first.
std::vector<double> Shares(Distribution distribution, uint64_t seed) {
  DatasetOptions data;
  data.rows = kRows;
  const Dataset dataset(data);
  WorkloadOptions options;
  options.distribution = distribution;
  RowChooser chooser(dataset, options, seed);
  std::vector<double> shares(kRows);
  for (uint64_t i = 0; i < kDraws; ++i) shares[chooser.Next()] += 1.0 / kDraws;
  std::sort(shares.begin(), shares.end(), std::greater<>());
  return shares;
}

// Four standard errors of a share that is measured by kDraws draws.
double Deviation(double share) { return 4 * std::sqrt(share * (1 - share) / kDraws); }

TEST(RowChooserTest, ScrambledHasThePopularityOfYcsbsRanks) {
  // The sum of 1 / rank^0.99 over 10,000,000,000 ranks, the constant of ScrambledZipfianGenerator.
  constexpr double kZeta = 26.46902820178302;
  const std::vector<double> shares = Shares(Distribution::kScrambled, 7);
  // All ranks are hashed to rows. Many unpopular ranks meet at each row, and add the same to each.
  const double rest = (1 - 1 / kZeta) / kRows;
  // YCSB's generator, Gray's, asks for the third rank a fifth more often than Zipf's law does.
  const double third = 1.2028 * std::pow(3, -0.99) / kZeta;
  const std::vector<double> expected = {1 / kZeta, std::pow(2, -0.99) / kZeta, third};
  for (size_t rank = 0; rank < expected.size(); ++rank) {
    EXPECT_NEAR(shares[rank], expected[rank] + rest, Deviation(expected[rank]) + rest) << rank;
  }
  EXPECT_GT(shares.back(), 0);
  EXPECT_NEAR(shares[kRows / 2], rest, rest / 2) << "the tail of the ranks is spread evenly";
}

TEST(RowChooserTest, ZipfianRanksTheRowsThemselves) {
  double zeta = 0;
  for (uint64_t rank = 1; rank <= kRows; ++rank) {
    zeta += std::pow(static_cast<double>(rank), -0.99);
  }
  const std::vector<double> shares = Shares(Distribution::kZipfian, 8);
  for (const int rank : {1, 2, 3}) {
    const double expected = std::pow(rank, -0.99) / zeta;
    EXPECT_NEAR(shares[static_cast<size_t>(rank - 1)], expected, Deviation(expected));
  }
}

TEST(RowChooserTest, LatestHasTheRanksOfYcsbsGenerator) {
  double zeta = 0;
  for (uint64_t rank = 1; rank <= kRows; ++rank) {
    zeta += std::pow(static_cast<double>(rank), -0.99);
  }
  const std::vector<double> shares = Shares(Distribution::kLatest, 9);
  EXPECT_NEAR(shares[0], 1 / zeta, Deviation(shares[0]));
  EXPECT_NEAR(shares[1], std::pow(2, -0.99) / zeta, Deviation(shares[1]));
  EXPECT_NEAR(shares[2], 1.17 * std::pow(3, -0.99) / zeta, 1.5 * Deviation(shares[2]));
}

// YCSB's ExponentialGenerator has 95 % of its ages below 0.8571428571 of the rows. CoreWorkload
// draws again where the age is beyond all rows.
TEST(RowChooserTest, ExponentialHasTheAgesOfYcsbsGenerator) {
  DatasetOptions data;
  data.rows = kRows;
  const Dataset dataset(data);
  WorkloadOptions options;
  options.distribution = Distribution::kExponential;
  RowChooser chooser(dataset, options, 10);
  std::vector<double> below(kRows + 1);  // share of the ages below each age
  for (uint64_t i = 0; i < kDraws; ++i) below[kRows - chooser.Next()] += 1.0 / kDraws;
  for (uint64_t age = 1; age <= kRows; ++age) below[age] += below[age - 1];
  const double gamma = -std::log(1 - 0.95) / (0.8571428571 * kRows);
  const auto expected = [gamma](double age) { return 1 - std::exp(-gamma * age); };
  EXPECT_NEAR(expected(857.1428571), 0.95, 1e-9);
  for (const uint64_t age : {10, 100, 286, 500, 857}) {
    const double share = expected(static_cast<double>(age)) / expected(1.0 * kRows);
    EXPECT_NEAR(below[age], share, Deviation(share)) << age;
  }
  EXPECT_NEAR(below[kRows], 1, 1e-9);
}

TEST(RowChooserTest, SequentialHasEachRowOnceInTheOrderOfTheLoad) {
  DatasetOptions data;
  data.rows = kRows;
  data.order = KeyOrder::kPermuted;
  const Dataset dataset(data);
  WorkloadOptions options;
  options.distribution = Distribution::kSequential;
  std::map<uint64_t, uint64_t> place;  // by row, its place in the order of the load
  for (uint64_t i = 0; i < kRows; ++i) place[dataset.RowAt(i)] = i;
  std::set<uint64_t> begins;
  for (const uint64_t seed : {1, 2, 3}) {
    RowChooser chooser(dataset, options, seed);
    uint64_t last = place.at(chooser.Next());
    begins.insert(last);
    for (uint64_t i = 0; i < 2 * kRows; ++i) {
      const uint64_t next = place.at(chooser.Next());
      EXPECT_EQ(next, (last + 1) % kRows);
      last = next;
    }
  }
  EXPECT_EQ(begins.size(), 3u) << "clients begin at different rows";
}

// Returns the 20 rows that are drawn most.
std::set<uint64_t> Hottest(Distribution distribution, uint32_t popular_rows, uint64_t seed,
                           KeyOrder order = KeyOrder::kSequential) {
  DatasetOptions data;
  data.rows = kRows;
  data.order = order;
  const Dataset dataset(data);
  WorkloadOptions options;
  options.distribution = distribution;
  options.popular_rows = popular_rows;
  options.hot_fraction = 0.02;
  RowChooser chooser(dataset, options, seed);
  std::vector<std::pair<uint64_t, uint64_t>> counts(kRows);
  for (uint64_t row = 0; row < kRows; ++row) counts[row] = {0, row};
  for (uint64_t i = 0; i < kDraws; ++i) ++counts[chooser.Next()].first;
  std::sort(counts.begin(), counts.end(), std::greater<>());
  std::set<uint64_t> hottest;
  for (size_t i = 0; i < 20; ++i) hottest.insert(counts[i].second);
  return hottest;
}

size_t CountCommon(const std::set<uint64_t>& a, const std::set<uint64_t>& b) {
  return static_cast<size_t>(
      std::count_if(a.begin(), a.end(), [&](uint64_t row) { return b.contains(row); }));
}

// Two random sets of 20 rows out of 1000 have 0.4 rows in common on average. They have 4 or more in
// common with a probability of 0.06 %.
TEST(RowChooserTest, OtherPopularRowsAreAmongTheFirstOnesByChanceAlone) {
  for (const Distribution distribution :
       {Distribution::kZipfian, Distribution::kScrambled, Distribution::kHot}) {
    const std::set<uint64_t> first = Hottest(distribution, 1, 1);
    EXPECT_GE(CountCommon(first, Hottest(distribution, 1, 2)), 15u) << "of another phase's draws";
    for (const uint32_t other : {2, 3, 50}) {
      const std::set<uint64_t> rows = Hottest(distribution, other, 1);
      EXPECT_LT(CountCommon(first, rows), 4u) << DistributionName(distribution) << other;
      EXPECT_LT(CountCommon(rows, Hottest(distribution, other + 1, 1)), 4u);
    }
  }
}

// Rows that are popular in the order in which they were inserted would lie beside each other in an
// engine that stores rows in that order.
TEST(RowChooserTest, PopularRowsDoNotFollowTheOrderOfInsertion) {
  DatasetOptions data;
  data.rows = kRows;
  data.order = KeyOrder::kPermuted;
  const Dataset dataset(data);
  std::set<uint64_t> first, loaded;
  const Population population(std::make_shared<const Dataset>(data));
  for (uint64_t i = 0; i < 20; ++i) {
    first.insert(dataset.RowAt(i));
    loaded.insert(population.RowOf(i));
  }
  const std::set<uint64_t> popular = Hottest(Distribution::kZipfian, 1, 1, KeyOrder::kPermuted);
  EXPECT_LT(CountCommon(first, popular), 4u);
  EXPECT_LT(CountCommon(loaded, popular), 4u);
}

// Keys of 8 bytes that number the rows have no gaps, so that all absent keys lie behind the last
// row.
TEST(CheckHitRatioTest, RefusesAbsentKeysThatAllLieInOnePlace) {
  for (const KeyOrder order : {KeyOrder::kSequential, KeyOrder::kPermuted, KeyOrder::kRandom}) {
    for (const size_t key_size : {8, 9, 16}) {
      const Dataset dataset({.rows = 100, .order = order, .key_size = key_size});
      const bool refused = key_size == 8 && order != KeyOrder::kRandom;
      EXPECT_NO_THROW(CheckHitRatio(dataset, {.hit_ratio = 1}));
      if (refused) {
        EXPECT_THROW(CheckHitRatio(dataset, {.hit_ratio = 0.9}), Error);
      } else {
        EXPECT_NO_THROW(CheckHitRatio(dataset, {.hit_ratio = 0.9}));
      }
      char absent[16], key[16];
      int between = 0;
      for (uint64_t row = 0; row < 99; ++row) {
        const std::string_view missing = dataset.AbsentKey(row, absent);
        for (uint64_t other = 0; other < 100; ++other) between += missing < dataset.Key(other, key);
      }
      EXPECT_EQ(between == 0, refused) << KeyOrderName(order) << key_size;
    }
  }
}

TEST(GrayZipfTest, AfterAChangeOfItsRanksItIsAsMadeWithThem) {
  GrayZipf zipf(1000, 0.99);
  for (const uint64_t ranks : {1001, 1040, 5000, 4990, 7, 2, 1, 3, 900}) {
    zipf.Resize(ranks);
    const GrayZipf made(ranks, 0.99);
    for (double p = 0; p < 1; p += 0.001) {
      // The sums are added in another order, so rounding may move the border of a rank by one.
      EXPECT_NEAR(static_cast<double>(zipf(p)), static_cast<double>(made(p)), 1)
          << ranks << ' ' << p;
    }
  }
}

}  // namespace
}  // namespace testbed
