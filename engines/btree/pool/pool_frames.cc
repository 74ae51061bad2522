// This file has the pool's frames: which page leaves for another one, and how many frames there
// are. All of this happens under the pool's mutex, which a hit does not take.
#include <algorithm>
#include <chrono>
#include <new>
#include <optional>

#include "device/error.h"
#include "device/os/mutex.h"
#include "engines/btree/pool/pool.h"

namespace testbed::btree {

// Evicts the frame's page if no thread uses it and the file has its newest version. Returns whether
// the frame is without a page afterwards.
bool Pool::TryEvict(uint32_t index) {
  Frame& frame = frames_[index];
  const PageId id = frame.page.load(std::memory_order_relaxed);
  if (id == kNoPage) return true;
  if (id == kAbandonedPage) return false;
  // `writing` is read first, as a write that fails sets `dirty` again before it clears `writing`.
  const auto in_file = [&frame] {
    return !frame.writing.load(std::memory_order_acquire) &&
           !frame.dirty.load(std::memory_order_acquire) &&
           !frame.kept_back.load(std::memory_order_relaxed);
  };
  const PageWord word = table_.Load(id);
  if (!word.in_pool() || word.frame() != index || word.latched() || !in_file()) return false;
  if (!table_.TryExclude(id, word)) return false;
  const bool can = in_file();
  if (can) frame.page.store(kNoPage, std::memory_order_relaxed);
  table_.Unexclude(id, can ? kNoFrame : index, 0);
  if (!can) return false;
  replacement_.Evicted(index, id);
  ++evictions_;
  return true;
}

// Returns a frame that the replacement chose, after evicting its page. Returns kNone when all pages
// that came up were dirty or in use, and when enough pages wait for the cleaner: the clean pages
// among the rest would more and more be those that are hot and never change, inner nodes above all.
uint32_t Pool::TryPolicy() {
  while (!cleaned_.empty()) {
    const uint32_t index = cleaned_.back();
    cleaned_.pop_back();
    if (!replacement_.Wanted(index) && TryEvict(index)) return index;
    replacement_.Return(index);
  }
  // While the cleaner's writes fail, only clean pages can be evicted.
  const bool cleans = !clean_error_;
  for (uint32_t tries = 0; tries < 2 * made_; ++tries) {
    if (cleans && to_clean_.size() >= MostToClean()) break;
    const uint32_t index = replacement_.NextVictim();
    if (index == kNone) break;
    if (TryEvict(index)) return index;
    if (frames_[index].abandoned()) continue;
    if (cleans && frames_[index].writable()) {
      to_clean_.push_back(index);
    } else {
      replacement_.Return(index);
    }
  }
  return kNone;
}

// A thread gives up when all pages are in use, and not while pages are being written: however long
// the device takes, frames come when it ends, and a commit that the log has must get one.
void Pool::WaitForFrame(Clock::time_point* give_up) {
  ++frame_waits_;
  ++waiters_;
  const uint64_t round = clean_rounds_;
  work_for_cleaner_.notify_one();
  frames_available_.wait_for(mutex_, std::chrono::milliseconds(20), [&]() REQUIRES(mutex_) {
    return clean_rounds_ != round || !free_.empty() || !cleaned_.empty();
  });
  --waiters_;
  if (batches_.load() > 0) {
    *give_up = Clock::now() + patience_;
  } else if (Clock::now() > *give_up) {
    throw Error(Error::kRun, "the btree cache of " + std::to_string(limit_) +
                                 " pages is too small for the threads that use it: all pages are "
                                 "in use; give a larger --cache-pct");
  }
}

void Pool::ThrowIfNotCleaned() const {
  if (clean_error_) throw Error(*clean_error_);
}

void Pool::SetLimit() {
  const uint64_t pages = highest_page_ + 1ull;
  const uint64_t lengths = file_->TableBytes(pages);
  limit_ = std::max(kMinFrames, FramesFor(bytes_ - std::min(bytes_, lengths), page_size_, pages));
  limit_ = std::min(limit_, most_frames_);
}

// Makes room for one more frame in each list of frames. Throws std::bad_alloc.
void Pool::MakeRoomInLists() {
  const size_t frames = made_ + size_t{1};
  for (std::vector<uint32_t>* list : {&free_, &retired_, &cleaned_, &to_clean_}) {
    if (list->capacity() < frames) list->reserve(std::max<size_t>(limit_, frames + frames / 8));
  }
}

// Returns a frame that is free, new, or has just lost its page; kNone when there is none.
uint32_t Pool::TakeFrame() {
  if (!free_.empty()) {
    const uint32_t index = free_.back();
    free_.pop_back();
    return index;
  }
  if (ActiveFrames() >= Limit()) return TryPolicy();
  if (!retired_.empty()) {
    const uint32_t index = retired_.back();
    retired_.pop_back();
    return index;
  }
  MakeRoomInLists();
  new (&frames_[made_]) Frame();
  const uint32_t index = made_++;
  if (MemoryIsShort()) work_for_cleaner_.notify_one();
  return index;
}

// Returns the number of unused frames whose memory should be ready. Retired frames are used before
// new ones are made, so no more than `limit_` frames are ever made within the limit.
uint32_t Pool::FramesAhead() const {
  const uint32_t made = made_;
  const auto most = static_cast<uint32_t>(kMostAhead / page_size_);
  const uint32_t ahead = std::min(std::max(limit_ / 16, 2 * HugePageFrames()), most);
  return made >= limit_ ? 0 : std::min(limit_ - made, ahead);
}

// Returns the first frame of the next huge page to make ready, which no thread has touched.
uint32_t Pool::NextHugePage() const {
  const uint32_t n = HugePageFrames();
  return (std::max<uint32_t>(ready_, made_) + n - 1) / n * n;
}

bool Pool::MemoryIsShort() const {
  return can_make_ready_ && made_ + FramesAhead() >= NextHugePage() + HugePageFrames();
}

void Pool::MakeMemoryReady() {
  const uint32_t next = NextHugePage();
  const uint64_t from = uint64_t{next} * page_size_;
  mutex_.unlock();
  const bool done = memory_.Populate(from, memory_.kHugePage);
  mutex_.lock();
  can_make_ready_ = done;
  ready_ = std::max(ready_, next + HugePageFrames());
  // Frames that were retired meanwhile, because the limit fell, must not get memory.
  for (const uint32_t index : retired_) {
    if (index < ready_ && uint64_t{index} * page_size_ >= from) ReleaseMemory(index, 1);
  }
  DropMemoryAhead();
}

void Pool::DropMemoryAhead() {
  const uint32_t keep = made_ + FramesAhead();
  if (ready_ <= keep) return;
  ReleaseMemory(keep, ready_ - keep);
  ready_ = keep;
}

void Pool::ReleaseMemory(uint32_t frame, uint32_t frames) {
  memory_.Release(static_cast<size_t>(frame) * page_size_,
                  static_cast<size_t>(frames) * page_size_);
}

// Gives a frame to the page; kNone when there is none without waiting. The caller holds mutex_.
uint32_t Pool::GiveFrame(PageId id) {
  if (id > highest_page_) {
    highest_page_ = id;
    SetLimit();
  }
  for (;;) {
    const uint32_t index = TakeFrame();
    if (to_clean_.size() >= CleanStart()) work_for_cleaner_.notify_one();
    if (index == kNone) return kNone;
    if (ActiveFrames() <= Limit()) {
      frames_[index].page.store(id, std::memory_order_relaxed);
      frames_[index].image_floor.store(0, std::memory_order_relaxed);
      replacement_.Admit(index, id);
      return index;
    }
    Retire(index);
  }
}

uint32_t Pool::AcquireFrame(PageId id) {
  UniqueLock lock(mutex_);
  std::optional<Clock::time_point> give_up;
  for (;;) {
    const uint32_t index = GiveFrame(id);
    if (index != kNone) return index;
    if (give_up && GrowWhileFull()) continue;
    if (give_up) {
      ThrowIfNotCleaned();
    } else {
      give_up = Clock::now() + patience_;
    }
    WaitForFrame(&*give_up);
  }
}

// Lets the pool have more frames while the disk is full; returns false when it must not grow. In
// recovery, and while commits that the log has are applied, it gets as many as it needs. Otherwise
// it grows once, because commits that were under way when the disk filled may have dirtied every
// frame, and reads need clean ones. The caller holds mutex_.
bool Pool::GrowWhileFull() {
  if (!clean_error_ || !clean_error_->disk_is_full()) return false;
  if (!recovers_ && applying_.load() == 0 && unwritable_ != 0) return false;
  if (ActiveFrames() >= most_frames_) return false;
  unwritable_ = ActiveFrames();
  return true;
}

void Pool::BeginRecovery() {
  LockGuard lock(mutex_);
  recovers_ = true;
}

void Pool::EndRecovery() {
  LockGuard lock(mutex_);
  recovers_ = false;
  if (unwritable_ != 0) unwritable_ = ActiveFrames();
}

void Pool::KeepBack(const ExclusiveGuard& guard) {
  LockGuard lock(mutex_);
  if (!frames_[guard.frame_].kept_back.exchange(true)) ++kept_;
}

void Pool::ReleaseKept() {
  LockGuard lock(mutex_);
  if (kept_ == 0) return;
  for (uint32_t i = 0; i < made_; ++i) frames_[i].kept_back.store(false);
  kept_ = 0;
}

uint32_t Pool::TryAcquireFrame(PageId id) {
  LockGuard lock(mutex_);
  const uint32_t index = GiveFrame(id);
  if (index == kNone) work_for_cleaner_.notify_one();
  return index;
}

// Gives back the memory of a frame that has no page.
void Pool::Retire(uint32_t index) {
  ReleaseMemory(index, 1);
  retired_.push_back(index);
}

void Pool::Resize(uint64_t bytes) {
  UniqueLock lock(mutex_);
  const uint64_t before = bytes_;
  bytes_ = bytes;
  SetLimit();
  DropMemoryAhead();
  try {
    RetireSurplus();
    replacement_.SetFrames(limit_);
  } catch (...) {
    bytes_ = before;
    SetLimit();
    throw;
  }
}

// Takes away frames until there are no more than `limit_`. The caller holds mutex_, which this
// function releases while it waits for a frame.
void Pool::RetireSurplus() {
  std::optional<Clock::time_point> give_up;
  while (ActiveFrames() > limit_) {
    // After a failed write the pool may keep more frames than `limit_`, and TakeFrame would make
    // new ones; only frames that exist can be taken away.
    uint32_t index = kNone;
    if (free_.empty()) {
      index = TryPolicy();
    } else {
      index = free_.back();
      free_.pop_back();
    }
    if (index != kNone) {
      Retire(index);
      continue;
    }
    if (give_up) {
      ThrowIfNotCleaned();
    } else {
      give_up = Clock::now() + patience_;
    }
    WaitForFrame(&*give_up);
  }
}

}  // namespace testbed::btree
