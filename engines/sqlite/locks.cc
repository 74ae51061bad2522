#include "engines/sqlite/locks.h"

namespace testbed::sqlite {

int FileLock::Lock(Holder* holder, int level) {
  if (holder->level >= level) return SQLITE_OK;
  LockGuard lock(mutex_);
  switch (level) {
    case SQLITE_LOCK_SHARED:
      if (shut_) return SQLITE_BUSY;
      ++readers_;
      break;
    case SQLITE_LOCK_RESERVED:
      if (writer_ != nullptr) return SQLITE_BUSY;
      writer_ = holder;
      break;
    default:  // EXCLUSIVE, from any level at or above SHARED
      if (writer_ != nullptr && writer_ != holder) return SQLITE_BUSY;
      writer_ = holder;
      shut_ = true;
      if (readers_ > 1) {
        holder->level = SQLITE_LOCK_PENDING;
        return SQLITE_BUSY;
      }
      break;
  }
  holder->level = level;
  return SQLITE_OK;
}

void FileLock::Unlock(Holder* holder, int level) {
  if (holder->level <= level) return;
  {
    LockGuard lock(mutex_);
    if (writer_ == holder) {
      writer_ = nullptr;
      shut_ = false;
    }
    if (level == SQLITE_LOCK_NONE) --readers_;
    holder->level = level;
    ++changes_;
  }
  lowered_.notify_all();
}

bool FileLock::Reserved() const {
  LockGuard lock(mutex_);
  return writer_ != nullptr;
}

void FileLock::WaitForChange(std::chrono::milliseconds most) const {
  LockGuard lock(mutex_);
  const uint64_t seen = changes_;
  lowered_.wait_for(mutex_, most, [&]() REQUIRES(mutex_) { return changes_ != seen; });
}

void volatile* WalIndex::Region(size_t region, size_t size, bool extend) {
  LockGuard lock(mutex_);
  if (region >= regions_.size() && !extend) return nullptr;
  while (regions_.size() <= region) regions_.push_back(std::make_unique<char[]>(size));
  return regions_[region].get();
}

int WalIndex::Lock(Holder* holder, int first, int count, int flags) {
  const auto mask = static_cast<uint16_t>(((1u << count) - 1) << first);
  if ((flags & SQLITE_SHM_UNLOCK) != 0) {
    for (int i = first; i < first + count; ++i) {
      const uint16_t bit = static_cast<uint16_t>(1u << i);
      if ((holder->exclusive & bit) != 0) {
        locks_[i].holders.store(0, std::memory_order_release);
      } else if ((holder->shared & bit) != 0) {
        locks_[i].holders.fetch_sub(1, std::memory_order_release);
      }
    }
    holder->exclusive &= static_cast<uint16_t>(~mask);
    holder->shared &= static_cast<uint16_t>(~mask);
    return SQLITE_OK;
  }
  if ((flags & SQLITE_SHM_SHARED) != 0) {
    if ((holder->shared & mask) != 0) return SQLITE_OK;
    int holders = locks_[first].holders.load(std::memory_order_relaxed);
    do {
      if (holders < 0) return SQLITE_BUSY;
    } while (!locks_[first].holders.compare_exchange_weak(holders, holders + 1,
                                                          std::memory_order_acq_rel));
    holder->shared |= mask;
    return SQLITE_OK;
  }
  for (int i = first; i < first + count; ++i) {
    int free = 0;
    if (locks_[i].holders.compare_exchange_strong(free, -1, std::memory_order_acq_rel)) continue;
    while (--i >= first) locks_[i].holders.store(0, std::memory_order_release);
    return SQLITE_BUSY;
  }
  holder->exclusive |= mask;
  return SQLITE_OK;
}

void WalIndex::Clear() {
  LockGuard lock(mutex_);
  regions_.clear();
}

}  // namespace testbed::sqlite
