// Which pages of the data file are in use.
//
// A page is free, reserved (given out, but no log record says so yet: after a crash it is free) or
// used. The used pages are exactly those that the log says are used: a snapshot taken by a
// checkpoint plus the log after it gives the same set again. Pages can also be promised: a commit
// makes sure, before it is logged, that the file has room for every page it could need, so that a
// full disk fails a transaction before it exists and never in the middle of it.
//
//   space.Promise(10);               // may throw kIo, "no space left on device"
//   PageId run = space.Reserve(3);   // three consecutive pages
//   ... append the log record ...
//   space.MarkUsed(run, 3);
//   space.Unpromise(10);
//
// Thread-safe. Memory: two bits a page.
#ifndef TESTBED_ENGINES_BTREE_PAGE_SPACE_H_
#define TESTBED_ENGINES_BTREE_PAGE_SPACE_H_

#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "engines/btree/page/page.h"

namespace testbed::btree {

struct PageRun {
  PageId first = kNoPage;
  uint32_t pages = 0;
};

struct SpaceSnapshot {
  uint32_t pages = 0;           // the file's length in pages
  std::vector<uint64_t> words;  // bit p % 64 of word p / 64: page p is used
};

class Space {
 public:
  // `grow(pages)` makes the file at least that long, or throws.
  using Grow = std::function<void(uint32_t pages)>;
  // `shrink(pages)` cuts the file off behind so many pages, of which nobody has used any.
  using Shrink = std::function<void(uint32_t pages)>;
  Space(uint32_t page_size, Grow grow, Shrink shrink = {});

  void Restore(const SpaceSnapshot& snapshot);
  SpaceSnapshot Snapshot() const;

  // Makes the file long enough for all promises together.
  void Promise(uint64_t pages);
  // And gives back what the file has grown by for promises that were not needed, when it is much.
  void Unpromise(uint64_t pages);
  void GiveBack();

  // Consecutive pages, nobody else's from now on. Grows the file when it must. The first is for
  // pages that were promised; ReserveBeside leaves all promises whole.
  PageId Reserve(uint32_t pages);
  PageId ReserveBeside(uint32_t pages);
  void Cancel(PageId first, uint32_t pages);    // reserved -> free
  void MarkUsed(PageId first, uint32_t pages);  // reserved -> used; in recovery also free -> used
  void MarkFree(PageId first, uint32_t pages);  // used -> free

  bool IsUsed(PageId page) const;
  uint32_t file_pages() const;
  uint32_t used_pages() const;

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  void EnsureLength(uint64_t pages);
  void GrowBy(uint64_t pages);
  uint64_t Step() const;
  void GiveBackLocked();
  PageId ReserveLocked(uint32_t pages);
  uint32_t FindRun(uint32_t pages, uint32_t begin, uint32_t end) const;
  bool Taken(uint32_t page) const {
    return ((used_[page / 64] | reserved_[page / 64]) >> (page % 64) & 1) != 0;
  }
  void Set(std::vector<uint64_t>* bits, PageId first, uint32_t pages, bool value,
           uint32_t* counter);

  const uint32_t page_size_;
  const Grow grow_;
  const Shrink shrink_;
  mutable std::mutex mutex_;
  std::vector<uint64_t> used_, reserved_;
  uint32_t pages_ = 0;
  uint32_t touched_ = 0;  // pages from here on were never given out
  uint32_t used_count_ = 0, reserved_count_ = 0;
  uint64_t promised_ = 0;
  uint32_t hint_ = 1;  // where the search for a single page goes on
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_PAGE_SPACE_H_
