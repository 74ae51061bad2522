#include "engines/btree/pool.h"

#include <algorithm>
#include <bit>
#include <chrono>

#include "device/error.h"
#include "engines/btree/overflow.h"

namespace testbed::btree {
namespace {

// Of a frame: its page, the frame's own state, its part of page table and replacement.
constexpr size_t TableBytesPerFrame() {
  return sizeof(Frame) + 4 * sizeof(uint32_t) + Replacement::BytesPerFrame() + 2 * sizeof(uint32_t);
}

}  // namespace

PoolClient::PoolClient(Pool* pool) : pool_(pool) {
  std::lock_guard lock(pool_->clients_mutex_);
  pool_->clients_.insert(this);
}

PoolClient::~PoolClient() {
  std::lock_guard lock(pool_->clients_mutex_);
  pool_->clients_.erase(this);
  pool_->past_requests_ += requests.Get();
  pool_->past_misses_ += misses.Get();
}

SharedGuard& SharedGuard::operator=(SharedGuard&& other) noexcept {
  if (this == &other) return *this;
  Release();  // now, not when `other` ends
  std::swap(pool_, other.pool_);
  std::swap(frame_, other.frame_);
  std::swap(data_, other.data_);
  std::swap(id_, other.id_);
  return *this;
}

void SharedGuard::Release() {
  if (data_ == nullptr) return;
  data_ = nullptr;
  if (frame_ == nullptr) {
    pool_->mapped_->UnlockShared(id_);
    return;
  }
  frame_->latch.UnlockShared();
  frame_->pins.fetch_sub(1, std::memory_order_release);
  frame_ = nullptr;
}

ExclusiveGuard& ExclusiveGuard::operator=(ExclusiveGuard&& other) noexcept {
  if (this == &other) return *this;
  Release();  // now, not when `other` ends
  std::swap(pool_, other.pool_);
  std::swap(frame_, other.frame_);
  std::swap(data_, other.data_);
  std::swap(id_, other.id_);
  return *this;
}

void ExclusiveGuard::Release() {
  if (data_ == nullptr) return;
  data_ = nullptr;
  frame_->latch.UnlockExclusive();
  frame_->pins.fetch_sub(1, std::memory_order_release);
  frame_ = nullptr;
}

void ExclusiveGuard::MarkDirty(Lsn begin, Lsn end) {
  PageHeader* header = Header(data_);
  header->lsn = std::max(header->lsn, end);
  frame_->LowerRecLsn(begin);
  if (!frame_->dirty.load(std::memory_order_relaxed)) {
    frame_->dirty.store(true, std::memory_order_release);
  }
}

uint32_t Pool::FramesFor(uint64_t bytes, uint32_t page_size) {
  const uint64_t frames = bytes / (page_size + TableBytesPerFrame());
  return frames < kMinFrames ? 0 : static_cast<uint32_t>(std::min<uint64_t>(frames, 1u << 30));
}

Pool::Pool(PageFile* file, RedoLog* log, uint32_t frames)
    : file_(file),
      log_(log),
      page_size_(file->page_size()),
      frame_count_(frames),
      memory_(static_cast<size_t>(frames) * page_size_),
      frames_(std::make_unique<Frame[]>(frames)),
      buckets_(std::bit_ceil(std::max<uint32_t>(frames, 2)), kNone),
      bucket_shift_(64 - std::countr_zero(buckets_.size())),
      bucket_latches_(std::make_unique<Latch[]>(kBucketLatches)),
      mapped_(file->mmap() ? std::make_unique<MappedPages>() : nullptr),
      replacement_(frames),
      flush_batch_(page_size_, WriteBatch::PagesFor(page_size_)) {
  free_.reserve(frames);
  to_clean_.reserve(frames);
  cleaned_.reserve(frames);
  for (uint32_t i = frames; i-- > 0;) free_.push_back(i);
  cleaner_ = std::thread([this] { CleanerLoop(); });
}

Pool::~Pool() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_for_cleaner_.notify_all();
  cleaner_.join();
}

Frame* Pool::PinExisting(PageId id) {
  const size_t bucket = Bucket(id);
  Latch& latch = BucketLatch(bucket);
  latch.LockExclusive();
  Frame* found = nullptr;
  for (uint32_t i = buckets_[bucket]; i != kNone; i = frames_[i].next) {
    if (frames_[i].page.load(std::memory_order_relaxed) == id) {
      found = &frames_[i];
      found->pins.fetch_add(1, std::memory_order_acquire);
      break;
    }
  }
  latch.UnlockExclusive();
  return found;
}

