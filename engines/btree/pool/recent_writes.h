// RecentWrites knows which pages were written in their places since the last sync. Only a read of
// such a page asks the system whether it failed to write pages back, and in mmap mode such a page
// is not read in place. So the answer is exact: there is one bit for each page, in chunks that are
// allocated when their first page is noted.
//
// Note and Clear are called by one thread at a time; Has is thread-safe. Note throws
// std::bad_alloc.
#ifndef TESTBED_ENGINES_BTREE_POOL_RECENT_WRITES_H_
#define TESTBED_ENGINES_BTREE_POOL_RECENT_WRITES_H_

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>

#include "engines/btree/page/page.h"

namespace testbed::btree {

class RecentWrites {
 public:
  RecentWrites() = default;
  ~RecentWrites() {
    for (std::atomic<Chunk*>& chunk : chunks_) delete chunk.load(std::memory_order_relaxed);
  }
  RecentWrites(const RecentWrites&) = delete;
  RecentWrites& operator=(const RecentWrites&) = delete;

  void Note(PageId id) {
    std::atomic<Chunk*>& place = chunks_[id / kPages];
    if (place.load(std::memory_order_relaxed) == nullptr) {
      place.store(std::make_unique<Chunk>().release(), std::memory_order_release);
    }
    Chunk* chunk = place.load(std::memory_order_relaxed);
    std::atomic<uint64_t>& word = chunk->words[Word(id)];
    word.store(word.load(std::memory_order_relaxed) | Bit(id), std::memory_order_relaxed);
    chunk->groups[Word(id) / 64 / 64] |= uint64_t{1} << (Word(id) / 64 % 64);
    any_.store(true, std::memory_order_release);
  }
  bool Has(PageId id) const {
    if (!any_.load(std::memory_order_acquire)) return false;
    const Chunk* chunk = chunks_[id / kPages].load(std::memory_order_acquire);
    return chunk != nullptr &&
           (chunk->words[Word(id)].load(std::memory_order_relaxed) & Bit(id)) != 0;
  }
  void Clear() {
    if (!any_.load(std::memory_order_relaxed)) return;
    any_.store(false, std::memory_order_relaxed);
    for (std::atomic<Chunk*>& chunk : chunks_) {
      if (Chunk* noted = chunk.load(std::memory_order_relaxed)) noted->Clear();
    }
  }

 private:
  static constexpr uint32_t kWords = 1 << 15, kPages = kWords * 64;
  struct Chunk {
    void Clear() {
      for (uint32_t i = 0; i < groups.size(); ++i) {
        for (; groups[i] != 0; groups[i] &= groups[i] - 1) {
          const uint32_t first = (i * 64 + std::countr_zero(groups[i])) * 64;
          for (uint32_t w = first; w < first + 64; ++w)
            words[w].store(0, std::memory_order_relaxed);
        }
      }
    }
    std::array<std::atomic<uint64_t>, kWords> words{};
    std::array<uint64_t, kWords / 64 / 64> groups{};  // a bit for 64 words: one of them is not 0
  };
  static uint32_t Word(PageId id) { return id % kPages / 64; }
  static uint64_t Bit(PageId id) { return uint64_t{1} << (id % 64); }

  std::atomic<bool> any_{false};
  std::array<std::atomic<Chunk*>, (uint64_t{1} << 32) / kPages> chunks_{};
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_POOL_RECENT_WRITES_H_
