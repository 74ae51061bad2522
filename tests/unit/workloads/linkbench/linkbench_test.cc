// Tests LinkBench's draws and degrees against their sources and against direct computation.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "workloads/linkbench/access.h"
#include "workloads/linkbench/degree.h"
#include "workloads/linkbench/history.h"
#include "workloads/linkbench/random.h"

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
  JavaRandom power(42);  // a power of two takes the high bits
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
  // The method draws the first two ranks exactly, and the others by an integral. So the shares of
  // ranges of ranks are close to the sums, as its authors claim.
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
  EXPECT_NEAR(sum / 200001, 277, 4);  // the mean is 1.65 x the median
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

// These are the degrees of the specification's table, within the model's error of 0.3 %.
TEST(LinkbenchDegreeTest, LinksPerNodeAreThoseOfTheOriginal) {
  auto links = [](uint64_t nodes) {
    return LinksPerNode({.nodes = nodes, .types = 2, .is_2017 = true, .capped = false});
  };
  EXPECT_NEAR(links(1000), 4184, 1);
  EXPECT_NEAR(links(100000), 46, 0.5);
  EXPECT_NEAR(links(1000000), 8.57, 0.03);
  EXPECT_NEAR(links(10000000), 4.91, 0.015);
}

// The published tables of loads of 2015, with the distribution of 2011, give seconds and links per
// second, whose product is the number of links.
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
  // The ranks are compared, because the shuffle moves none of so few nodes.
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

class LinkbenchAccessTest : public testing::Test {
 protected:
  static constexpr uint64_t kNodes = 10000;
  const Access& Make(const std::map<std::string, std::string>& options) {
    DatasetOptions rows;
    rows.rows = kNodes;
    WorkloadOptions workload;
    workload.extra = options;
    access_ = std::make_unique<Access>(Settings(Dataset(rows), workload), workload);
    return *access_;
  }
  // Returns the share of the accesses drawn by `draw` that go to the id.
  template <typename DrawId>
  double ShareOf(uint64_t id, DrawId&& draw) {
    constexpr int kDraws = 500000;
    Chooser chooser(*access_, 3);
    int hits = 0;
    for (int i = 0; i < kDraws; ++i) hits += draw(chooser) == id;
    return static_cast<double>(hits) / kDraws;
  }
  static double HottestShare(double shape) { return 1 / GeneralisedHarmonic(kNodes, shape); }
  std::unique_ptr<Access> access_;
};

TEST_F(LinkbenchAccessTest, OperationsAreDrawnByTheirShares) {
  constexpr int kDraws = 1000000;
  for (const char* mix : {"2017", "2011", "read-node", "read-list"}) {
    const Access& access = Make({{"mix", mix}});
    double all = 0;
    for (double share : MixOf(mix)) all += share;
    EXPECT_NEAR(all, 100, 1e-4) << mix;
    Chooser chooser(access, 11);
    std::vector<double> counts(kOps);
    for (int i = 0; i < kDraws; ++i) counts[chooser.NextOp()] += 1;
    for (size_t op = 0; op < kOps; ++op) {
      const double share = MixOf(mix)[op] / 100;
      const double sigma = std::sqrt(share * (1 - share) / kDraws);
      EXPECT_NEAR(counts[op] / kDraws, share, std::min(5 * sigma, 0.0025)) << mix << kOpNames[op];
    }
  }
  auto writes = [](const Mix& mix) {
    return mix[kAddLink] + mix[kDeleteLink] + mix[kUpdateLink] + mix[kAddNode] + mix[kUpdateNode] +
           mix[kDeleteNode];
  };
  EXPECT_NEAR(writes(MixOf("2017")), 17.0, 0.05);
  EXPECT_NEAR(writes(MixOf("2011")), 30.9, 0.05);
}

TEST_F(LinkbenchAccessTest, TheMixIsThatOfTheDistributionUnlessGiven) {
  EXPECT_EQ(Make({}).mix_name, "2017");
  EXPECT_EQ(Make({{"distribution", "2011"}}).mix_name, "2011");
  EXPECT_EQ(Make({{"distribution", "2011"}, {"mix", "2017"}}).mix_name, "2017");
}

TEST_F(LinkbenchAccessTest, ReadsOfLinksBlendTwoSkews) {
  Make({});
  const uint64_t degree = kFirstId + InvertibleShuffler(kDegreeSeed, kNodes).Permute(0);
  const uint64_t other = kFirstId + InvertibleShuffler(kUncorrelatedSeed, kNodes).Permute(0);
  auto read = [](Chooser& chooser) { return chooser.LinkRead(); };
  EXPECT_NEAR(ShareOf(other, read), 0.995 * HottestShare(0.8), 0.001);
  EXPECT_NEAR(ShareOf(degree, read), 0.005 * HottestShare(0.8), 0.0004);
  Make({{"read_uncorrelated", "0"}});
  EXPECT_NEAR(ShareOf(degree, read), HottestShare(0.8), 0.001);
}

