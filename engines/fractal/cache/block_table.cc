#include "engines/fractal/cache/block_table.h"

#include "device/os/mutex.h"
#include "engines/fractal/node/wire.h"

namespace testbed::fractal {

void FreeSpace::Insert(uint64_t offset, uint64_t bytes) {
  by_offset_.emplace(offset, bytes);
  by_size_.emplace(bytes, offset);
  free_bytes_ += bytes;
}

void FreeSpace::Erase(std::map<uint64_t, uint64_t>::iterator at) {
  by_size_.erase({at->second, at->first});
  free_bytes_ -= at->second;
  by_offset_.erase(at);
}

uint64_t FreeSpace::Allocate(uint64_t bytes) {
  const auto fit = by_size_.lower_bound({bytes, 0});
  if (fit == by_size_.end()) {
    const uint64_t offset = end_;
    end_ += bytes;
    return offset;
  }
  const auto [size, offset] = *fit;
  Erase(by_offset_.find(offset));
  if (size > bytes) Insert(offset + bytes, size - bytes);
  return offset;
}

void FreeSpace::Free(uint64_t offset, uint64_t bytes) {
  if (bytes == 0) return;
  auto next = by_offset_.lower_bound(offset);
  if (next != by_offset_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      offset = before->first;
      bytes += before->second;
      Erase(before);
    }
  }
  if (next != by_offset_.end() && offset + bytes == next->first) {
    bytes += next->second;
    Erase(next);
  }
  if (offset + bytes == end_) {
    end_ = offset;
  } else {
    Insert(offset, bytes);
  }
}

bool FreeSpace::Reserve(uint64_t offset, uint64_t bytes) {
  if (bytes == 0) return true;
  if (offset >= end_) {
    const uint64_t end = end_;
    end_ = offset + bytes;
    if (offset > end) Insert(end, offset - end);
    return true;
  }
  auto at = by_offset_.upper_bound(offset);
  if (at == by_offset_.begin()) return false;
  --at;
  const uint64_t begin = at->first, size = at->second;
  if (offset + bytes > begin + size) return false;
  Erase(at);
  if (offset > begin) Insert(begin, offset - begin);
  if (offset + bytes < begin + size) Insert(offset + bytes, begin + size - offset - bytes);
  return true;
}

void BlockTable::Use(const BlockPlace& place) { ++users_[place.offset]; }

void BlockTable::Drop(const BlockPlace& place) {
  const auto users = users_.find(place.offset);
  if (--users->second > 0) return;
  users_.erase(users);
  space_.Free(place.offset, place.bytes);
}

void BlockTable::Replace(Blocks* blocks, BlockId block, const BlockPlace& place) {
  Use(place);
  const auto [at, is_new] = blocks->emplace(block, place);
  if (blocks == &current_) live_bytes_ += place.bytes;
  if (is_new) return;
  const BlockPlace old = std::exchange(at->second, place);
  if (blocks == &current_) live_bytes_ -= old.bytes;
  Drop(old);
}

bool BlockTable::Restore(Blocks blocks, uint64_t table_offset, uint64_t table_bytes,
                         std::string* why) {
  LockGuard lock(mutex_);
  bool sound = space_.Reserve(table_offset, table_bytes);
  table_offset_ = table_offset;
  table_bytes_ = table_bytes;
  std::map<uint64_t, uint64_t> extents;
  for (const auto& [block, place] : blocks) {
    sound = sound && extents.emplace(place.offset, place.bytes).second;
    users_[place.offset] = 2;
    live_bytes_ += place.bytes;
  }
  for (const auto& [offset, bytes] : extents) sound = sound && space_.Reserve(offset, bytes);
  if (!sound) *why = "two of its extents lie over one another";
  current_ = blocks;
  checkpointed_ = std::move(blocks);
  return sound;
}

std::optional<BlockPlace> BlockTable::Find(BlockId block) const {
  LockGuard lock(mutex_);
  const auto at = current_.find(block);
  if (at == current_.end()) return std::nullopt;
  return at->second;
}

uint64_t BlockTable::Allocate(uint64_t bytes) {
  LockGuard lock(mutex_);
  return space_.Allocate(bytes);
}

void BlockTable::Discard(uint64_t offset, uint64_t bytes) {
  LockGuard lock(mutex_);
  space_.Free(offset, bytes);
}

void BlockTable::Set(BlockId block, const BlockPlace& place, bool current, bool in_progress) {
  LockGuard lock(mutex_);
  if (in_progress) Replace(&in_progress_, block, place);
  if (current) Replace(&current_, block, place);
}

void BlockTable::Remove(BlockId block) {
  LockGuard lock(mutex_);
  const auto at = current_.find(block);
  if (at == current_.end()) return;
  live_bytes_ -= at->second.bytes;
  Drop(at->second);
  current_.erase(at);
}

void BlockTable::BeginCheckpoint() {
  LockGuard lock(mutex_);
  in_progress_ = current_;
  for (const auto& [block, place] : in_progress_) Use(place);
}

std::string BlockTable::SerializeInProgress() const {
  LockGuard lock(mutex_);
  std::string bytes;
  Append(static_cast<uint64_t>(in_progress_.size()), &bytes);
  for (const auto& [block, place] : in_progress_) {
    Append(block, &bytes);
    Append(place.offset, &bytes);
    Append(place.bytes, &bytes);
    Append(place.header_bytes, &bytes);
    Append(place.header_checksum, &bytes);
  }
  return bytes;
}

void BlockTable::EndCheckpoint(uint64_t table_offset, uint64_t table_bytes) {
  LockGuard lock(mutex_);
  for (const auto& [block, place] : checkpointed_) Drop(place);
  checkpointed_ = std::move(in_progress_);
  in_progress_.clear();
  space_.Free(table_offset_, table_bytes_);
  table_offset_ = table_offset;
  table_bytes_ = table_bytes;
}

void BlockTable::AbortCheckpoint() {
  LockGuard lock(mutex_);
  for (const auto& [block, place] : in_progress_) Drop(place);
  in_progress_.clear();
}

bool BlockTable::HasChanges() const {
  LockGuard lock(mutex_);
  return current_ != checkpointed_;
}

BlockTable::Sizes BlockTable::sizes() const {
  LockGuard lock(mutex_);
  return {space_.end(), space_.free_bytes(), live_bytes_, current_.size()};
}

}  // namespace testbed::fractal
