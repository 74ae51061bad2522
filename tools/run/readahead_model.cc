#include "tools/run/readahead_model.h"

#include <algorithm>
#include <bit>

namespace testbed {
namespace {

// Returns the first window, in pages, for a request of `wanted` pages: the kernel's
// get_init_ra_size. `most` is read_ahead_kb in pages.
int64_t FirstWindow(int64_t wanted, int64_t most) {
  const auto size = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(wanted)));
  if (size <= most / 32) return size * 4;
  if (size <= most / 4) return size * 2;
  return most;
}

// Returns the window that follows a window of `size` pages: the kernel's get_next_ra_size.
int64_t NextWindow(int64_t size, int64_t most) {
  return size < most / 16 ? 4 * size : std::min(2 * size, most);
}

// MMAP_LOTSAMISS: with more misses than this, a fault reads only its own page.
constexpr int kLotsOfMisses = 100;

}  // namespace

ReadaheadModel::Page* ReadaheadModel::Find(uint32_t file, int64_t page) {
  const auto found = cache_.find(Key(file, page));
  if (found == cache_.end()) return nullptr;
  ages_.splice(ages_.end(), ages_, found->second.age);
  return &found->second;
}

void ReadaheadModel::Fetch(uint32_t file, int64_t page, int64_t pages) {
  const auto longest = static_cast<int64_t>(options_.max_request_bytes / kPage);
  int64_t run = 0;
  for (int64_t p = page; p < page + pages; ++p) {
    const uint64_t key = Key(file, p);
    if (cache_.contains(key)) {
      run = 0;
      continue;
    }
    if (run == 0 || run == longest) {
      ++totals_.reads;
      run = 0;
    }
    ++run;
    totals_.read_bytes += kPage;
    ages_.push_back(key);
    cache_[key].age = std::prev(ages_.end());
  }
  while (capacity_ != 0 && cache_.size() > capacity_) {
    cache_.erase(ages_.front());
    ages_.pop_front();
  }
}

void ReadaheadModel::Window(uint32_t file, FileState* ra, int64_t page) {
  if (page == ra->start && ra->size == ra->async_size) {
    ra->async_size = NextWindow(ra->size, window_);
    ra->size += ra->async_size;
  }
  Fetch(file, ra->start, ra->size);
  const auto marked = cache_.find(Key(file, ra->start + ra->size - ra->async_size));
  if (marked != cache_.end()) marked->second.mark = true;
}

void ReadaheadModel::OnDemand(uint32_t file, FileState* ra, int64_t page, int64_t wanted) {
  const bool expected = ra->size != 0 && (page == ra->start + ra->size - ra->async_size ||
                                          page == ra->start + ra->size);
  // The kernel subtracts without a sign: a page before the last one does not follow it.
  const bool follows = static_cast<uint64_t>(page - ra->previous) <= 1;
  if (page != 0 && expected) {
    ra->start += ra->size;
    ra->size = NextWindow(ra->size, window_);
    ra->async_size = ra->size;
    Window(file, ra, page);
  } else if (page == 0 || wanted > window_ || follows) {
    ra->start = page;
    ra->size = FirstWindow(wanted, window_);
    ra->async_size = ra->size > wanted ? ra->size - wanted : ra->size;
    Window(file, ra, page);
  } else {
    Fetch(file, page, wanted);  // a small random read gets no readahead
  }
}

void ReadaheadModel::Read(uint32_t file, uint64_t offset, uint64_t bytes) {
  if (bytes == 0) return;
  FileState* ra = &files_[file];
  const auto first = static_cast<int64_t>(offset / kPage);
  const auto end = static_cast<int64_t>((offset + bytes + kPage - 1) / kPage);
  ++totals_.calls;
  bool missing = false;
  for (int64_t p = first; p < end; ++p) {
    if (Find(file, p) == nullptr) {
      missing = true;
      if (window_ > 0 && !options_.random) OnDemand(file, ra, p, end - p);
      if (Find(file, p) == nullptr) Fetch(file, p, window_ > 0 && options_.random ? end - p : 1);
    }
    Page* page = Find(file, p);
    if (page != nullptr && page->mark) {
      page->mark = false;
      if (window_ > 0) OnDemand(file, ra, p, end - p);
    }
    ra->previous = p;
  }
  totals_.missing += missing;
}

void ReadaheadModel::Fault(uint32_t file, FileState* ra, int64_t p) {
  Page* page = Find(file, p);
  if (page != nullptr) {
    if (ra->mmap_miss > 0) --ra->mmap_miss;
    if (page->mark && !options_.random) {
      page->mark = false;
      OnDemand(file, ra, p, 1);
    }
    return;
  }
  if (window_ > 0 && !options_.random) {
    if (ra->mmap_miss < kLotsOfMisses * 10) ++ra->mmap_miss;
    if (ra->mmap_miss <= kLotsOfMisses) {
      ra->start = std::max<int64_t>(0, p - window_ / 2);
      ra->size = window_;
      ra->async_size = window_ / 4;
      Window(file, ra, p);
    }
  }
  Fetch(file, p, 1);
}

void ReadaheadModel::Touch(uint32_t file, uint64_t offset, uint64_t bytes) {
  if (bytes == 0) return;
  FileState* ra = &files_[file];
  ++totals_.calls;
  const uint64_t before = totals_.reads;
  for (uint64_t p = offset / kPage; p <= (offset + bytes - 1) / kPage; ++p) {
    const auto at = static_cast<int64_t>(p);
    Page* page = Find(file, at);
    if (page != nullptr && page->mapped) continue;
    Fault(file, ra, at);
    page = Find(file, at);
    if (page != nullptr) page->mapped = true;
  }
  totals_.missing += totals_.reads != before;
}

}  // namespace testbed
