// This file has the pool's writing half: the cleaner, which makes room, and flushes for
// checkpoints. Both copy pages under a shared latch and write the copies, so that no thread waits
// for a latch during the write.
#include <algorithm>
#include <chrono>

#include "device/error.h"
#include "device/os/mutex.h"
#include "engines/btree/pool/pool.h"
#include "engines/btree/pool/redo.h"

namespace testbed::btree {

// Copies the page into the batch if it is dirty, not kept back, and no other thread is writing it.
// Returns whether it has copied the page. The caller holds the shared latch.
bool Pool::BeginWrite(uint32_t index, WriteBatch* batch, Writing* writing) {
  Frame* frame = &frames_[index];
  if (frame->kept_back.load(std::memory_order_relaxed)) return false;
  if (!frame->dirty.load(std::memory_order_acquire)) return false;
  if (frame->writing.exchange(true, std::memory_order_acq_rel)) return false;
  // This looks again, as the other thread may have finished its write in between.
  if (!frame->dirty.load(std::memory_order_acquire)) {
    frame->writing.store(false, std::memory_order_release);
    return false;
  }
  // The floor is read before the copy, so that the copy has all commits before that floor.
  if (writing->frames.empty()) writing->floor = image_floor_.load(std::memory_order_acquire);
  batch->Add(Data(index));
  // write_lsn is set before rec_lsn is cleared, so that at every moment one of them has the begin
  // of what the file lacks.
  frame->write_lsn.store(frame->rec_lsn.load(), std::memory_order_release);
  frame->rec_lsn.store(kNoLsn, std::memory_order_release);
  frame->dirty.store(false, std::memory_order_release);
  writing->frames.push_back(frame);
  return true;
}

// Marks the pages of a failed write dirty again, with the LSNs that they had before.
void Pool::UndoWrite(Writing* writing) {
  for (Frame* frame : writing->frames) {
    frame->LowerRecLsn(frame->write_lsn.load());
    frame->dirty.store(true, std::memory_order_release);
    frame->write_lsn.store(kNoLsn, std::memory_order_release);
    frame->writing.store(false, std::memory_order_release);
  }
  writing->frames.clear();
}

void Pool::SetImageFloor(Lsn floor) {
  std::unique_lock alone(image_gate_);
  floor_set_.store(log_->EndLsn(), std::memory_order_relaxed);
  image_floor_.store(floor, std::memory_order_release);  // whoever sees it sees floor_set_, too
}

// Notes whether the log has an image, since the floor, of the page that was just read into the
// frame; the page's LSN tells. So a page that leaves the pool and comes back needs no second image.
void Pool::NoteImage(uint32_t index) {
  const Lsn floor = image_floor_.load(std::memory_order_acquire);
  if (floor == 0) return;
  const PageHeader* header = Header(Data(index));
  if (header->type != PageType::kLeaf && header->type != PageType::kInner) return;
  if (header->lsn <= floor_set_.load(std::memory_order_relaxed)) return;
  frames_[index].image_floor.store(floor, std::memory_order_relaxed);
}

// Logs an image of each node in the batch of which the log has none since the floor. Other pages
// need none: the log has what was written to overflow and free pages after the floor, or no thread
// reads it. Returns the end of the last record.
Lsn Pool::LogImages(const WriteBatch& batch, const Writing& writing) {
  const Lsn floor = image_floor_.load(std::memory_order_relaxed);
  Lsn end = 0;
  StructureRecord record;
  for (uint32_t i = 0; i < batch.count(); ++i) {
    const PageType type = Header(batch.page(i))->type;
    if (type != PageType::kLeaf && type != PageType::kInner) continue;
    Frame* const frame = writing.frames[i];
    if (frame->image_floor.load(std::memory_order_relaxed) >= floor) continue;
    record.Clear();
    record.SavedImage(batch.page(i), page_size_);
    const std::string_view bytes = record.Encode();
    const LogRange range = log_->Append(bytes);
    // The copy may be older than the present floor, and then lacks commits before that.
    frame->image_floor.store(writing.floor, std::memory_order_relaxed);
    end = range.end;
    images_.fetch_add(1, std::memory_order_relaxed);
    image_bytes_.fetch_add(bytes.size(), std::memory_order_relaxed);
  }
  return end;
}

void Pool::FinishWrite(WriteBatch* batch, Writing* writing) {
  if (batch->count() == 0) return;
  batches_.fetch_add(1);
  try {
    std::shared_lock gate(image_gate_);
    const Lsn images = LogImages(*batch, *writing);
    log_->EnsureDurable(std::max(batch->MaxLsn(), images));
    file_->Write(batch);
  } catch (...) {
    batches_.fetch_sub(1);
    batch->Clear();
    UndoWrite(writing);
    throw;
  }
  batches_.fetch_sub(1);
  batch->Clear();
  for (Frame* frame : writing->frames) {
    frame->write_lsn.store(kNoLsn, std::memory_order_release);
    frame->writing.store(false, std::memory_order_release);
  }
  writing->frames.clear();
}

// Takes up to a batch of frames that should be cleaned. The caller holds mutex_.
void Pool::CollectForCleaning(std::vector<uint32_t>* frames) {
  const size_t want = std::min<size_t>(WriteBatch::PagesFor(page_size_), limit_ / 4);
  // Pages that should leave soon are taken in advance, so that the same batch writes them.
  for (uint32_t tries = 0; to_clean_.size() < want && tries < 2 * want; ++tries) {
    const uint32_t index = replacement_.NextVictim();
    if (index == Replacement::kNone) break;
    if (frames_[index].abandoned()) continue;
    if (frames_[index].writable()) {
      to_clean_.push_back(index);
    } else if (cleaned_.size() < want && TryEvict(index)) {
      free_.push_back(index);
    } else {
      replacement_.Return(index);
    }
  }
  const size_t n = std::min(want, to_clean_.size());
  frames->assign(to_clean_.begin(), to_clean_.begin() + static_cast<ptrdiff_t>(n));
  to_clean_.erase(to_clean_.begin(), to_clean_.begin() + static_cast<ptrdiff_t>(n));
}

void Pool::CleanSome(std::vector<uint32_t>* frames, WriteBatch* batch) {
  IoScope scope(kEviction);
  std::sort(frames->begin(), frames->end(), [this](uint32_t a, uint32_t b) {
    return frames_[a].page.load(std::memory_order_relaxed) <
           frames_[b].page.load(std::memory_order_relaxed);
  });
  Writing writing;
  writing.frames.reserve(WriteBatch::PagesFor(page_size_));  // BeginWrite must not fail half-way
  for (uint32_t index : *frames) {
    const PageId id = frames_[index].page.load(std::memory_order_relaxed);
    if (id == kNoPage) continue;
    const PageWord word = table_.Load(id);
    // A page that another thread changes now, or that has left its frame, is no candidate any more.
    if (!word.in_pool() || word.frame() != index || !table_.TryShare(id, word)) continue;
    BeginWrite(index, batch, &writing);
    table_.Unshare(id);
  }
  const size_t pages = writing.frames.size();
  FinishWrite(batch, &writing);
  LockGuard lock(mutex_);
  cleaned_pages_ += pages;
}

bool Pool::HasDirtyPage() const {
  for (uint32_t i = 0; i < made_; ++i) {
    if (frames_[i].dirty.load(std::memory_order_relaxed)) return true;
  }
  return false;
}

// Runs on the cleaner's thread. `batch`, `frames` and the pool's lists have room for all that they
// will hold, as this thread has no caller whom it could tell that memory is short.
void Pool::CleanerLoop(WriteBatch* batch, std::vector<uint32_t>* frames) {
  UniqueLock lock(mutex_);
  for (;;) {
    const auto cleaning = [this]() REQUIRES(mutex_) {
      return waiters_ > 0 || to_clean_.size() >= CleanStart();
    };
    work_for_cleaner_.wait(
        mutex_, [&]() REQUIRES(mutex_) { return stop_ || cleaning() || MemoryIsShort(); });
    if (stop_) return;
    if (!cleaning()) {
      MakeMemoryReady();
      continue;
    }
    CollectForCleaning(frames);
    std::optional<Error> error;
    if (!frames->empty()) {
      lock.unlock();
      try {
        CleanSome(frames, batch);
      } catch (const std::exception& e) {
        error = Error::Of(e);
      }
      lock.lock();
    }
    for (uint32_t index : *frames) {
      if (frames_[index].dirty.load(std::memory_order_relaxed)) {
        replacement_.Return(index);
      } else {
        cleaned_.push_back(index);
      }
    }
    // A round without a candidate keeps the error of the last write, unless no page is dirty.
    if (!frames->empty() || (clean_error_ && !HasDirtyPage())) clean_error_ = error;
    ++clean_rounds_;
    frames_available_.notify_all();
    // The cleaner has no page to write, or cannot write. It lets the threads that wait run first.
    if (frames->empty() || error) {
      work_for_cleaner_.wait_for(mutex_, std::chrono::milliseconds(5),
                                 [this]() REQUIRES(mutex_) { return stop_; });
    }
  }
}

void Pool::FlushPages(const std::vector<PageId>& dirty) {
  Writing writing;
  writing.frames.reserve(WriteBatch::PagesFor(page_size_));  // BeginWrite must not fail half-way
  for (const PageId id : dirty) {
    PageWord word = table_.Load(id);
    if (!word.in_pool()) continue;  // another thread has written and evicted the page
    if (!table_.TryShare(id, word)) {
      // The thread that holds the latch may be waiting for a frame. So this one finishes the pages
      // that it has begun to write before it waits for the latch.
      FinishWrite(&flush_batch_, &writing);
      if (!Share(id)) continue;
      word = table_.Load(id);
    }
    BeginWrite(word.frame(), &flush_batch_, &writing);
    table_.Unshare(id);
    if (flush_batch_.full()) FinishWrite(&flush_batch_, &writing);
  }
  FinishWrite(&flush_batch_, &writing);
}

// The cleaner's candidates are what the replacement names, and all of them may be clean or in use
// for some rounds. So this takes any dirty pages.
void Pool::RetryCleaning() {
  {
    LockGuard lock(mutex_);
    if (!clean_error_) return;
  }
  {
    const IoScope scope(kEviction);
    LockGuard one(flush_mutex_);
    std::vector<PageId> dirty;
    for (uint32_t i = 0; i < made_.load(std::memory_order_acquire); ++i) {
      if (dirty.size() == WriteBatch::PagesFor(page_size_)) break;
      const Frame& frame = frames_[i];
      if (frame.dirty.load(std::memory_order_acquire)) dirty.push_back(frame.page.load());
    }
    std::sort(dirty.begin(), dirty.end());
    FlushPages(dirty);
  }
  LockGuard lock(mutex_);
  clean_error_.reset();
  frames_available_.notify_all();
}

void Pool::FlushBefore(Lsn lsn) {
  LockGuard one(flush_mutex_);
  std::vector<PageId> dirty;
  for (;;) {
    dirty.clear();
    bool others_writing = false;
    for (uint32_t i = 0; i < made_.load(std::memory_order_acquire); ++i) {
      const Frame& frame = frames_[i];
      if (frame.kept_back.load(std::memory_order_relaxed)) continue;
      // A page's LSN moves from rec_lsn to write_lsn when its write begins, and moves back when the
      // write fails. Reading rec_lsn, write_lsn and rec_lsn again sees the LSN whichever way it
      // moves meanwhile.
      if (frame.rec_lsn.load() < lsn) {
        dirty.push_back(frame.page.load(std::memory_order_relaxed));
        // While the cleaner writes an older copy of the page, FlushPages leaves it out.
        if (frame.writing.load()) others_writing = true;
      } else if (frame.write_lsn.load() < lsn || frame.rec_lsn.load() < lsn) {
        others_writing = true;
      }
    }
    if (dirty.empty() && !others_writing) return;
    std::sort(dirty.begin(), dirty.end());
    FlushPages(dirty);
    // The cleaner may be writing copies. A page whose write fails, or that was changed since, is
    // dirty again, and this loop finds it.
    if (others_writing) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

}  // namespace testbed::btree
