// Tests which rows --distribution draws, against probabilities that are known.
#include "workloads/row_chooser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

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
double Error(double share) { return 4 * std::sqrt(share * (1 - share) / kDraws); }

TEST(RowChooserTest, ScrambledHasThePopularityOfYcsbsRanks) {
  // The sum of 1 / rank^0.99 over 10,000,000,000 ranks, the constant of ScrambledZipfianGenerator.
  constexpr double kZeta = 26.46902820178302;
  const std::vector<double> shares = Shares(Distribution::kScrambled, 7);
  // The ranks that are hashed onto a row add to its share, together as much as to any other row.
  const double rest = (1 - 1 / kZeta) / kRows;
  for (int rank = 1; rank <= 3; ++rank) {
    const double expected = std::pow(rank, -0.99) / kZeta;
    EXPECT_NEAR(shares[static_cast<size_t>(rank - 1)], expected + rest, Error(expected) + rest);
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
    EXPECT_NEAR(shares[static_cast<size_t>(rank - 1)], expected, Error(expected));
  }
}

}  // namespace
}  // namespace testbed
