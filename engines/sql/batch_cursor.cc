#include "engines/sql/batch_cursor.h"

#include <algorithm>
#include <utility>

namespace testbed {
namespace {

// These are the number of rows in the first batch of a walk of unknown length, the factor by which
// batches grow while the cursor goes on in its direction, and the most rows of such a batch.
constexpr uint64_t kFirstBatch = 4, kBatchGrowth = 4, kMostRows = 256;
// This is the most bytes of a batch. Its length is estimated from the batch before it.
constexpr uint64_t kMostBytes = 1 << 20;
// This is the most rows of an expected walk that are fetched before any row of the table was seen.
constexpr uint64_t kUnseenRows = 16;

}  // namespace

void BatchCursor::Add(std::string_view key, std::string_view value) {
  const size_t at = arena_.size();
  rows_.push_back({{at, key.size()}, {at + key.size(), value.size()}});
  arena_.append(key);
  arena_.append(value);
}

void BatchCursor::StartOver() {
  rows_.clear();
  arena_.clear();
}

bool BatchCursor::Position(Walk walk, std::string_view key) {
  forward_ = IsForward(walk);
  left_ = std::exchange(expected_, 0);
  const std::string copy(key);  // copied, because the key may lie in arena_
  return Fetch(walk, copy, kFirstBatch);
}

bool BatchCursor::Step(bool forward) {
  if (!on_row_) return false;
  const bool goes_on = changes_ == Changes() && forward == forward_;
  if (goes_on && at_ + 1 < rows_.size()) {
    ++at_;
    return true;
  }
  // A cursor that changes its direction, or whose session writes, starts over with a small batch.
  if (!goes_on) left_ = 0;
  forward_ = forward;
  const std::string here(key());
  return Fetch(
      forward ? Walk::kAfter : Walk::kBefore, here,
      goes_on ? std::min(std::max(batch_, kFirstBatch) * kBatchGrowth, kMostRows) : kFirstBatch);
}

bool BatchCursor::Fetch(Walk walk, std::string_view key, uint64_t count) {
  const uint64_t* const known = RowBytes();
  const uint64_t row_bytes = known == nullptr ? 0 : *known;
  if (left_ != 0) count = row_bytes == 0 ? std::min(left_, kUnseenRows) : left_;
  if (row_bytes != 0) count = std::clamp<uint64_t>(kMostBytes / row_bytes, 1, count);
  StartOver();
  at_ = 0;
  on_row_ = false;
  batch_ = count;
  changes_ = Changes();
  Read(walk, key, count);
  left_ -= std::min<uint64_t>(left_, rows_.size());
  on_row_ = !rows_.empty();
  uint64_t* const bytes = RowBytes();
  if (on_row_ && bytes != nullptr) *bytes = std::max<uint64_t>(1, arena_.size() / rows_.size());
  return on_row_;
}

}  // namespace testbed
