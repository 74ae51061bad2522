#include "engines/sql/batch_cursor.h"

#include <algorithm>

namespace testbed {
namespace {

// Rows of the first batch at least, the factor by which batches grow while the cursor goes on in its
// direction, and the limits of a batch.
constexpr uint64_t kFirstBatch = 4, kBatchGrowth = 4, kMostRows = 256, kMostBytes = 1 << 20;

}  // namespace

void BatchCursor::Add(std::string_view key, std::string_view value) {
  const size_t at = arena_.size();
  rows_.push_back({{at, key.size()}, {at + key.size(), value.size()}});
  arena_.append(key);
  arena_.append(value);
}

void BatchCursor::NoteWalk() noexcept {
  LastWalk* memory = Memory();
  if (memory == nullptr || walked_ == 0) return;
  memory->rows = walked_;
  if (!rows_.empty()) memory->row_bytes = std::max<uint64_t>(1, arena_.size() / rows_.size());
  walked_ = 0;
}

bool BatchCursor::Position(Walk walk, std::string_view key) {
  NoteWalk();
  walked_ = 1;
  forward_ = IsForward(walk);
  const LastWalk* memory = Memory();
  const LastWalk last = memory == nullptr ? LastWalk() : *memory;
  const uint64_t most = std::max(kFirstBatch, kMostBytes / std::max<uint64_t>(1, last.row_bytes));
  batch_ = std::clamp(last.rows, kFirstBatch, std::min(kMostRows, most));
  const std::string copy(key);  // it may lie in arena_
  return Fetch(walk, copy, batch_);
}

bool BatchCursor::Step(bool forward) {
  if (!on_row_) return false;
  ++walked_;
  const bool fresh = changes_ == Changes();
  if (fresh && forward == forward_ && at_ + 1 < rows_.size()) {
    ++at_;
    return true;
  }
  // A cursor that changes its direction, or whose session writes, starts over with a small batch.
  batch_ = fresh && forward == forward_ ? std::min(batch_ * kBatchGrowth, kMostRows) : kFirstBatch;
  const uint64_t wide = rows_.empty() ? 1 : std::max<uint64_t>(1, arena_.size() / rows_.size());
  batch_ = std::clamp<uint64_t>(kMostBytes / wide, 1, batch_);
  forward_ = forward;
  const std::string here(key());
  return Fetch(forward ? Walk::kAfter : Walk::kBefore, here, batch_);
}

bool BatchCursor::Fetch(Walk walk, std::string_view key, uint64_t count) {
  rows_.clear();
  arena_.clear();
  at_ = 0;
  on_row_ = false;
  changes_ = Changes();
  Read(walk, key, count);
  on_row_ = !rows_.empty();
  return on_row_;
}

}  // namespace testbed
