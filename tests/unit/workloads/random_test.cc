#include "workloads/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace testbed {
namespace {

TEST(PermutationTest, IsABijectionOfEverySize) {
  for (uint64_t n : {1, 2, 3, 5, 6, 7, 16, 17, 1000, 4097, 65536, 1000003}) {
    Permutation p(n, 42);
    std::vector<bool> seen(n);
    for (uint64_t i = 0; i < n; ++i) {
      ASSERT_LT(p(i), n);
      ASSERT_FALSE(seen[p(i)]) << n;
      seen[p(i)] = true;
    }
  }
}

TEST(PermutationTest, IsScatteredAndChosenBySeed) {
  Permutation a(100000, 1), b(100000, 2);
  uint64_t same = 0, neighbours = 0;
  for (uint64_t i = 0; i + 1 < 100000; ++i) {
    same += a(i) == b(i);
    neighbours += a(i + 1) == a(i) + 1;
  }
  EXPECT_LT(same, 20u);
  EXPECT_LT(neighbours, 20u);
}

TEST(ZipfianTest, FrequenciesFollowTheLaw) {
  for (double theta : {0.5, 0.99, 1.0, 1.3}) {
    constexpr uint64_t kN = 1000, kDraws = 2000000;
    Zipfian zipfian(kN, theta);
    Random random(7);
    std::vector<double> counts(kN);
    for (uint64_t i = 0; i < kDraws; ++i) counts[zipfian(random)] += 1;
    double norm = 0;
    for (uint64_t k = 1; k <= kN; ++k) norm += std::pow(k, -theta);
    for (uint64_t k : {1, 2, 3, 10, 100, 1000}) {
      const double expected = kDraws * std::pow(k, -theta) / norm;
      EXPECT_NEAR(counts[k - 1], expected, 5 * std::sqrt(expected)) << theta << " rank " << k;
    }
  }
}

TEST(RandomTest, BelowIsUniform) {
  Random random(3);
  std::vector<int> counts(7);
  for (int i = 0; i < 700000; ++i) ++counts[random.Below(7)];
  for (int c : counts) EXPECT_NEAR(c, 100000, 1500);
}

}  // namespace
}  // namespace testbed
