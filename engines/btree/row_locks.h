// Locks on rows, held by a commit from before its log record is appended until its rows are in the
// tree: so writes of one row reach the tree in the order in which they are in the log.
//
// Rows share a fixed number of stripes by hash. A commit takes its stripes in ascending order, so
// commits never wait for each other in a circle. Readers take none.
#ifndef TESTBED_ENGINES_BTREE_ROW_LOCKS_H_
#define TESTBED_ENGINES_BTREE_ROW_LOCKS_H_

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "engines/btree/latch.h"

namespace testbed::btree {

class RowLocks {
 public:
  static constexpr uint32_t kStripes = 4096;
  static uint32_t StripeOf(uint32_t table, std::string_view key) {
    return static_cast<uint32_t>(XXH3_64bits_withSeed(key.data(), key.size(), table) % kStripes);
  }

  // Locks a set of stripes; unlocks at its end. The vector is the caller's, so that it is reused.
  class Holder {
   public:
    Holder(RowLocks* locks, std::vector<uint32_t>* stripes) : locks_(locks), stripes_(stripes) {
      std::sort(stripes->begin(), stripes->end());
      stripes->erase(std::unique(stripes->begin(), stripes->end()), stripes->end());
      for (uint32_t stripe : *stripes) locks_->latches_[stripe].LockExclusive();
    }
    ~Holder() { Unlock(); }
    void Unlock() {
      for (uint32_t stripe : *stripes_) locks_->latches_[stripe].UnlockExclusive();
      stripes_->clear();
    }
    Holder(const Holder&) = delete;
    Holder& operator=(const Holder&) = delete;

   private:
    RowLocks* const locks_;
    std::vector<uint32_t>* const stripes_;
  };

 private:
  std::array<Latch, kStripes> latches_;
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_ROW_LOCKS_H_
