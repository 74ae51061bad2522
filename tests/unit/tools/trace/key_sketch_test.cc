#include "tools/trace/key_sketch.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace testbed
