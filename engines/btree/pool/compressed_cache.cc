#include "engines/btree/pool/compressed_cache.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "device/os/mutex.h"

namespace testbed::btree {

bool CompressedCache::Get(PageId id, char* to) { return PartOf(id).Get(id, to); }

void CompressedCache::Put(PageId id, std::string_view stored) { PartOf(id).Put(id, stored, false); }

void CompressedCache::Replace(PageId id, std::string_view stored) {
  PartOf(id).Put(id, stored, true);
}

void CompressedCache::Erase(PageId id) { PartOf(id).Erase(id); }

void CompressedCache::Resize(uint64_t bytes) {
  for (Part& part : parts_) part.Resize(bytes / kParts);
}

CompressedCache::Counters CompressedCache::Count() const {
  Counters sum;
  for (const Part& part : parts_) part.Count(&sum);
  return sum;
}

bool CompressedCache::Part::Get(PageId id, char* to) {
  LockGuard lock(mutex_);
  ++requests_;
  const auto found = index_.find(id);
  if (found == index_.end()) return false;
  ++hits_;
  const uint64_t position = found->second;
  const std::string_view stored(At(position) + sizeof(Record), RecordAt(position)->bytes);
  std::memcpy(to, stored.data(), stored.size());
  if (young_ - position > capacity_ / 2) {
    const size_t bytes = stored.size();  // copied: Append may overwrite the record
    Forget(id);
    Append(id, {to, bytes});
  }
  return true;
}

void CompressedCache::Part::Put(PageId id, std::string_view stored, bool only_replace) {
  LockGuard lock(mutex_);
  if (only_replace && index_.count(id) == 0) return;
  Forget(id);
  Append(id, stored);
}

void CompressedCache::Part::Erase(PageId id) {
  LockGuard lock(mutex_);
  Forget(id);
}

void CompressedCache::Part::Forget(PageId id) {
  const auto found = index_.find(id);
  if (found == index_.end()) return;
  Record* record = RecordAt(found->second);
  record->id = kNoPage;
  held_ -= record->bytes;
  index_.erase(found);
}

void CompressedCache::Part::DropOldest() {
  const Record record = *RecordAt(old_);
  if (record.id != kNoPage) {
    index_.erase(record.id);
    held_ -= record.bytes;
  }
  old_ += Needed(record.bytes);
}

// Adds a page that the cache does not have, unless the page is longer than half of the ring.
void CompressedCache::Part::Append(PageId id, std::string_view stored) {
  const uint64_t needed = Needed(stored.size());
  if (2 * needed > capacity_ || most_records_ == 0) return;
  // A record must not wrap around. If it does not fit before the end of the ring, an unused record
  // fills that rest of the ring.
  const uint64_t to_end = capacity_ - young_ % capacity_;
  const uint64_t skipped = to_end < needed ? to_end : 0;
  while (Full(skipped + needed)) DropOldest();
  if (skipped > 0) {
    *RecordAt(young_) = {kNoPage, static_cast<uint32_t>(skipped - sizeof(Record))};
    young_ += skipped;
  }
  *RecordAt(young_) = {id, static_cast<uint32_t>(stored.size())};
  std::memcpy(At(young_) + sizeof(Record), stored.data(), stored.size());
  index_[id] = young_;
  held_ += stored.size();
  young_ += needed;
}

void CompressedCache::Part::Resize(uint64_t bytes) {
  LockGuard lock(mutex_);
  if (bytes == bytes_) return;
  const uint64_t capacity = (bytes - bytes / kIndexShare) / 8 * 8;
  std::unique_ptr<char[]> ring(capacity > 0 ? new char[capacity] : nullptr);  // may throw
  Part old;
  const LockGuard lock_old(old.mutex_);
  std::swap(old.ring_, ring_);
  std::swap(old.capacity_, capacity_);
  std::swap(old.old_, old_);
  std::swap(old.young_, young_);
  std::swap(old.index_, index_);
  held_ = 0;
  bytes_ = bytes;
  most_records_ = bytes / kIndexShare / kIndexBytes;
  capacity_ = capacity;
  ring_ = std::move(ring);
  // The records are appended from the oldest on, so that the oldest are dropped if there are too
  // many.
  for (uint64_t at = old.old_; at < old.young_;) {
    const Record record = *old.RecordAt(at);
    if (record.id != kNoPage) Append(record.id, {old.At(at) + sizeof record, record.bytes});
    at += Needed(record.bytes);
  }
}

void CompressedCache::Part::Count(Counters* sum) const {
  LockGuard lock(mutex_);
  sum->requests += requests_;
  sum->hits += hits_;
  sum->pages += index_.size();
  sum->bytes += held_;
  sum->budget += bytes_;
  sum->memory += std::min(young_, capacity_) + index_.size() * kIndexBytes;
}

}  // namespace testbed::btree
