// Tests the pool's replacement policy: how often it misses, beside arithmetic and LRU.
#include "engines/btree/pool/replacement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <list>
#include <random>
#include <unordered_map>
#include <vector>

namespace testbed::btree {
namespace {

// A cache that is simulated on the replacement policy, and counts misses.
class PolicyCache : private VisitCounts {
 public:
  explicit PolicyCache(uint32_t frames)
      : policy_(frames, frames, this), pages_(frames, kNoPage), visits_(frames) {
    for (uint32_t i = 0; i < frames; ++i) free_.push_back(i);
  }
  void Ask(PageId page) {
    if (auto at = where_.find(page); at != where_.end()) {
      uint8_t& visits = visits_[at->second];
      visits = std::min<uint8_t>(visits + 1, Replacement::kMaxVisits);
      return;
    }
    ++misses_;
    uint32_t frame;
    if (!free_.empty()) {
      frame = free_.back();
      free_.pop_back();
    } else {
      frame = policy_.NextVictim();
      where_.erase(pages_[frame]);
      policy_.Evicted(frame, pages_[frame]);
    }
    pages_[frame] = page;
    where_[page] = frame;
    visits_[frame] = 0;
    policy_.Admit(frame, page);
  }
  uint64_t misses() const { return misses_; }

 private:
  uint8_t Visits(uint32_t frame) const override { return visits_[frame]; }
  void SetVisits(uint32_t frame, uint8_t visits) override { visits_[frame] = visits; }

  Replacement policy_;
  std::vector<PageId> pages_;
  std::vector<uint8_t> visits_;
  std::vector<uint32_t> free_;
  std::unordered_map<PageId, uint32_t> where_;
  uint64_t misses_ = 0;
};

class LruCache {
 public:
  explicit LruCache(uint32_t frames) : frames_(frames) {}
  void Ask(PageId page) {
    if (auto at = where_.find(page); at != where_.end()) {
      order_.splice(order_.begin(), order_, at->second);
      return;
    }
    ++misses_;
    if (order_.size() == frames_) {
      where_.erase(order_.back());
      order_.pop_back();
    }
    order_.push_front(page);
    where_[page] = order_.begin();
  }
  uint64_t misses() const { return misses_; }

 private:
  const uint32_t frames_;
  std::list<PageId> order_;
  std::unordered_map<PageId, std::list<PageId>::iterator> where_;
  uint64_t misses_ = 0;
};

TEST(ReplacementTest, UniformReadsMissAsArithmeticSays) {
  PolicyCache cache(2000);
  std::mt19937 random(3);
  for (int i = 0; i < 100000; ++i) cache.Ask(1 + random() % 10000);
  const uint64_t warm = cache.misses();
  for (int i = 0; i < 200000; ++i) cache.Ask(1 + random() % 10000);
  EXPECT_NEAR(static_cast<double>(cache.misses() - warm) / 200000, 0.8, 0.008);
}

TEST(ReplacementTest, AScanAmongSkewedReadsCostsLessThanUnderLru) {
  constexpr uint32_t kPages = 20000, kFrames = 2000;
  // Pages are drawn by Zipf's law with theta 0.99, by inversion of the distribution function.
  std::vector<double> sums(kPages);
  double sum = 0;
  for (uint32_t i = 0; i < kPages; ++i) sums[i] = sum += 1 / std::pow(i + 1, 0.99);
  PolicyCache policy(kFrames);
  LruCache lru(kFrames);
  std::mt19937_64 random(4);
  std::uniform_real_distribution<double> uniform(0, sum);
  PageId scan = 1;
  for (int i = 0; i < 400000; ++i) {
    PageId page =
        1 + static_cast<PageId>(std::lower_bound(sums.begin(), sums.end(), uniform(random)) -
                                sums.begin());
    if (i % 2 == 0) page = scan = scan % kPages + 1;
    policy.Ask(page);
    lru.Ask(page);
  }
  EXPECT_LT(policy.misses(), lru.misses() * 95 / 100);
}

}  // namespace
}  // namespace testbed::btree
