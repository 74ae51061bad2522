// This file has the ways in which a thread reaches a page: optimistically, latched, in place, and
// by reading it from the file.
#include <cstring>

#include "device/error.h"
#include "engines/btree/pool/pool.h"

namespace testbed::btree {

bool Pool::Share(PageId id) {
  for (;;) {
    const PageWord word = table_.Load(id);
    if (word.exclusive() || word.readers() == PageWord::kReaders) {
      table_.AwaitRelease(id, word);
    } else if (!word.in_pool()) {
      return false;
    } else if (table_.TryShare(id, word)) {
      return true;
    }
  }
}

bool Pool::Exclude(PageId id, uint32_t* frame) {
  for (;;) {
    const PageWord word = table_.Load(id);
    if (word.latched()) {
      table_.AwaitRelease(id, word);
    } else if (!word.in_pool()) {
      return false;
    } else if (table_.TryExclude(id, word)) {
      *frame = word.frame();
      return true;
    }
  }
}

void Pool::ReadInto(PoolClient* client, PageId id, uint32_t frame, Load load, PageState* state) {
  if (load == Load::kNew) return;
  char* data = Data(frame);
  if (load == Load::kRead && file_->ReadCached(id, data)) return;
  client->misses.Add(1);
  if (load == Load::kRead) {
    file_->Read(id, data);
    return;
  }
  *state = file_->Inspect(id, data);
  if (*state != PageState::kValid) std::memset(data, 0, page_size_);
}

uint32_t Pool::BringIn(PoolClient* client, PageId id, Load load, PageState* state) {
  uint32_t frame = kNoFrame;
  try {
    frame = AcquireFrame(id);
    ReadInto(client, id, frame, load, state);
    if (load != Load::kNew) NoteImage(frame);
    return frame;
  } catch (...) {
    // The replacement keeps the frame, and will find later that the frame has no page.
    if (frame != kNoFrame) frames_[frame].page.store(kNoPage, std::memory_order_relaxed);
    table_.Unexclude(id, kNoFrame, 0);
    throw;
  }
}

// Returns whether the page is read in place. A page that was written since the last sync is read
// into the pool instead: the system may drop a page that it failed to write back at any moment, and
// a thread that reads in place does not check for that afterwards.
bool Pool::ReadsInPlace(PageId id) const { return in_place_ && !file_->WrittenSinceSync(id); }

// Returns the page where it lies in the mapping. The caller checks the page's version afterwards.
const char* Pool::ReadInPlace(PoolClient* client, PageId id, PageWord* seen) {
  const char* page = file_->View(id, !seen->verified());
  client->misses.Add(1);
  if (!seen->verified()) {
    table_.Replace(id, *seen, seen->WithVerified());  // if that fails, the next reader checks again
  }
  return page;
}

OptimisticGuard Pool::OptimisticSlow(PoolClient* client, PageId id) {
  OptimisticGuard guard;
  guard.table_ = &table_;
  guard.id_ = id;
  if constexpr (kLatchedReads) {
    guard.held_ = Read(client, id);
    client->requests.Add(~0ull);  // Read has counted the request again
    guard.seen_ = table_.Load(id);
    guard.data_ = guard.held_.page();
    return guard;
  }
  for (;;) {
    const PageWord word = table_.Load(id);
    guard.seen_ = word;
    if (word.exclusive()) {
      table_.AwaitRelease(id, word);
    } else if (word.in_pool()) {
      table_.Touch(id, word);
      guard.data_ = Data(word.frame());
      return guard;
    } else if (ReadsInPlace(id)) {
      try {
        guard.data_ = ReadInPlace(client, id, &guard.seen_);
      } catch (const Error&) {
        // Another thread may have changed the page and written it while this thread checked it.
        if (table_.Unchanged(id, word)) throw;
        continue;
      }
      return guard;
    } else if (table_.TryExclude(id, word)) {
      table_.Unexclude(id, BringIn(client, id, Load::kRead, nullptr), 0);
    }
  }
}

Pool::Look Pool::TryOptimistic(PageId id, OptimisticGuard* guard, MissingPage* missing) {
  for (;;) {
    const PageWord word = table_.Load(id);
    if (word.exclusive() || word.readers() == PageWord::kReaders) return Look::kBusy;
    if (!word.in_pool()) {
      if (word.latched()) return Look::kBusy;
      if (!table_.TryExclude(id, word)) continue;
      uint32_t frame = kNoFrame;
      try {
        frame = TryAcquireFrame(id);
      } catch (...) {
        table_.Unexclude(id, kNoFrame, 0);
        throw;
      }
      if (frame == kNoFrame) {
        table_.Unexclude(id, kNoFrame, 0);
        return Look::kBusy;
      }
      *missing = {id, frame, Data(frame)};
      if (!ReadCachedInto(*missing)) return Look::kMissing;
      continue;
    }
    *guard = GuardInPool(id, word);
    if (guard->page() != nullptr) return Look::kHere;
  }
}

OptimisticGuard Pool::GuardInPool(PageId id, PageWord word) {
  OptimisticGuard guard;
  if constexpr (kLatchedReads) {
    if (!table_.TryShare(id, word)) return guard;
    SharedGuard held;
    held.pool_ = this;
    held.data_ = Data(word.frame());
    held.id_ = id;
    guard.held_ = std::move(held);
  }
  table_.Touch(id, kLatchedReads ? table_.Load(id) : word);
  guard.table_ = &table_;
  guard.data_ = Data(word.frame());
  guard.seen_ = word;
  guard.id_ = id;
  return guard;
}

OptimisticGuard Pool::Peek(PageId id) {
  for (;;) {
    const PageWord word = table_.Load(id);
    if (!word.in_pool() || word.exclusive() || word.readers() == PageWord::kReaders) return {};
    OptimisticGuard guard = GuardInPool(id, word);
    // With kLatchedReads the word may have changed since, as when the cleaner holds the page, too.
    if (guard.page() != nullptr) return guard;
  }
}

// Copies the page from the cache of compressed pages, and ends its read. Returns false when the
// cache does not have the page.
bool Pool::ReadCachedInto(const MissingPage& missing) {
  try {
    if (!file_->ReadCached(missing.id, missing.page)) return false;
  } catch (...) {
    EndRead(missing, false);
    throw;
  }
  EndRead(missing, true);
  return true;
}

void Pool::EndRead(const MissingPage& missing, bool valid) {
  // The replacement keeps a frame whose read failed, and will find later that the frame has no
  // page.
  if (valid) {
    NoteImage(missing.frame);
  } else {
    frames_[missing.frame].page.store(kNoPage, std::memory_order_relaxed);
  }
  table_.Unexclude(missing.id, valid ? missing.frame : kNoFrame, 0);
}

// The replacement lets go of the frame when it comes up. Among its newer pages, whose number the
// replacement bounds, frames that cannot be evicted would keep it from all others.
void Pool::AbandonRead(const MissingPage& missing) {
  frames_[missing.frame].page.store(kAbandonedPage, std::memory_order_relaxed);
  table_.Unexclude(missing.id, kNoFrame, 0);
}

uint32_t Pool::Fetch(PoolClient* client, ReadRing* ring, std::span<const PageId> ids) {
  std::vector<MissingPage> reads;
  reads.reserve(ids.size());
  // After an error this loop starts no more reads, but ends those that are in flight. A thread that
  // asks for the page later gets the error.
  for (const PageId id : ids) {
    MissingPage missing;
    try {
      OptimisticGuard here;
      if (TryOptimistic(id, &here, &missing) != Look::kMissing) continue;
    } catch (const std::exception&) {
      break;
    }
    try {
      file_->StartRead(ring, id, missing.page, reads.size());
    } catch (const std::exception&) {
      EndRead(missing, false);
      break;
    }
    reads.push_back(missing);
  }
  for (size_t i = 0; i < reads.size(); ++i) {
    ReadRing::Ended ended{};
    try {
      ended = ring->Take();
    } catch (...) {
      for (const MissingPage& read : reads) {
        if (read.frame != kNoFrame) AbandonRead(read);
      }
      throw;
    }
    MissingPage& read = reads[ended.tag];
    bool valid = true;
    try {
      file_->FinishRead(read.id, read.page, ended.result);
    } catch (const std::exception&) {
      valid = false;
    }
    EndRead(read, valid);
    read.frame = kNoFrame;  // ended
  }
  client->fetched.Add(reads.size());
  return static_cast<uint32_t>(reads.size());
}

SharedGuard Pool::Read(PoolClient* client, PageId id) {
  client->requests.Add(1);
  SharedGuard guard;
  for (;;) {
    PageWord word = table_.Load(id);
    if (word.exclusive() || word.readers() == PageWord::kReaders) {
      table_.AwaitRelease(id, word);
      continue;
    }
    if (word.in_pool()) {
      if (!table_.TryShare(id, word)) continue;
      table_.Touch(id, table_.Load(id));
      guard.data_ = Data(word.frame());
      break;
    }
    if (ReadsInPlace(id)) {
      if (!table_.TryShare(id, word)) continue;
      try {
        word = table_.Load(id);
        guard.data_ = ReadInPlace(client, id, &word);
      } catch (...) {
        table_.Unshare(id);
        throw;
      }
      break;
    }
    if (!table_.TryExclude(id, word)) continue;
    const uint32_t frame = BringIn(client, id, Load::kRead, nullptr);
    table_.Unexclude(id, frame, 0, true);
    guard.data_ = Data(frame);
    break;
  }
  guard.pool_ = this;
  guard.id_ = id;
  return guard;
}

ExclusiveGuard Pool::MakeExclusive(uint32_t frame, PageId id) {
  ExclusiveGuard guard;
  guard.pool_ = this;
  guard.frame_ = frame;
  guard.data_ = Data(frame);
  guard.id_ = id;
  return guard;
}

ExclusiveGuard Pool::WriteAs(PoolClient* client, PageId id, Load load, PageState* state) {
  client->requests.Add(1);
  for (;;) {
    const PageWord word = table_.Load(id);
    if (word.latched()) {
      table_.AwaitRelease(id, word);
      continue;
    }
    if (word.in_pool()) table_.Touch(id, word);
    if (!table_.TryExclude(id, word.in_pool() ? table_.Load(id) : word)) continue;
    const PageWord held = table_.Load(id);
    return MakeExclusive(held.in_pool() ? held.frame() : BringIn(client, id, load, state), id);
  }
}

ExclusiveGuard Pool::Write(PoolClient* client, PageId id) {
  return WriteAs(client, id, Load::kRead, nullptr);
}

ExclusiveGuard Pool::WriteNew(PoolClient* client, PageId id) {
  return WriteAs(client, id, Load::kNew, nullptr);
}

ExclusiveGuard Pool::WriteAny(PoolClient* client, PageId id, PageState* state) {
  *state = PageState::kValid;
  return WriteAs(client, id, Load::kAny, state);
}

ExclusiveGuard Pool::Upgrade(PoolClient* client, OptimisticGuard* guard) {
  const PageId id = guard->id();
  const PageWord seen = guard->seen_;
  if constexpr (kLatchedReads) guard->held_.Release();
  for (;;) {
    const PageWord word = table_.Load(id);
    if (((word.bits ^ seen.bits) & PageWord::kIdentity) != 0) return {};
    if (word.latched()) {
      table_.AwaitRelease(id, word);
    } else if (table_.TryExclude(id, word)) {
      return MakeExclusive(
          word.in_pool() ? word.frame() : BringIn(client, id, Load::kRead, nullptr), id);
    }
  }
}

SharedGuard Pool::Hold(OptimisticGuard* guard) {
  if constexpr (kLatchedReads) return std::move(guard->held_);
  for (;;) {
    const PageWord word = table_.Load(guard->id_);
    if (((word.bits ^ guard->seen_.bits) & PageWord::kIdentity) != 0) return {};
    if (word.readers() == PageWord::kReaders) {
      table_.AwaitRelease(guard->id_, word);
    } else if (table_.TryShare(guard->id_, word)) {
      SharedGuard held;
      held.pool_ = this;
      held.id_ = guard->id_;
      held.data_ = guard->data_;
      return held;
    }
  }
}

void Pool::Discard(PageId first, uint32_t pages) {
  for (PageId id = first; id < first + pages; ++id) {
    uint32_t index;
    if (!Exclude(id, &index)) continue;
    Frame& frame = frames_[index];
    // If the frame was dirty before the page became an overflow page, the page must still be
    // written: earlier log records rely on that.
    if (Header(Data(index))->type == PageType::kOverflow &&
        frame.dirty.load(std::memory_order_acquire) &&
        frame.overflow_only.load(std::memory_order_relaxed)) {
      frame.dirty.store(false, std::memory_order_relaxed);
      frame.rec_lsn.store(kNoLsn, std::memory_order_relaxed);
    }
    table_.Unexclude(id, index, 0);
  }
}

}  // namespace testbed::btree
