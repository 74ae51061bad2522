// A Frame is what the pool knows of a page frame beside the page in it.
#ifndef TESTBED_ENGINES_BTREE_POOL_FRAME_H_
#define TESTBED_ENGINES_BTREE_POOL_FRAME_H_

#include <atomic>
#include <cstdint>

#include "engines/btree/page/page.h"

namespace testbed::btree {

inline constexpr Lsn kNoLsn = UINT64_MAX;
// Frame::page of a frame that is out of use (Pool::AbandonRead). No page has this number.
inline constexpr PageId kAbandonedPage = UINT32_MAX;

struct Frame {
  std::atomic<PageId> page{kNoPage};
  std::atomic<bool> dirty{false};    // changed under the exclusive latch, or while `writing` is set
  std::atomic<bool> writing{false};  // a copy of the page is being written to the file
  // If true, the page is dirty only because it has become an overflow page. The thread that has the
  // page's exclusive latch sets it.
  std::atomic<bool> overflow_only{false};
  // If true, the page is neither written nor evicted (Pool::KeepBack). The flag is changed under
  // the pool's mutex.
  std::atomic<bool> kept_back{false};
  std::atomic<Lsn> rec_lsn{kNoLsn};    // begin of the first log record that the file's page lacks
  std::atomic<Lsn> write_lsn{kNoLsn};  // rec_lsn of the copy that is being written
  // The log has an image of the page that was copied when the pool's image floor was at least this
  // value; 0 when the log may have none. The thread that reads the page in, or writes it, sets the
  // value.
  std::atomic<Lsn> image_floor{0};

  // Returns whether the frame is out of use.
  bool abandoned() const { return page.load(std::memory_order_relaxed) == kAbandonedPage; }
  // Returns whether the page may be written.
  bool writable() const {
    return dirty.load(std::memory_order_relaxed) && !kept_back.load(std::memory_order_relaxed);
  }
  void LowerRecLsn(Lsn lsn) {
    Lsn now = rec_lsn.load(std::memory_order_relaxed);
    while (lsn < now && !rec_lsn.compare_exchange_weak(now, lsn, std::memory_order_acq_rel)) {
    }
  }
};
static_assert(sizeof(Frame) == 32);

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_POOL_FRAME_H_
