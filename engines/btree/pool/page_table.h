// The PageTable holds the frame and the latch of each page: one word per page, in an array by page
// number.
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
// The alternatives: vmcache finds a page by its virtual address, but each eviction costs a system
// call and interrupts to all CPUs, and the TLB holds small pages. Swizzled pointers (Leis et al.,
// "LeanStore", ICDE 2018) need no look-up, but a page can have only one parent and is evicted
// through it. This array costs 8 bytes for each page of the file that was ever requested and, for a
// hit, one dependent load; but frames can lie in huge pages.
//
// Thread-safe. A thread must not wait for a latch while it holds a latch that is later in the
// latching order (docs/btree.md).
#ifndef TESTBED_ENGINES_BTREE_POOL_PAGE_TABLE_H_
#define TESTBED_ENGINES_BTREE_POOL_PAGE_TABLE_H_

#include <array>
#include <atomic>
#include <cstdint>

#include "engines/btree/page/page.h"
#include "engines/btree/pool/reserved_array.h"

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
  // The bits that must be unchanged for an optimistic read to be valid.
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

class PageTable {
 public:
  static constexpr uint8_t kMaxVisits = 3;
  static constexpr size_t kBytesPerPage = sizeof(uint64_t);

  PageTable() : words_(kMaxPages) {}

  PageWord Load(PageId id) const { return {words_[id].load(std::memory_order_acquire)}; }
  // Returns whether the page has been neither changed nor evicted, nor is being changed, since
  // `seen`.
  bool Unchanged(PageId id, PageWord seen) const {
    std::atomic_thread_fence(std::memory_order_acquire);
    const uint64_t now = words_[id].load(std::memory_order_relaxed);
    return ((now ^ seen.bits) & PageWord::kIdentity) == 0;
  }
  // Counts a visit of a page in the pool. The visit may get lost when another thread changes the
  // word at the same time.
  void Touch(PageId id, PageWord seen) {
    if (seen.visits() >= kMaxVisits) return;
    words_[id].compare_exchange_strong(
        seen.bits, seen.WithVisits(static_cast<uint8_t>(seen.visits() + 1)).bits,
        std::memory_order_relaxed);
  }

  // Try to latch the page. Each returns false when the word is no longer `seen`, or has a latch
  // that conflicts.
  bool TryShare(PageId id, PageWord seen) {
    return !seen.exclusive() && seen.readers() < PageWord::kReaders &&
           Replace(id, seen, {seen.bits + 1});
  }
  bool TryExclude(PageId id, PageWord seen) {
    return !seen.latched() && Replace(id, seen, {seen.bits | PageWord::kExclusive});
  }
  // Replaces the word if it is still `seen`. A caller that does not hold the page may only change
  // the visits and bit 36.
  bool Replace(PageId id, PageWord seen, PageWord word) {
    return words_[id].compare_exchange_strong(seen.bits, word.bits, std::memory_order_acq_rel);
  }

  // Releases a shared latch.
  void Unshare(PageId id);
  // Releases an exclusive latch, and sets the page's frame (kNoFrame: none) and visits. With
  // `share` the caller holds the page shared afterwards; no other thread gets the latch in between.
  void Unexclude(PageId id, uint32_t frame, uint8_t visits, bool share = false);
  // Waits until the exclusive latch of `seen` is released or, if `seen` had none, until the page
  // has no latch at all. Another thread may have latched the page again when it returns.
  void AwaitRelease(PageId id, PageWord seen);

 private:
  static constexpr int kSpins = 100;  // loads of the word before a thread sleeps
  std::atomic<uint32_t>& Bed(PageId id) { return beds_[id % beds_.size()].epoch; }
  void Wake(PageId id);

  ReservedArray<std::atomic<uint64_t>> words_;
  // Threads sleep on these numbers. The number of a page grows when the page's latch is released
  // while bit 6 is set.
  struct alignas(64) Sleeping {
    std::atomic<uint32_t> epoch{0};
  };
  std::array<Sleeping, 64> beds_;
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_POOL_PAGE_TABLE_H_