TEST_F(LinkbenchAccessTest, WritesOfLinksUseTheReadsSkewUnlessMended) {
  const uint64_t other = kFirstId + InvertibleShuffler(kUncorrelatedSeed, kNodes).Permute(0);
  auto write = [](Chooser& chooser) { return chooser.LinkWrite(); };
  Make({});
  EXPECT_NEAR(ShareOf(other, write), 0.995 * HottestShare(0.8), 0.001);
  Make({{"bugs", "mended"}});
  EXPECT_NEAR(ShareOf(other, write), 0.95 * HottestShare(0.741), 0.001);
  // The two shares differ by more than the tolerance.
  EXPECT_GT(0.995 * HottestShare(0.8), 0.95 * HottestShare(0.741) + 0.003);
}

TEST_F(LinkbenchAccessTest, NodesHaveSkewsOfTheirOwn) {
  Make({});
  const uint64_t hot = kFirstId + InvertibleShuffler(kNodeAccessSeed, kNodes).Permute(0);
  EXPECT_NEAR(ShareOf(hot, [](Chooser& c) { return c.NodeRead(); }), HottestShare(0.625), 0.0008);
  EXPECT_NEAR(ShareOf(hot, [](Chooser& c) { return c.NodeUpdate(); }), HottestShare(0.606), 0.0008);
  EXPECT_LT(ShareOf(hot, [](Chooser& c) { return c.NodeDelete(); }), 0.001);
}

TEST_F(LinkbenchAccessTest, MultigetsAskForOneIdTooManyUnlessMended) {
  for (const bool kept : {true, false}) {
    Chooser chooser(Make({{"bugs", kept ? "kept" : "mended"}}), 5);
    double sum = 0;
    int least = kMaxMultiget;
    for (int i = 0; i < 200000; ++i) {
      const int size = chooser.MultigetSize();
      least = std::min(least, size);
      ASSERT_LE(size, kMaxMultiget);
      sum += size;
    }
    EXPECT_NEAR(sum / 200000, (kept ? 1 : 0) + 1 / 0.382, 0.03);
    EXPECT_EQ(least, kept ? 2 : 1);
  }
}

TEST_F(LinkbenchAccessTest, TheIdsOfAMultigetDiffer) {
  Chooser chooser(Make({}), 5);
  std::vector<uint64_t> ids;
  for (int i = 0; i < 20000; ++i) {
    const uint64_t id1 = chooser.LinkRead(), type = chooser.LinkType();
    ASSERT_TRUE(type == kFirstLinkType || type == kFirstLinkType + 1);
    chooser.Multiget(id1, type, &ids);
    ASSERT_EQ(std::set<uint64_t>(ids.begin(), ids.end()).size(), ids.size());
  }
}

TEST_F(LinkbenchAccessTest, TheSecondIdIsALoadedOneAsOftenAsItShould) {
  const Access& access = Make({});
  Chooser chooser(access, 5);
  for (double share : {0.05, 0.5, 0.9}) {
    int loaded = 0;
    for (int i = 0; i < 100000; ++i) {
      const uint64_t id1 = chooser.NodeDelete(), type = chooser.LinkType();
      const uint64_t id2 = chooser.Id2(id1, type, share);
      const uint64_t links = access.degrees.Links(id1 - kFirstId, 0);
      loaded += id2 >= id1 && id2 < id1 + links;
    }
    EXPECT_NEAR(loaded / 1e5, share, 0.01);
  }
}

TEST(LinkbenchHistoryTest, ListsGoOnUntilTheyEnd) {
  ListHistory history(3);
  Random random(1);
  EXPECT_TRUE(history.empty());
  history.Add({1, 7, 100}, random);
  history.Add({1, 7, 50}, random);  // does nothing: the list is in the history already
  EXPECT_EQ(history.size(), 1u);
  EXPECT_EQ(history.Any(random).time, 100u);
  history.Continue({1, 7, 60}, true);
  EXPECT_EQ(history.Any(random).time, 60u);
  history.Continue({2, 7, 60}, false);  // does nothing: the list is not in the history
  history.Continue({1, 7, 10}, false);
  EXPECT_TRUE(history.empty());
  for (uint64_t id = 1; id <= 10; ++id) history.Add({id, 7, id}, random);
  EXPECT_EQ(history.size(), 3u);
  for (uint64_t id = 1; id <= 10; ++id) history.Continue({id, 7, 0}, false);
  EXPECT_TRUE(history.empty());
}

}  // namespace
}  // namespace testbed::linkbench
