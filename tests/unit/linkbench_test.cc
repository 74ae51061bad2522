// LinkBench's draws and degrees against their sources and against direct computation.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "workloads/linkbench_degree.h"
#include "workloads/linkbench_random.h"

namespace testbed::linkbench {
namespace {

TEST(LinkbenchRandomTest, JavaRandomIsJavas) {
  JavaRandom zero(0);
  EXPECT_EQ(zero.NextInt(), -1155484576);
  EXPECT_EQ(zero.NextInt(), -723955400);
  JavaRandom words(42);
  EXPECT_EQ(words.NextInt(), -1170105035);
  EXPECT_EQ(words.NextInt(), 234785527);
  JavaRandom random(42);
  for (int expected : {0, 3, 8, 4, 0}) EXPECT_EQ(random.NextInt(10), expected);
  JavaRandom power(42);  // of two: the high bits
  EXPECT_EQ(power.NextInt(1024), static_cast<int>((4294967296u - 1170105035u) >> 22));
}

TEST(LinkbenchRandomTest, TheShufflerIsABijectionAndInvertible) {
  for (uint64_t n : {1, 5, 1023, 1024, 1025, 3000, 100000}) {
    const InvertibleShuffler shuffler(kDegreeSeed, n);
    std::vector<bool> seen(n);
    uint64_t moved = 0;
    for (uint64_t i = 0; i < n; ++i) {
      const uint64_t to = shuffler.Permute(i);
      ASSERT_LT(to, n);
      ASSERT_FALSE(seen[to]) << n;
      seen[to] = true;
      ASSERT_EQ(to % std::min<uint64_t>(n, 1024), i % std::min<uint64_t>(n, 1024));
      ASSERT_EQ(shuffler.Invert(to), i) << n;
      moved += to != i;
    }
    if (n == 100000) {
      EXPECT_GT(moved, 95000u);
    }
  }
}

TEST(LinkbenchRandomTest, HarmonicSumsAreThoseOfAllTerms) {
  for (double shape : {0.606, 0.741, 0.8, 1.0}) {
    for (uint64_t n : {1, 999, 1000, 1001, 3000000}) {
      double sum = 0;
      for (uint64_t i = n; i >= 1; --i) sum += std::pow(static_cast<double>(i), -shape);
      EXPECT_NEAR(GeneralisedHarmonic(n, shape), sum, sum * 1e-11) << shape << " " << n;
    }
  }
}

TEST(LinkbenchRandomTest, GrayZipfFollowsTheLaw) {
  // The first two ranks are exact; the others follow an integral, so that shares of stretches of
  // ranks come near the sums, which is what its authors claim.
  constexpr uint64_t kN = 10000, kDraws = 1000000;
  for (double shape : {0.606, 0.625, 0.741, 0.8}) {
    const GrayZipf zipf(kN, shape);
    Random random(5);
    std::vector<double> counts(kN);
    for (uint64_t i = 0; i < kDraws; ++i) counts[zipf(random.Unit())] += 1;
    const double all = GeneralisedHarmonic(kN, shape);
    for (uint64_t rank : {0, 1}) {
      const double expected = kDraws * std::pow(rank + 1, -shape) / all;
      EXPECT_NEAR(counts[rank], expected, 5 * std::sqrt(expected)) << shape << " rank " << rank;
    }
    double drawn = 0;
    for (uint64_t rank = 0; rank < kN; ++rank) {
      drawn += counts[rank];
      if (rank + 1 == 100 || rank + 1 == 1000 || rank + 1 == 5000) {
        EXPECT_NEAR(drawn / kDraws, GeneralisedHarmonic(rank + 1, shape) / all, 0.015)
            << shape << " up to rank " << rank;
      }
    }
    EXPECT_EQ(drawn, kDraws);
  }
}

TEST(LinkbenchRandomTest, SizesAreLogNormalAroundTheMedian) {
  const LogNormalSize size(168, 1 << 20);
  Random random(9);
  std::vector<uint64_t> sizes(200001);
  double sum = 0;
  for (uint64_t& s : sizes) sum += static_cast<double>(s = size(random));
  std::nth_element(sizes.begin(), sizes.begin() + 100000, sizes.end());
  EXPECT_NEAR(static_cast<double>(sizes[100000]), 168, 2);
  EXPECT_NEAR(sum / 200001, 277, 4);  // 1.65 x the median
  const LogNormalSize clamped(23, 254);
  for (int i = 0; i < 100000; ++i) ASSERT_LE(clamped(random), 254u);
}

TEST(LinkbenchDegreeTest, TheCurveOf2017GoesThroughItsQuantiles) {
  const DegreeCurve& curve = DegreeCurve::Of2017();
  EXPECT_NEAR(curve.Mean(), 3.853, 0.01);
  EXPECT_NEAR(curve.ShareUpTo(1), 0.797, 1e-6);
  EXPECT_EQ(curve.Links(0.1), 2u);
  EXPECT_EQ(curve.Links(0.05), 4u);
  EXPECT_EQ(curve.Links(0.01), 22u);
  EXPECT_EQ(curve.Links(0.001), 300u);
  EXPECT_EQ(curve.Links(0.0001), 2940u);
  EXPECT_EQ(curve.Max(), 4181357u);
  uint64_t before = 0;
  for (double tail = 1; tail > 1e-9; tail *= 0.99) {
    ASSERT_GE(curve.Links(tail), before);
    before = curve.Links(tail);
  }
}

TEST(LinkbenchDegreeTest, TheCurveOf2011GoesThroughItsQuantiles) {
  const DegreeCurve& curve = DegreeCurve::Of2011();
  EXPECT_NEAR(curve.Mean(), 4.097, 0.015);
  EXPECT_NEAR(curve.ShareUpTo(0), 0.453, 1e-6);
  EXPECT_EQ(curve.Links(0.01), 15u);
  EXPECT_EQ(curve.Links(0.001), 264u);
  EXPECT_EQ(curve.Max(), 961963u);
}

double LinksPerNode(const DegreeOptions& options) {
  const LinkDegrees degrees(options);
  uint64_t links = 0;
  for (uint64_t id = 0; id < options.nodes; ++id) {
    for (uint32_t type = 0; type < options.types; ++type) links += degrees.Links(id, type);
  }
  return static_cast<double>(links) / static_cast<double>(options.nodes);
}

// The table of degrees of the specification, to its last digit but for the model's 0.3 %.
TEST(LinkbenchDegreeTest, LinksPerNodeAreThoseOfTheOriginal) {
  auto links = [](uint64_t nodes) {
    return LinksPerNode({.nodes = nodes, .types = 2, .is_2017 = true, .capped = false});
  };
  EXPECT_NEAR(links(1000), 4184, 1);
  EXPECT_NEAR(links(100000), 46, 0.5);
  EXPECT_NEAR(links(1000000), 8.57, 0.03);
  EXPECT_NEAR(links(10000000), 4.91, 0.015);
}

// Loads of 2015 with the distribution of 2011: seconds x links per second of published tables.
TEST(LinkbenchDegreeTest, LinksPerNodeAreThoseOfPublishedLoads) {
  auto links = [](uint64_t nodes) {
    return LinksPerNode({.nodes = nodes, .types = 2, .is_2017 = false, .capped = false});
  };
  EXPECT_NEAR(links(2000000), 1629.0 * 5886 / 2e6, 0.05);
  EXPECT_NEAR(links(20000000), 16252.0 * 5421 / 20e6, 0.05);
}

TEST(LinkbenchDegreeTest, TheCapBindsTheHottestNodeAlone) {
  const LinkDegrees capped({.nodes = 1000, .types = 2, .is_2017 = true, .capped = true});
  const LinkDegrees free({.nodes = 1000, .types = 2, .is_2017 = true, .capped = false});
  EXPECT_EQ(capped.LinksOfRank(0), 1000u);
  EXPECT_EQ(free.LinksOfRank(0), 4181357u);
  for (uint64_t rank = 1; rank < 1000; ++rank) {
    ASSERT_EQ(capped.LinksOfRank(rank), free.LinksOfRank(rank));
  }
  EXPECT_NEAR(LinksPerNode({.nodes = 1000, .types = 2, .is_2017 = true, .capped = true}), 4.0, 0.1);
}

TEST(LinkbenchDegreeTest, LinksAreSharedOutAmongTheTypesByEachTimesRule) {
  // By rank: the shuffle of few nodes moves none.
  for (bool bug : {true, false}) {
    const LinkDegrees degrees({.nodes = 1000, .types = 2, .is_2017 = false, .leftover_bug = bug});
    for (uint64_t id = 0; id < 1000; ++id) {
      const uint64_t total = degrees.LinksOfRank(degrees.Rank(id));
      const uint64_t loaded = degrees.Links(id, 0) + degrees.Links(id, 1);
      const uint64_t extra = !bug || total < 2 ? 0 : total == 2 || total % 2 == 1 ? 1 : 2;
      ASSERT_EQ(loaded, total + extra) << total;
    }
  }
  const LinkDegrees degrees({.nodes = 1000, .types = 3, .is_2017 = true});
  for (uint64_t id = 0; id < 1000; ++id) {
    const uint64_t total = std::max<uint64_t>(degrees.LinksOfRank(id), 3);
    for (uint32_t type = 0; type < 3; ++type) ASSERT_EQ(degrees.Links(id, type), total / 3);
  }
}

}  // namespace
}  // namespace testbed::linkbench
