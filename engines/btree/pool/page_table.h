// The PageTable holds the frame and the latch of each page: one word per page, in an array by page
// number.
//
// page_word.h has the word and how it is read and latched.
//
// The alternatives: vmcache finds a page by its virtual address, but each eviction costs a system
// call and interrupts to all CPUs, and the TLB holds small pages. Swizzled pointers (Leis et al.,
// "LeanStore", ICDE 2018) need no look-up, but a page can have only one parent and is evicted
// through it. This array costs 8 bytes for each page of the file that was ever requested and, for a
// hit, one dependent load; but frames can lie in huge pages.
//
// Thread-safe. A thread must not wait for a latch while it holds a latch that is later in the
// latching order (docs/engines/btree.md).
#ifndef TESTBED_ENGINES_BTREE_POOL_PAGE_TABLE_H_
#define TESTBED_ENGINES_BTREE_POOL_PAGE_TABLE_H_

#include <array>
#include <atomic>
#include <cstdint>

#include "engines/btree/page/page.h"
#include "engines/btree/pool/page_word.h"
#include "engines/btree/pool/replacement.h"
#include "engines/btree/pool/reserved_array.h"

namespace testbed::btree {

class PageTable {
 public:
  static constexpr size_t kBytesPerPage = sizeof(uint64_t);

  PageTable() : words_(kMaxPages) {}

  PageWord Load(PageId id) const { return Protocol::Load(words_[id]); }
  // Returns whether the page has been neither changed nor evicted, nor is being changed, since
  // `seen`.
  bool Unchanged(PageId id, PageWord seen) const { return Protocol::Unchanged(words_[id], seen); }
  // Makes the processor fetch the page's word.
  void Prefetch(PageId id) const { __builtin_prefetch(&words_[id]); }
  // Counts a visit of a page in the pool, up to Replacement::kMaxVisits. The visit may get lost
  // when another thread changes the word at the same time.
  void Touch(PageId id, PageWord seen) {
    static_assert(Replacement::kMaxVisits <= PageWord::kVisits >> PageWord::kVisitShift);
    if (seen.visits() >= Replacement::kMaxVisits) return;
    words_[id].compare_exchange_strong(
        seen.bits, seen.WithVisits(static_cast<uint8_t>(seen.visits() + 1)).bits,
        std::memory_order_relaxed);
  }

  // These functions try to latch the page. Each returns false when the word is no longer `seen`, or
  // has a latch that conflicts.
  bool TryShare(PageId id, PageWord seen) { return Protocol::TryShare(words_[id], seen); }
  bool TryExclude(PageId id, PageWord seen) { return Protocol::TryExclude(words_[id], seen); }
  // Replaces the word if it is still `seen`. A caller that does not hold the page may only change
  // the visits and bit 36.
  bool Replace(PageId id, PageWord seen, PageWord word) {
    return Protocol::Replace(words_[id], seen, word);
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
  using Protocol = WordProtocol<>;
  static constexpr int kSpins = 100;  // loads of the word before a thread sleeps
  std::atomic<uint32_t>& Bed(PageId id) { return beds_[id % beds_.size()].epoch; }
  void Wake(PageId id);

  ReservedArray<std::atomic<uint64_t>> words_;
  // Threads sleep on these numbers. A page's number grows when the page's latch is released while
  // bit 6 of its word is set.
  struct alignas(64) Sleeping {
    std::atomic<uint32_t> epoch{0};
  };
  std::array<Sleeping, 64> beds_;
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_POOL_PAGE_TABLE_H_