Frame* Pool::Pin(PageId id, bool* loading) {
  *loading = false;
  Frame* frame = PinExisting(id);
  if (frame != nullptr) return frame;
  const uint32_t index = AcquireFrame();
  const size_t bucket = Bucket(id);
  Latch& latch = BucketLatch(bucket);
  latch.LockExclusive();
  for (uint32_t i = buckets_[bucket]; i != kNone; i = frames_[i].next) {
    if (frames_[i].page.load(std::memory_order_relaxed) != id) continue;
    frame = &frames_[i];  // another thread was faster
    frame->pins.fetch_add(1, std::memory_order_acquire);
    latch.UnlockExclusive();
    ReleaseFrame(index);
    return frame;
  }
  frame = &frames_[index];
  frame->latch.LockExclusive();  // nobody else knows the frame
  frame->pins.fetch_add(1, std::memory_order_relaxed);
  frame->page.store(id, std::memory_order_relaxed);
  frame->next = buckets_[bucket];
  buckets_[bucket] = index;
  if (mapped_ != nullptr) mapped_->SetInPool(id);
  latch.UnlockExclusive();
  if (mapped_ != nullptr) mapped_->WaitForReaders(id);
  {
    std::lock_guard lock(mutex_);
    replacement_.Admit(index, id);
  }
  *loading = true;
  return frame;
}

// Takes the frame out of the page table; the chain's latch is held.
void Pool::Unlink(Frame* frame, PageId id) {
  const uint32_t index = Index(frame);
  uint32_t* at = &buckets_[Bucket(id)];
  while (*at != index) at = &frames_[*at].next;
  *at = frame->next;
  frame->next = kNone;
  frame->page.store(kNoPage, std::memory_order_relaxed);
  frame->valid.store(false, std::memory_order_relaxed);
  if (mapped_ != nullptr) mapped_->ClearInPool(id);
}

// A page could not be read: those who wait for the frame find it invalid and try for themselves.
void Pool::AbandonLoad(Frame* frame, PageId id) {
  Latch& latch = BucketLatch(Bucket(id));
  latch.LockExclusive();
  Unlink(frame, id);
  latch.UnlockExclusive();
  frame->latch.UnlockExclusive();
  frame->pins.fetch_sub(1, std::memory_order_release);
}

void Pool::LoadPage(PoolClient* client, Frame* frame, PageId id, Load load, PageState* state) {
  char* data = Data(frame);
  try {
    if (load == Load::kRead) {
      client->misses.Add(1);
      file_->Read(id, data);
    } else if (load == Load::kAny) {
      client->misses.Add(1);
      *state = file_->Inspect(id, data);
      if (*state != PageState::kValid) std::memset(data, 0, page_size_);
    }
  } catch (...) {
    AbandonLoad(frame, id);
    throw;
  }
  frame->valid.store(true, std::memory_order_release);
}

SharedGuard Pool::Read(PoolClient* client, PageId id) {
  client->requests.Add(1);
  SharedGuard guard;
  guard.pool_ = this;
  guard.id_ = id;
  for (;;) {
    if (mapped_ != nullptr && mapped_->TryLockShared(id)) {
      client->misses.Add(1);
      try {
        const bool verified = mapped_->Verified(id);
        guard.data_ = file_->View(id, !verified);
        if (!verified) mapped_->SetVerified(id);
      } catch (...) {
        mapped_->UnlockShared(id);
        throw;
      }
      return guard;
    }
    bool loading = false;
    Frame* frame = mapped_ != nullptr ? PinExisting(id) : Pin(id, &loading);
    if (frame == nullptr) continue;  // it has just left the pool: read it in place
    if (loading) {
      LoadPage(client, frame, id, Load::kRead, nullptr);
      frame->latch.Downgrade();
    } else {
      frame->latch.LockShared();
      if (!frame->valid.load(std::memory_order_acquire)) {
        frame->latch.UnlockShared();
        frame->pins.fetch_sub(1, std::memory_order_release);
        continue;
      }
      replacement_.Touch(Index(frame));
    }
    guard.frame_ = frame;
    guard.data_ = Data(frame);
    return guard;
  }
}

Frame* Pool::PinExclusive(PoolClient* client, PageId id, Load load, PageState* state) {
  client->requests.Add(1);
  for (;;) {
    bool loading;
    Frame* frame = Pin(id, &loading);
    if (loading) {
      LoadPage(client, frame, id, load, state);
      return frame;
    }
    frame->latch.LockExclusive();
    if (frame->valid.load(std::memory_order_acquire)) {
      replacement_.Touch(Index(frame));
      return frame;
    }
    frame->latch.UnlockExclusive();
    frame->pins.fetch_sub(1, std::memory_order_release);
  }
}

ExclusiveGuard Pool::MakeExclusive(Frame* frame, PageId id) {
  ExclusiveGuard guard;
  guard.pool_ = this;
  guard.frame_ = frame;
  guard.data_ = Data(frame);
  guard.id_ = id;
  return guard;
}

ExclusiveGuard Pool::Write(PoolClient* client, PageId id) {
  return MakeExclusive(PinExclusive(client, id, Load::kRead, nullptr), id);
}

ExclusiveGuard Pool::WriteNew(PoolClient* client, PageId id) {
  return MakeExclusive(PinExclusive(client, id, Load::kNew, nullptr), id);
}

