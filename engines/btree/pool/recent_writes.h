// Knows the pages that were written in their places since the last sync, so that a read of such a
// page, and of no other, asks the system whether it failed to write pages back.
//
// It may also name a page that shares its bit with one that was written. Note and Clear are called
// by one thread at a time; Has is thread-safe.
#ifndef TESTBED_ENGINES_BTREE_POOL_RECENT_WRITES_H_
#define TESTBED_ENGINES_BTREE_POOL_RECENT_WRITES_H_

#include <array>
#include <atomic>
#include <cstdint>

#include "engines/btree/page/page.h"

namespace testbed::btree {

class RecentWrites {
 public:
  void Note(PageId id) {
    std::atomic<uint64_t>& word = words_[Word(id)];
    word.store(word.load(std::memory_order_relaxed) | Bit(id), std::memory_order_relaxed);
    any_.store(true, std::memory_order_release);
  }
  bool Has(PageId id) const {
    return any_.load(std::memory_order_acquire) &&
           (words_[Word(id)].load(std::memory_order_relaxed) & Bit(id)) != 0;
  }
  void Clear() {
    if (!any_.load(std::memory_order_relaxed)) return;
    any_.store(false, std::memory_order_relaxed);
    for (std::atomic<uint64_t>& word : words_) word.store(0, std::memory_order_relaxed);
  }

 private:
  static constexpr uint32_t kWords = 1024;
  static uint32_t Word(PageId id) { return id / 64 % kWords; }
  static uint64_t Bit(PageId id) { return uint64_t{1} << (id % 64); }

  std::atomic<bool> any_{false};
  std::array<std::atomic<uint64_t>, kWords> words_{};
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_POOL_RECENT_WRITES_H_
