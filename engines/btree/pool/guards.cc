#include "engines/btree/pool/guards.h"

#include "device/os/mutex.h"
#include "engines/btree/pool/pool.h"

namespace testbed::btree {

PoolClient::PoolClient(Pool* pool) : pool_(pool) {
  LockGuard lock(pool_->clients_mutex_);
  pool_->clients_.insert(this);
}

PoolClient::~PoolClient() {
  LockGuard lock(pool_->clients_mutex_);
  pool_->clients_.erase(this);
  pool_->past_requests_ += requests.Get();
  pool_->past_misses_ += misses.Get();
  pool_->past_fetched_ += fetched.Get();
}

SharedGuard& SharedGuard::operator=(SharedGuard&& other) noexcept {
  if (this == &other) return *this;
  Release();  // releases at once, not when `other` is destroyed
  std::swap(pool_, other.pool_);
  std::swap(data_, other.data_);
  std::swap(id_, other.id_);
  return *this;
}

void SharedGuard::Release() {
  if (data_ == nullptr) return;
  data_ = nullptr;
  pool_->table_.Unshare(id_);
}

ExclusiveGuard& ExclusiveGuard::operator=(ExclusiveGuard&& other) noexcept {
  if (this == &other) return *this;
  Release();  // releases at once, not when `other` is destroyed
  std::swap(pool_, other.pool_);
  std::swap(frame_, other.frame_);
  std::swap(data_, other.data_);
  std::swap(id_, other.id_);
  return *this;
}

void ExclusiveGuard::Release() {
  if (data_ == nullptr) return;
  data_ = nullptr;
  pool_->table_.Unexclude(id_, frame_, pool_->table_.Load(id_).visits());
}

void ExclusiveGuard::MarkDirty(Lsn begin, Lsn end, bool overflow) {
  PageHeader* header = Header(data_);
  header->lsn = std::max(header->lsn, end);
  Frame& frame = pool_->frames_[frame_];
  // `writing` is read first, as a write that fails sets `dirty` again before it clears `writing`.
  const bool overflow_only = overflow && !frame.writing.load(std::memory_order_acquire) &&
                             !frame.dirty.load(std::memory_order_acquire);
  if (frame.overflow_only.load(std::memory_order_relaxed) != overflow_only) {
    frame.overflow_only.store(overflow_only, std::memory_order_relaxed);
  }
  frame.LowerRecLsn(begin);
  if (!frame.dirty.load(std::memory_order_relaxed)) {
    frame.dirty.store(true, std::memory_order_release);
  }
}

}  // namespace testbed::btree
