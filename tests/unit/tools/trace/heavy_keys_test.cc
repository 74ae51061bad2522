#include "tools/trace/heavy_keys.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>

#include "workloads/random.h"

namespace testbed {
namespace {

std::map<uint64_t, HeavyKeys::Counter> CountedOf(const HeavyKeys& heavy) {
  std::map<uint64_t, HeavyKeys::Counter> counted;
  for (const HeavyKeys::Counter& key : heavy.Counted()) counted[key.hash] = key;
  return counted;
}

TEST(HeavyKeysTest, PopularKeysAmongManyOthersAreCountedExactly) {
  constexpr uint64_t kPopular = 100, kRounds = 20000;
  HeavyKeys heavy;
  uint64_t other = kPopular;
  for (uint64_t round = 0; round < kRounds; ++round) {
    heavy.Add(Mix64(round % kPopular), 1);
    for (int i = 0; i < 10; ++i) heavy.Add(Mix64(other++), 1);
  }
  std::map<uint64_t, HeavyKeys::Counter> counted = CountedOf(heavy);
  for (uint64_t key = 0; key < kPopular; ++key) {
    ASSERT_TRUE(counted.contains(Mix64(key))) << key;
    EXPECT_EQ(counted[Mix64(key)].count, kRounds / kPopular);
    EXPECT_EQ(counted[Mix64(key)].before, 0u);
  }
}

TEST(HeavyKeysTest, AKeyThatBecomesPopularLaterHasABoundOnItsAccessesBefore) {
  HeavyKeys heavy;
  for (uint64_t i = 0; i < 200000; ++i) heavy.Add(Mix64(i), 1);
  const uint64_t late = Mix64(1000000);
  EXPECT_FALSE(CountedOf(heavy).contains(late));
  heavy.Add(late, 5000);
  std::map<uint64_t, HeavyKeys::Counter> counted = CountedOf(heavy);
  ASSERT_TRUE(counted.contains(late));
  EXPECT_EQ(counted[late].count, 5000u);
  EXPECT_GT(counted[late].before, 0u);
  EXPECT_LT(counted[late].before, 100u);
}

}  // namespace
}  // namespace testbed
