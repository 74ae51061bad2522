// Tests sets of numbers as ranges against sets of single numbers, with few ranges and with many.
#include "workloads/range_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "workloads/random.h"

namespace testbed {
namespace {

// The ranges of a model, which has each number of a set on its own.
std::vector<RangeSet::Range> RangesOfModel(const std::set<uint64_t>& model) {
  std::vector<RangeSet::Range> ranges;
  for (const uint64_t n : model) {
    if (!ranges.empty() && ranges.back().end == n) {
      ++ranges.back().end;
    } else {
      ranges.push_back({n, n + 1});
    }
  }
  return ranges;
}

TEST(RangeSetTest, AgreesWithASetOfNumbers) {
  Random random(7);
  RangeSet ranges;
  std::set<uint64_t> model;
  for (int i = 0; i < 20000; ++i) {
    const uint64_t n = random.Below(60);
    if (random.Below(2) == 0) {
      const uint64_t end = n + random.Below(4);
      ranges.Add(n, end);
      for (uint64_t x = n; x < end; ++x) model.insert(x);
    } else {
      ranges.Remove(n);
      model.erase(n);
    }
    ASSERT_EQ(ranges.count(), model.size());
    ASSERT_EQ(ranges.Contains(n), model.contains(n));
    ASSERT_EQ(ranges.CountFrom(n),
              static_cast<uint64_t>(std::distance(model.lower_bound(n), model.end())));
    uint64_t k = 0;
    for (uint64_t x : model) ASSERT_EQ(ranges.At(k++), x);
    ASSERT_EQ(ranges.Ranges(), RangesOfModel(model));
  }
}

// Expects what a set says of single numbers, and of its whole, to be as in a model.
void ExpectAsModel(const RangeSet& ranges, const std::set<uint64_t>& model, Random* random) {
  ASSERT_EQ(ranges.Ranges(), RangesOfModel(model));
  ASSERT_EQ(ranges.count(), model.size());
  ASSERT_EQ(ranges.empty(), model.empty());
  if (model.empty()) return;
  ASSERT_EQ(ranges.first(), *model.begin());
  ASSERT_EQ(ranges.last(), *model.rbegin());
  const std::vector<uint64_t> numbers(model.begin(), model.end());
  for (int i = 0; i < 500; ++i) {
    const uint64_t k = random->Below(numbers.size());
    ASSERT_EQ(ranges.At(k), numbers[k]) << k;
    const uint64_t n = random->Below(numbers.back() + 10);
    const auto from = std::lower_bound(numbers.begin(), numbers.end(), n);
    ASSERT_EQ(ranges.CountFrom(n), static_cast<uint64_t>(numbers.end() - from)) << n;
    ASSERT_EQ(ranges.Contains(n), from != numbers.end() && *from == n) << n;
  }
}

// Holes come in the middle and go again, the front is taken away and the end grows, so that blocks
// are split, emptied and filled.
TEST(RangeSetTest, AgreesWithASetOfNumbersWhenItHasManyRanges) {
  constexpr uint64_t kNumbers = 20000;
  Random random(11);
  RangeSet ranges;
  std::set<uint64_t> model;
  ranges.Add(0, kNumbers);
  for (uint64_t n = 0; n < kNumbers; ++n) model.insert(model.end(), n);
  uint64_t end = kNumbers;
  for (int round = 0; round < 12; ++round) {
    // Rounds with more removals than additions take turns with rounds of the other kind.
    const uint64_t removals = round % 3 == 2 ? 2 : 8;
    for (int i = 0; i < 4000; ++i) {
      const uint64_t n = random.Below(end);
      if (random.Below(10) < removals) {
        ranges.Remove(n);
        model.erase(n);
      } else {
        const uint64_t past = n + random.Below(random.Below(1000) == 0 ? 3000 : 4);
        ranges.Add(n, past);
        for (uint64_t x = n; x < past; ++x) model.insert(x);
      }
      if (!model.empty() && random.Below(8) == 0) {
        ranges.Remove(ranges.first());
        model.erase(model.begin());
      }
      if (random.Below(4) == 0) {
        end += 1 + random.Below(2);
        ranges.Add(end);
        model.insert(end);
      }
    }
    ASSERT_NO_FATAL_FAILURE(ExpectAsModel(ranges, model, &random)) << "round " << round;
  }
  while (!model.empty()) {
    const uint64_t n = random.Below(2) == 0 ? ranges.first() : ranges.At(ranges.count() / 2);
    ranges.Remove(n);
    ASSERT_EQ(model.erase(n), 1u) << n;
  }
  EXPECT_TRUE(ranges.empty());
  EXPECT_EQ(ranges.CountFrom(0), 0u);
  ranges.Add(5, 8);
  EXPECT_EQ(ranges.At(2), 7u);
}

// The sets of 100,000 ranges that a count of the rows makes, and that erases at random make.
std::vector<RangeSet> SetsOfManyRanges(uint64_t ranges) {
  std::vector<RangeSet> sets(2);
  for (uint64_t r = 0; r < ranges; ++r) sets[0].Add(4 * r, 4 * r + 3);
  sets[1].Add(0, 4 * ranges - 1);
  std::vector<uint64_t> holes(ranges - 1);
  for (uint64_t r = 0; r < holes.size(); ++r) holes[r] = 4 * r + 3;
  Random random(3);
  for (size_t i = holes.size() - 1; i > 0; --i) std::swap(holes[i], holes[random.Below(i + 1)]);
  for (const uint64_t hole : holes) sets[1].Remove(hole);
  return sets;
}

// A draw of a row must not visit the ranges one by one: its time would be the harness's.
TEST(RangeSetTest, ADrawAmongManyRangesVisitsFew) {
  constexpr uint64_t kRanges = 100000;
  for (const RangeSet& ranges : SetsOfManyRanges(kRanges)) {
    ASSERT_EQ(ranges.Ranges().size(), kRanges);
    ASSERT_EQ(ranges.count(), 3 * kRanges);
    Random random(5);
    for (int i = 0; i < 100000; ++i) {
      const uint64_t k = random.Below(ranges.count());
      size_t steps = 0;
      ASSERT_EQ(ranges.At(k, &steps), k / 3 * 4 + k % 3) << k;
      ASSERT_LE(steps, 150u) << k;
      ASSERT_EQ(ranges.CountFrom(k / 3 * 4 + k % 3), ranges.count() - k) << k;
    }
  }
}

TEST(RangeSetTest, TheGreatestNumbersAreNumbersLikeOthers) {
  RangeSet ranges;
  ranges.Add(UINT64_MAX - 2, UINT64_MAX);
  EXPECT_FALSE(ranges.Contains(UINT64_MAX));
  EXPECT_TRUE(ranges.Contains(UINT64_MAX - 1));
  EXPECT_EQ(ranges.CountFrom(UINT64_MAX), 0u);
  EXPECT_EQ(ranges.CountFrom(UINT64_MAX - 1), 1u);
  ranges.Remove(UINT64_MAX);
  EXPECT_EQ(ranges.count(), 2u);
}

}  // namespace
}  // namespace testbed