ExclusiveGuard Pool::WriteAny(PoolClient* client, PageId id, PageState* state) {
  *state = PageState::kValid;
  return MakeExclusive(PinExclusive(client, id, Load::kAny, state), id);
}

void Pool::Discard(PageId first, uint32_t pages) {
  for (PageId id = first; id < first + pages; ++id) {
    Frame* frame = PinExisting(id);
    if (frame == nullptr) continue;
    frame->latch.LockExclusive();
    // Unless the frame was dirty already when the overflow page was written into it: then log
    // records from before still rely on the page's coming to the file.
    const auto* header = reinterpret_cast<const OverflowHeader*>(Data(frame));
    if (frame->valid.load(std::memory_order_relaxed) && header->type == PageType::kOverflow &&
        frame->rec_lsn.load(std::memory_order_relaxed) == header->begin) {
      frame->dirty.store(false, std::memory_order_relaxed);
      frame->rec_lsn.store(kNoLsn, std::memory_order_relaxed);
    }
    frame->latch.UnlockExclusive();
    frame->pins.fetch_sub(1, std::memory_order_release);
  }
}

// The frame's page leaves the pool if nobody uses it and the file has it.
bool Pool::TryEvict(uint32_t index) {
  Frame& frame = frames_[index];
  const PageId id = frame.page.load(std::memory_order_relaxed);
  if (id == kNoPage) return frame.pins.load(std::memory_order_acquire) == 0;
  Latch& latch = BucketLatch(Bucket(id));
  latch.LockExclusive();
  const bool can = frame.page.load(std::memory_order_relaxed) == id &&
                   frame.pins.load(std::memory_order_acquire) == 0 &&
                   !frame.dirty.load(std::memory_order_acquire) &&
                   !frame.writing.load(std::memory_order_acquire);
  if (can) Unlink(&frame, id);
  latch.UnlockExclusive();
  if (can) {
    replacement_.Evicted(index, id);
    ++evictions_;
  }
  return can;
}

// A frame by the replacement's choice, or kNone when only pages that are dirty or in use came up.
uint32_t Pool::TryPolicy() {
  while (!cleaned_.empty()) {
    const uint32_t index = cleaned_.back();
    cleaned_.pop_back();
    if (!replacement_.Wanted(index) && TryEvict(index)) return index;
    replacement_.Return(index);
  }
  size_t dirty = 0;
  for (uint32_t tries = 0; tries < 2 * frame_count_ && dirty < kDirtyScan; ++tries) {
    const uint32_t index = replacement_.NextVictim();
    if (index == kNone) break;
    if (TryEvict(index)) return index;
    const Frame& frame = frames_[index];
    if (frame.dirty.load(std::memory_order_relaxed)) {
      to_clean_.push_back(index);
      ++dirty;
    } else {
      replacement_.Return(index);
    }
  }
  return kNone;
}

void Pool::WaitForFrame(std::unique_lock<std::mutex>* lock, Clock::time_point give_up) {
  ++frame_waits_;
  ++waiters_;
  const uint64_t round = clean_rounds_;
  work_for_cleaner_.notify_one();
  frames_available_.wait_for(*lock, std::chrono::milliseconds(20), [&] {
    return clean_rounds_ != round || !free_.empty() || !cleaned_.empty();
  });
  --waiters_;
  if (!clean_error_.empty()) throw Error(Error::kIo, clean_error_, clean_error_code_);
  if (Clock::now() > give_up) {
    throw Error(Error::kRun, "the btree cache of " + std::to_string(frame_count_) +
                                 " pages is too small for the threads that use it: all pages are "
                                 "in use; give a larger --cache-pct");
  }
}

uint32_t Pool::AcquireFrame() {
  std::unique_lock lock(mutex_);
  std::optional<Clock::time_point> give_up;
  for (;;) {
    if (!free_.empty()) {
      const uint32_t index = free_.back();
      free_.pop_back();
      return index;
    }
    const uint32_t index = TryPolicy();
    if (to_clean_.size() >= kCleanStart) work_for_cleaner_.notify_one();
    if (index != kNone) return index;
    if (!give_up) give_up = Clock::now() + kPatience;
    WaitForFrame(&lock, *give_up);
  }
}

void Pool::ReleaseFrame(uint32_t index) {
  std::lock_guard lock(mutex_);
  free_.push_back(index);
  frames_available_.notify_one();
}

PoolCounters Pool::Counters() const {
  PoolCounters c;
  {
    std::lock_guard lock(clients_mutex_);
    c.requests = past_requests_;
    c.misses = past_misses_;
    for (const PoolClient* client : clients_) {
      c.requests += client->requests.Get();
      c.misses += client->misses.Get();
    }
  }
  c.written = file_->pages_written();
  std::lock_guard lock(mutex_);
  c.evictions = evictions_;
  c.cleaned = cleaned_pages_;
  c.frame_waits = frame_waits_;
  return c;
}

uint64_t Pool::MemoryBytes() const {
  return static_cast<uint64_t>(frame_count_) * (page_size_ + TableBytesPerFrame());
}

}  // namespace testbed::btree
