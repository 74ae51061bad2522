// A PageWord is a page's word, which tells where the page is and who holds it. WordProtocol is the
// protocol of the word.
//
//   bits 0-5    number of threads that hold the page shared
//   bit 6       threads sleep until the latch is released
//   bit 7       a thread holds the page exclusively
//   bits 8-33   number of the page's frame plus 1; 0 = not in the pool
//   bits 34-35  visits since the replacement last looked, at most 3
//   bit 36      the page's checksum was checked in the file's mapping (mmap mode)
//   bits 37-63  version: grows whenever an exclusive latch is released
//
// One load of the word tells where the page is and whether a thread is changing it. A second load
// tells whether the page was changed or evicted in between. Reads without latches need exactly
// this. It is the state word of vmcache (Leis et al., "Virtual-memory assisted buffer management",
// SIGMOD 2023) plus the number of the frame.
//
// The memory orders are those of a sequence lock (Boehm, "Can Seqlocks Get Along With Programming
// Language Memory Models?", MSPC 2012), and page_word_test.cc tries all executions that C++ allows:
// the functions take their atomics as a parameter, so that the code which ships is the code tried.
#ifndef TESTBED_ENGINES_BTREE_POOL_PAGE_WORD_H_
#define TESTBED_ENGINES_BTREE_POOL_PAGE_WORD_H_

#include <atomic>
#include <cstdint>

namespace testbed::btree {

inline constexpr uint32_t kNoFrame = UINT32_MAX;
inline constexpr uint32_t kMaxFrames = (1u << 26) - 2;

// A PageWord is the word of a page as it was at one moment.
struct PageWord {
  static constexpr uint64_t kReaders = 0x3f, kSleepers = 0x40, kExclusive = 0x80;
  static constexpr int kFrameShift = 8, kVisitShift = 34, kVersionShift = 37;
  static constexpr uint64_t kFrame = ((1ull << 26) - 1) << kFrameShift;
  static constexpr uint64_t kVisits = 3ull << kVisitShift;
  static constexpr uint64_t kVerified = 1ull << 36;
  static constexpr uint64_t kVersion = ~0ull << kVersionShift;
  // These bits must be unchanged for an optimistic read to be valid.
  static constexpr uint64_t kIdentity = kVersion | kFrame | kExclusive;

  uint64_t bits = 0;

  bool exclusive() const { return (bits & kExclusive) != 0; }
  uint32_t readers() const { return static_cast<uint32_t>(bits & kReaders); }
  bool latched() const { return (bits & (kExclusive | kReaders)) != 0; }
  bool in_pool() const { return (bits & kFrame) != 0; }
  uint32_t frame() const { return static_cast<uint32_t>((bits & kFrame) >> kFrameShift) - 1; }
  uint8_t visits() const { return static_cast<uint8_t>((bits & kVisits) >> kVisitShift); }
  bool verified() const { return (bits & kVerified) != 0; }
  PageWord WithFrame(uint32_t frame) const {
    return {(bits & ~kFrame) | static_cast<uint64_t>(frame + 1) << kFrameShift};
  }
  PageWord WithVisits(uint8_t visits) const {
    return {(bits & ~kVisits) | static_cast<uint64_t>(visits) << kVisitShift};
  }
  PageWord WithVerified() const { return {bits | kVerified}; }
};

// StandardAtomics are the atomics of the processor.
struct StandardAtomics {
  template <typename T>
  using Atomic = std::atomic<T>;
  static void Fence(std::memory_order order) { std::atomic_thread_fence(order); }
};

// These functions are the protocol of a word. All of them are thread-safe.
template <typename Atomics = StandardAtomics>
struct WordProtocol {
  using Word = typename Atomics::template Atomic<uint64_t>;

  // Returns the word, as it is loaded at the begin of a read without a latch.
  static PageWord Load(const Word& word) { return {word.load(std::memory_order_acquire)}; }

  // Returns whether bytes read from the page since `seen` are valid: no thread has changed, evicted
  // or begun to change it.
  static bool Unchanged(const Word& word, PageWord seen) {
    Atomics::Fence(std::memory_order_acquire);
    const uint64_t now = word.load(std::memory_order_relaxed);
    return ((now ^ seen.bits) & PageWord::kIdentity) == 0;
  }

  // Replaces the word if it is still `seen`. A caller that does not hold the page may only change
  // the visits and bit 36.
  static bool Replace(Word& word, PageWord seen, PageWord next) {
    return word.compare_exchange_strong(seen.bits, next.bits, std::memory_order_acq_rel);
  }

  // These functions try to latch the page. Each returns false when the word is no longer `seen`, or
  // has a latch that conflicts.
  static bool TryShare(Word& word, PageWord seen) {
    return !seen.exclusive() && seen.readers() < PageWord::kReaders &&
           Replace(word, seen, {seen.bits + 1});
  }
  static bool TryExclude(Word& word, PageWord seen) {
    if (seen.latched() || !Replace(word, seen, {seen.bits | PageWord::kExclusive})) return false;
    // A reader that meets a change of the page sees this latch when it looks again. The exchange
    // alone does not order its own store before the changes: ARM's need not be.
    Atomics::Fence(std::memory_order_release);
    return true;
  }

  // Releases a shared latch, and returns whether threads that sleep must be woken.
  static bool Unshare(Word& word) {
    uint64_t w = word.load(std::memory_order_relaxed);
    for (;;) {
      const bool last = (w & PageWord::kReaders) == 1;
      const bool wake = last && (w & PageWord::kSleepers) != 0;
      const uint64_t next = (w - 1) & ~(wake ? PageWord::kSleepers : 0);
      if (word.compare_exchange_weak(w, next, std::memory_order_release,
                                     std::memory_order_relaxed)) {
        return wake;
      }
    }
  }

  // Releases an exclusive latch, sets the page's frame (kNoFrame: none) and visits, and returns
  // whether threads that sleep must be woken. With `share` the caller holds the page shared
  // afterwards; no other thread gets the latch in between.
  static bool Unexclude(Word& word, uint32_t frame, uint8_t visits, bool share) {
    uint64_t w = word.load(std::memory_order_relaxed);
    for (;;) {
      PageWord next = PageWord{w}.WithFrame(frame).WithVisits(visits);
      next.bits &= ~(PageWord::kExclusive | PageWord::kSleepers);
      // The version of the page in the file may be another than the one that was checked before the
      // page came into the pool.
      if (frame == kNoFrame && PageWord{w}.in_pool()) next.bits &= ~PageWord::kVerified;
      next.bits += (1ull << PageWord::kVersionShift) + (share ? 1 : 0);
      if (word.compare_exchange_weak(w, next.bits, std::memory_order_release,
                                     std::memory_order_relaxed)) {
        return (w & PageWord::kSleepers) != 0;
      }
    }
  }
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_POOL_PAGE_WORD_H_
