#include "tools/trace/key_sketch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "workloads/random.h"

namespace testbed {
namespace {

TEST(KeySketchTest, FewKeysAreCountedExactly) {
  KeySketch sketch;
  for (int round = 0; round < 10; ++round) {
    for (uint64_t key = 0; key < 100; ++key) sketch.Touch(Mix64(key));
  }
  EXPECT_TRUE(sketch.exact());
  EXPECT_EQ(sketch.keys(), 100);
  EXPECT_EQ(sketch.first_accesses(), 100);
  EXPECT_EQ(sketch.HitShare(50), 0) << "a loop of 100 keys does not fit";
  EXPECT_NEAR(sketch.HitShare(128), 0.9, 1e-9);
  EXPECT_NEAR(sketch.PopularShare(0.1), 0.1, 1e-9);
}

TEST(KeySketchTest, ACacheThatHoldsALoopAnswersAllButItsFirstRound) {
  KeySketch sketch;
  for (int i = 0; i < 40; ++i) sketch.Touch(Mix64(static_cast<uint64_t>(i % 4)));
  EXPECT_EQ(sketch.HitShare(3), 0);
  EXPECT_NEAR(sketch.HitShare(4), 0.9, 1e-9);
}

TEST(KeySketchTest, HitsOfFewKeysAreCountedByTheirDistances) {
  KeySketch sketch;
  for (int i = 0; i < 8000; ++i) sketch.Touch(Mix64(static_cast<uint64_t>(i % 1000)));
  EXPECT_EQ(sketch.HitShare(999), 0);
  EXPECT_EQ(sketch.HitShare(1000), 0.875);
  EXPECT_EQ(sketch.HitShare(1e9), 0.875);
}

// The distances of a loop of 40,000 keys lie in a bucket that ends at 40,960.
TEST(KeySketchTest, NoDistanceIsTakenToReachBeyondTheNumberOfKeys) {
  KeySketch sketch;
  for (int i = 0; i < 320000; ++i) sketch.Touch(Mix64(static_cast<uint64_t>(i % 40000)));
  ASSERT_FALSE(sketch.exact());
  const double all = 1 - sketch.first_accesses() / 320000;
  EXPECT_NEAR(sketch.HitShare(sketch.keys()), all, 0.02);
  EXPECT_NEAR(sketch.HitShare(40950), all, 0.02) << "no more than all of the bucket";
}

TEST(KeySketchTest, UniformDrawsOfManyKeysAreEstimated) {
  constexpr uint64_t kKeys = 300000;
  KeySketch sketch;
  Random random(1);
  for (int i = 0; i < 3000000; ++i) sketch.Touch(Mix64(random.Below(kKeys)));
  EXPECT_FALSE(sketch.exact());
  EXPECT_NEAR(sketch.keys(), kKeys, 0.03 * kKeys);
  // A cache of half the keys answers half of the accesses, except the first access to each key, a
  // tenth of all.
  EXPECT_NEAR(sketch.HitShare(kKeys / 2), 0.46, 0.06);
  EXPECT_NEAR(sketch.PopularShare(0.5), 0.62, 0.05);
}

TEST(KeySketchTest, ZipfianDrawsAreUneven) {
  KeySketch sketch;
  Random random(2);
  const Zipfian zipfian(100000, 0.99);
  for (int i = 0; i < 1000000; ++i) sketch.Touch(Mix64(zipfian(random)));
  EXPECT_GT(sketch.PopularShare(0.01), 0.3);
  EXPECT_GT(sketch.HitShare(10000), 0.6);
}

// The figures of a stream of keys below `keys`, computed from all of its accesses.
class ExactFigures {
 public:
  ExactFigures(const std::vector<uint64_t>& accesses, uint64_t keys)
      : accesses_(static_cast<double>(accesses.size())),
        counts_(keys),
        distances_(keys),
        last_accesses_(accesses.size() + 1) {
    std::vector<size_t> last(keys);  // place of a key's last access, from 1; 0: none yet
    size_t at = 0;
    for (const uint64_t key : accesses) {
      ++at;
      if (last[key] != 0) {
        ++distances_[LastAccessesUntil(at - 1) - LastAccessesUntil(last[key])];
        Add(last[key], -1);
      } else {
        ++different_;
      }
      Add(at, 1);
      last[key] = at;
      ++counts_[key];
    }
    std::sort(counts_.begin(), counts_.end(), std::greater<>());
  }
  double different() const { return static_cast<double>(different_); }
  double HitShare(double keys) const {
    return SumOfFirst(distances_, static_cast<size_t>(keys)) / accesses_;
  }
  double PopularShare(double share) const {
    return SumOfFirst(counts_, static_cast<size_t>(std::ceil(share * different()))) / accesses_;
  }

 private:
  static double SumOfFirst(const std::vector<uint64_t>& numbers, size_t n) {
    uint64_t sum = 0;
    for (size_t i = 0; i < std::min(n, numbers.size()); ++i) sum += numbers[i];
    return static_cast<double>(sum);
  }
  // A Fenwick tree over the places of the keys' last accesses.
  void Add(size_t place, int change) {
    for (; place < last_accesses_.size(); place += place & (~place + 1)) {
      last_accesses_[place] += change;
    }
  }
  size_t LastAccessesUntil(size_t place) const {
    int sum = 0;
    for (; place != 0; place &= place - 1) sum += last_accesses_[place];
    return static_cast<size_t>(sum);
  }

  const double accesses_;
  std::vector<uint64_t> counts_;     // accesses of the keys, in the end the most first
  std::vector<uint64_t> distances_;  // accesses by reuse distance
  std::vector<int> last_accesses_;
  size_t different_ = 0;
};

// The most popular of 200,000 keys has a thirteenth of the accesses, and one in several keys is in
// the sample: with another hash, others of the popular keys are.
TEST(KeySketchTest, FiguresOfSkewedAccessesDoNotDependOnWhichPopularKeysAreInTheSample) {
  constexpr uint64_t kKeys = 200000;
  Random random(3);
  const Zipfian zipfian(kKeys, 0.99);
  std::vector<uint64_t> accesses;
  for (int i = 0; i < 1000000; ++i) accesses.push_back(zipfian(random));
  const ExactFigures exact(accesses, kKeys);
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    KeySketch sketch;
    for (const uint64_t key : accesses) sketch.Touch(Mix64(seed << 32 | key));
    ASSERT_FALSE(sketch.exact());
    EXPECT_NEAR(sketch.keys(), exact.different(), 0.03 * exact.different()) << seed;
    for (const double share : {0.001, 0.01, 0.1, 0.5, 1.0}) {
      EXPECT_NEAR(sketch.PopularShare(share), exact.PopularShare(share), 0.02)
          << share << " of the keys, hash " << seed;
    }
    for (const double share : {0.01, 0.05, 0.1, 0.2, 0.5, 1.0}) {
      const double cached = share * exact.different();
      EXPECT_NEAR(sketch.HitShare(cached), exact.HitShare(cached), 0.03)
          << share << " of the keys, hash " << seed;
    }
  }
}

}  // namespace
}  // namespace testbed
