#include "engines/btree/pool/page_table.h"

namespace testbed::btree {
namespace {

void CpuRelax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

void PageTable::Wake(PageId id) {
  Bed(id).fetch_add(1, std::memory_order_release);
  Bed(id).notify_all();
}

void PageTable::Unshare(PageId id) {
  if (Protocol::Unshare(words_[id])) Wake(id);
}

void PageTable::Unexclude(PageId id, uint32_t frame, uint8_t visits, bool share) {
  if (Protocol::Unexclude(words_[id], frame, visits, share)) Wake(id);
}

void PageTable::AwaitRelease(PageId id, PageWord seen) {
  const auto released = [&](uint64_t now) {
    return seen.exclusive() ? !PageWord{now}.exclusive() : !PageWord{now}.latched();
  };
  for (int spin = 0; spin < kSpins; ++spin) {
    if (released(words_[id].load(std::memory_order_relaxed))) return;
    CpuRelax();
  }
  for (;;) {
    const uint32_t epoch = Bed(id).load(std::memory_order_acquire);
    uint64_t w = words_[id].load(std::memory_order_relaxed);
    if (released(w)) return;
    // Either the thread that releases the latch sees this mark and wakes, or the exchange fails.
    if ((w & PageWord::kSleepers) == 0 &&
        !words_[id].compare_exchange_strong(w, w | PageWord::kSleepers,
                                            std::memory_order_acq_rel)) {
      continue;
    }
    Bed(id).wait(epoch, std::memory_order_acquire);
  }
}

}  // namespace testbed::btree
