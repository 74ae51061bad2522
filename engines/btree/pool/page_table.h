// Where each page is, and its latch: one word a page, in an array by page number.
//
//   bits 0-5    readers that hold the page
//   bit 6       threads sleep until it is let go
//   bit 7       somebody holds it exclusively
//   bits 8-33   its frame in the pool plus 1; 0 = in none
//   bits 34-35  visits since the replacement last looked, at most 3
//   bit 36      passed its checksum where it lies in the mapping of the file (mmap mode)
//   bits 37-63  version: grows whenever an exclusive holder lets go
//
// So one load tells where a page is, whether it is being changed, and, when it is compared with a
// later load, whether it was changed or evicted in between: what reads without latches need. This
// is the state word of vmcache (Leis et al., "Virtual-memory assisted buffer management", SIGMOD
// 2023) with the frame's number in it. vmcache finds a page's bytes by a virtual address of its own
// and pays for it with a system call and interrupts to all CPUs at each eviction, and with small
// pages in the TLB; swizzled pointers (Leis et al., "LeanStore", ICDE 2018) cost no lookup, but a
// page then has one parent only, and is evicted through it. An array costs 8 bytes for each page of
// the file that was ever asked for, and a hit a load that depends on another; the frames can lie in
// huge pages.
//
// Thread-safe. Nobody waits for a latch while he holds one that comes later in the order
// (docs/btree.md).
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

// A page's word as it was at one moment.
struct PageWord {
  static constexpr uint64_t kReaders = 0x3f, kSleepers = 0x40, kExclusive = 0x80;
  static constexpr int kFrameShift = 8, kVisitShift = 34, kVersionShift = 37;
  static constexpr uint64_t kFrame = ((1ull << 26) - 1) << kFrameShift;
  static constexpr uint64_t kVisits = 3ull << kVisitShift;
  static constexpr uint64_t kVerified = 1ull << 36;
  static constexpr uint64_t kVersion = ~0ull << kVersionShift;
  // What must be as before for what was read meanwhile to hold.
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
  // Nothing that identifies the page's content has changed since `seen`.
  bool Unchanged(PageId id, PageWord seen) const {
    std::atomic_thread_fence(std::memory_order_acquire);
    const uint64_t now = words_[id].load(std::memory_order_relaxed);
    return ((now ^ seen.bits) & PageWord::kIdentity) == 0;
  }
  // Counts a visit of a page in the pool. Lost when another thread was faster: no matter.
  void Touch(PageId id, PageWord seen) {
    if (seen.visits() >= kMaxVisits) return;
    words_[id].compare_exchange_strong(
        seen.bits, seen.WithVisits(static_cast<uint8_t>(seen.visits() + 1)).bits,
        std::memory_order_relaxed);
  }

  // Each returns false when the word is not `seen` any more, or is latched in the way.
  bool TryShare(PageId id, PageWord seen) {
    return !seen.exclusive() && seen.readers() < PageWord::kReaders &&
           Replace(id, seen, {seen.bits + 1});
  }
  bool TryExclude(PageId id, PageWord seen) {
    return !seen.latched() && Replace(id, seen, {seen.bits | PageWord::kExclusive});
  }
  // Replaces visits or the mark of verification, whoever holds the page.
  bool Replace(PageId id, PageWord seen, PageWord word) {
    return words_[id].compare_exchange_strong(seen.bits, word.bits, std::memory_order_acq_rel);
  }

  void Unshare(PageId id);
  // Lets go of an exclusive latch: the page is now in `frame` (kNoFrame: in none), with so many
  // visits. `share`: and holds it shared from then on, without a gap.
  void Unexclude(PageId id, uint32_t frame, uint8_t visits, bool share = false);
  // Waits until the page is not held as it was when seen: exclusively, or by readers.
  void AwaitRelease(PageId id, PageWord seen);

 private:
  static constexpr int kSpins = 100;
  std::atomic<uint32_t>& Bed(PageId id) { return beds_[id % beds_.size()].epoch; }
  void Wake(PageId id);

  ReservedArray<std::atomic<uint64_t>> words_;
  // Where threads sleep: numbers that grow when a page is let go that somebody sleeps for.
  struct alignas(64) Sleeping {
    std::atomic<uint32_t> epoch{0};
  };
  std::array<Sleeping, 64> beds_;
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_POOL_PAGE_TABLE_H_
