// Space is the space map: it knows which pages of the data file are in use, and grows the file.
//
// A page is free, reserved or used. A reserved page was given to a caller, but no log record says
// so yet, so that it is free after a crash. The used pages are exactly those that the log calls
// used: the snapshot of a checkpoint plus the log after it gives the same set. A snapshot ends with
// the last used page: what was only promised or reserved must not make the file longer when it is
// opened again.
//
// A commit promises pages before it is logged: Promise makes sure that the file has enough free
// pages for all that the commit could need. So a full disk makes a commit fail before it is logged,
// and never while it is applied.
//
//   space.Promise(10);                      // may throw kIo, "no space left on device"
//   const PageId run = space.Reserve(3);    // three consecutive pages
//   log.Append(record);                     // says that the pages are used
//   space.MarkUsed(run, 3);
//   space.Unpromise(10);
//
// Thread-safe. It takes two bits of memory per page.
#ifndef TESTBED_ENGINES_BTREE_PAGE_SPACE_H_
#define TESTBED_ENGINES_BTREE_PAGE_SPACE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "device/os/mutex.h"
#include "engines/btree/page/page.h"

namespace testbed::btree {

struct PageRun {
  PageId first = kNoPage;
  uint32_t pages = 0;
};

struct SpaceSnapshot {
  // This is the length in pages; all used pages are below it. A snapshot by Space::Snapshot ends at
  // LengthInUse. A snapshot is longer after Extend, and so is one in a checkpoint that recorded the
  // length of the file with all promised pages.
  uint32_t pages = 0;
  std::vector<uint64_t> words;  // bit p % 64 of word p / 64 is set when page p is used
};

// Returns the number of pages up to the last used one.
uint32_t LengthInUse(const SpaceSnapshot& snapshot);
// Returns the byte of the data file at which the last used page begins; UINT64_MAX when no page is
// used. A file that ends there or before was cut: it had all used pages when the checkpoint with
// the snapshot became durable. If it has compressed pages, it may end within that page.
uint64_t LastUsedAt(const SpaceSnapshot& snapshot, uint32_t page_size);
// Makes the snapshot `pages` pages long, unless it is longer. The added pages are free.
void Extend(SpaceSnapshot* snapshot, uint64_t pages);

// A CommitSize is what bounds the pages that a commit can need for splits.
struct CommitSize {
  uint64_t writes = 0;  // number of rows that it writes
  uint64_t bytes = 0;   // bytes that these rows take in leaves
  uint32_t trees = 1;   // number of trees that it writes to
  uint32_t levels = 1;  // levels of the highest of these trees, the leaves included
};

class Space {
 public:
  // `grow(pages)` makes the file at least that many pages long, or throws.
  using Grow = std::function<void(uint32_t pages)>;
  // `shrink(pages)` truncates the file to that many pages; the pages behind were never given out.
  using Shrink = std::function<void(uint32_t pages)>;
  Space(uint32_t page_size, Grow grow, Shrink shrink = {});

  // Sets the used pages to those of a snapshot. Sets the length to `file_pages`, the length of the
  // file, or to what the used pages need if that is more. For recovery.
  void Restore(const SpaceSnapshot& snapshot, uint64_t file_pages = 0);
  SpaceSnapshot Snapshot() const;

  // Adds to the promised pages, and grows the file when it has too few free pages for all promises.
  // Throws what `grow` throws; then nothing is promised, and the file is as long as before.
  void Promise(uint64_t pages);
  // Promises the pages that a commit can need for splits, and returns their number. Throws as
  // Promise does.
  uint64_t PromiseForSplits(const CommitSize& commit);
  // Takes back a promise of `pages` pages. The file keeps its length until GiveBack, unless it is
  // twice as long as needed and 64 MiB longer.
  void Unpromise(uint64_t pages);
  // Cuts pages that were never given out off the end of the file, but leaves room to grow (Step).
  void GiveBack();

  // Reserve and ReserveBeside reserve consecutive pages and return the first one. They grow the
  // file when it has no such run of free pages. Reserve is for pages that the caller has promised.
  // ReserveBeside is for other pages: it leaves enough free pages for all promises.
  PageId Reserve(uint32_t pages);
  PageId ReserveBeside(uint32_t pages);
  void Cancel(PageId first, uint32_t pages);    // a reserved page becomes free
  void MarkUsed(PageId first, uint32_t pages);  // reserved -> used; in recovery also free -> used
  void MarkFree(PageId first, uint32_t pages);  // a used page becomes free

  bool IsUsed(PageId page) const;
  uint32_t file_pages() const { return pages_.load(std::memory_order_relaxed); }  // takes no lock
  uint32_t used_pages() const;

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  void EnsureLength(uint64_t pages) REQUIRES(mutex_);
  void GrowBy(uint64_t pages) REQUIRES(mutex_);
  void GrowFile(uint64_t pages) REQUIRES(mutex_);
  bool CutFile(uint64_t pages) REQUIRES(mutex_);
  uint64_t Step() const REQUIRES(mutex_);
  void GiveBackLocked() REQUIRES(mutex_);
  PageId ReserveLocked(uint32_t pages) REQUIRES(mutex_);
  uint32_t FindRun(uint32_t pages, uint32_t begin, uint32_t end) const REQUIRES(mutex_);
  bool Taken(uint32_t page) const REQUIRES(mutex_) {
    return ((used_[page / 64] | reserved_[page / 64]) >> (page % 64) & 1) != 0;
  }
  void Set(std::vector<uint64_t>* bits, PageId first, uint32_t pages, bool value, uint32_t* counter)
      REQUIRES(mutex_);

  const uint32_t page_size_;
  const Grow grow_;
  const Shrink shrink_;
  mutable Mutex mutex_;  // protects the members below
  std::vector<uint64_t> used_ GUARDED_BY(mutex_), reserved_ GUARDED_BY(mutex_);  // one bit per page
  std::atomic<uint32_t> pages_{0};           // length of the file in pages; changed under mutex_
  uint32_t touched_ GUARDED_BY(mutex_) = 0;  // pages from this number on were never given out
  uint32_t used_count_ GUARDED_BY(mutex_) = 0, reserved_count_ GUARDED_BY(mutex_) = 0;
  uint64_t promised_ GUARDED_BY(mutex_) = 0;  // number of promised pages
  uint32_t hint_ GUARDED_BY(mutex_) = 1;      // page at which the next search for free pages begins
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_PAGE_SPACE_H_
