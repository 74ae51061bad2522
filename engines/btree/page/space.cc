#include "engines/btree/page/space.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "device/error.h"
#include "device/os/mutex.h"

namespace testbed::btree {

uint32_t LengthInUse(const SpaceSnapshot& snapshot) {
  for (size_t i = snapshot.words.size(); i > 0; --i) {
    const uint64_t word = snapshot.words[i - 1];
    if (word != 0) return static_cast<uint32_t>((i - 1) * 64 + std::bit_width(word));
  }
  return 0;
}

uint64_t LastUsedAt(const SpaceSnapshot& snapshot, uint32_t page_size) {
  const uint64_t pages = LengthInUse(snapshot);
  return pages == 0 ? UINT64_MAX : (pages - 1) * page_size;
}

void Extend(SpaceSnapshot* snapshot, uint64_t pages) {
  snapshot->pages = static_cast<uint32_t>(
      std::max<uint64_t>(snapshot->pages, std::min<uint64_t>(pages, kMaxPages)));
  snapshot->words.resize((snapshot->pages + 63) / 64);
}

Space::Space(uint32_t page_size, Grow grow, Shrink shrink)
    : page_size_(page_size), grow_(std::move(grow)), shrink_(std::move(shrink)) {
  EnsureLength(1);
  Set(&used_, 0, 1, true, &used_count_);  // the superblock
}

// Throws std::bad_alloc, with the length unchanged. The maps get their memory before the length is
// set, because each page below the length needs its bits.
void Space::EnsureLength(uint64_t pages) {
  if (pages <= pages_) return;
  const size_t words = (pages + 63) / 64;
  used_.resize(words);
  reserved_.resize(words);
  pages_ = static_cast<uint32_t>(pages);
}

void Space::Restore(const SpaceSnapshot& snapshot, uint64_t file_pages) {
  LockGuard lock(mutex_);
  EnsureLength(
      std::max<uint64_t>(LengthInUse(snapshot), std::min<uint64_t>(file_pages, kMaxPages)));
  used_ = snapshot.words;
  used_.resize((pages_ + 63) / 64);
  used_count_ = 0;
  for (uint64_t word : used_) used_count_ += static_cast<uint32_t>(std::popcount(word));
  for (uint32_t page = pages_; page > touched_; --page) {
    if (Taken(page - 1)) touched_ = page;
  }
}

SpaceSnapshot Space::Snapshot() const {
  LockGuard lock(mutex_);
  SpaceSnapshot snapshot{pages_, used_};
  snapshot.pages = LengthInUse(snapshot);
  snapshot.words.resize((snapshot.pages + 63) / 64);
  return snapshot;
}

// Returns the number of pages by which the file grows at once, so that it grows rarely: an eighth
// of the pages that were ever given out, from 256 KiB to 64 MiB.
uint64_t Space::Step() const {
  const uint64_t bytes = static_cast<uint64_t>(touched_) * page_size_ / 8;
  return std::clamp<uint64_t>(bytes, 256 << 10, 64 << 20) / page_size_;
}

void Space::GrowBy(uint64_t pages) {
  if (pages_ + pages > kMaxPages) {
    throw Error(Error::kRun, "a btree database cannot have more than " + std::to_string(kMaxPages) +
                                 " pages: give a larger --page-size");
  }
  uint64_t target = std::min<uint64_t>(pages_ + std::max(pages, Step()), kMaxPages);
  try {
    GrowFile(target);
  } catch (const Error& error) {
    if (!error.disk_is_full()) throw;
    // A nearly full disk may still have space for the pages that are needed now.
    target = pages_ + pages;
    GrowFile(target);
  }
  EnsureLength(target);
}

// A file system that finds the disk full may keep the space that it had found before, in a file
// that is longer by it (fallocate on ext4). The disk would then have none for any other file, and
// the file could end within a page. So the file is cut off at its former length.
void Space::GrowFile(uint64_t pages) {
  try {
    grow_(static_cast<uint32_t>(pages));
  } catch (const Error& error) {
    if (error.disk_is_full()) CutFile(pages_);
    throw;
  }
}

// Truncates the file to `pages` pages, behind which no page was ever given out. Returns false when
// the file keeps its length; if the error lasts, later commits fail.
bool Space::CutFile(uint64_t pages) {
  if (!shrink_) return false;
  try {
    shrink_(static_cast<uint32_t>(pages));
  } catch (const Error&) {
    return false;
  }
  return true;
}

uint64_t Space::PromiseForSplits(const CommitSize& commit) {
  // A row can split its leaf. Each split adds a key to the parent, which can be split for it, and
  // so on up to the root. The rows can have different leaves, parents and grandparents, all of
  // which are full. A tree of one or two levels counts as one of three, as its root may be split
  // meanwhile.
  uint64_t pages = commit.writes * (std::max(commit.levels, 3u) - 1);
  {
    // The nodes that can be split are bounded, too. A leaf is split because it was full before, or
    // because the commit has filled it, for which it takes at least a quarter of a page of the
    // commit's bytes. A leaf that is split at its end leaves a full one behind, which may be split
    // once more. As many splits again are those of the nodes above.
    LockGuard lock(mutex_);
    const uint64_t there = used_count_ + reserved_count_ + promised_;
    pages = std::min(pages, 4 * (there + 4 * commit.bytes / page_size_));
  }
  // A root is split into two new pages. A few more pages are for nodes that a second split follows.
  pages += 2 * std::min<uint64_t>(commit.trees, commit.writes) + 6;
  Promise(pages);
  return pages;
}

void Space::Promise(uint64_t pages) {
  LockGuard lock(mutex_);
  const uint64_t free = pages_ - used_count_ - reserved_count_;
  if (free < promised_ + pages) GrowBy(promised_ + pages - free);
  promised_ += pages;
}

void Space::Unpromise(uint64_t pages) {
  LockGuard lock(mutex_);
  promised_ -= pages;
  // The next commit needs about as many pages, so cutting the file after each commit would only
  // make the next one extend it again. A file that is far too long is cut at once.
  const uint64_t needed = std::max<uint64_t>(touched_, used_count_ + reserved_count_ + promised_);
  const uint64_t spare = std::max<uint64_t>(needed, (64 << 20) / page_size_);
  if (pages_ > needed + spare) GiveBackLocked();
}

void Space::GiveBack() {
  LockGuard lock(mutex_);
  GiveBackLocked();
}

// Cuts off only pages that were never given out: the pool may still write any other page to the
// file.
void Space::GiveBackLocked() {
  const uint64_t needed = used_count_ + reserved_count_ + promised_;
  const uint64_t keep = std::max<uint64_t>(touched_, needed) + Step();
  if (pages_ <= keep + Step() || !CutFile(keep)) return;
  pages_ = static_cast<uint32_t>(keep);
  used_.resize((pages_ + 63) / 64);
  reserved_.resize(used_.size());
  hint_ = std::min(hint_, file_pages());
}

uint32_t Space::FindRun(uint32_t pages, uint32_t begin, uint32_t end) const {
  uint32_t length = 0;
  for (uint32_t page = begin; page < end; ++page) {
    if (page % 64 == 0 && ~(used_[page / 64] | reserved_[page / 64]) == 0) {
      page += 63;
      length = 0;
      continue;
    }
    length = Taken(page) ? 0 : length + 1;
    if (length == pages) return page - pages + 1;
  }
  return kNone;
}

PageId Space::ReserveBeside(uint32_t pages) {
  LockGuard lock(mutex_);
  const uint64_t free = pages_ - used_count_ - reserved_count_;
  if (free < promised_ + pages) GrowBy(promised_ + pages - free);
  return ReserveLocked(pages);
}

PageId Space::Reserve(uint32_t pages) {
  LockGuard lock(mutex_);
  return ReserveLocked(pages);
}

PageId Space::ReserveLocked(uint32_t pages) {
  uint32_t first = FindRun(pages, std::min(hint_, file_pages()), file_pages());
  if (first == kNone) first = FindRun(pages, 1, file_pages());
  if (first == kNone) {
    // Free pages at the end of the file become part of the run.
    uint32_t tail = pages_;
    while (tail > 1 && !Taken(tail - 1)) --tail;
    GrowBy(pages - (pages_ - tail));
    first = tail;
  }
  if (pages == 1) hint_ = first + 1;
  Set(&reserved_, first, pages, true, &reserved_count_);
  return first;
}

void Space::Cancel(PageId first, uint32_t pages) {
  LockGuard lock(mutex_);
  Set(&reserved_, first, pages, false, &reserved_count_);
  hint_ = std::min(hint_, first);
}

void Space::MarkUsed(PageId first, uint32_t pages) {
  LockGuard lock(mutex_);
  EnsureLength(static_cast<uint64_t>(first) + pages);
  Set(&reserved_, first, pages, false, &reserved_count_);
  Set(&used_, first, pages, true, &used_count_);
}

void Space::MarkFree(PageId first, uint32_t pages) {
  LockGuard lock(mutex_);
  EnsureLength(static_cast<uint64_t>(first) + pages);
  Set(&used_, first, pages, false, &used_count_);
  hint_ = std::min(hint_, first);
}

bool Space::IsUsed(PageId page) const {
  LockGuard lock(mutex_);
  return page < pages_ && (used_[page / 64] >> (page % 64) & 1) != 0;
}

uint32_t Space::used_pages() const {
  LockGuard lock(mutex_);
  return used_count_;
}

void Space::Set(std::vector<uint64_t>* bits, PageId first, uint32_t pages, bool value,
                uint32_t* counter) {
  touched_ = std::max(touched_, first + pages);
  for (uint32_t page = first; page < first + pages; ++page) {
    uint64_t& word = (*bits)[page / 64];
    const uint64_t bit = 1ull << (page % 64);
    if (((word & bit) != 0) == value) continue;
    word ^= bit;
    *counter += value ? 1 : -1;
  }
}

}  // namespace testbed::btree
