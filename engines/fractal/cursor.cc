#include "engines/fractal/cursor.h"

namespace testbed::fractal {

bool TreeCursor::SeekForward(std::string_view key, bool beyond) {
  Enter(Tree::Bound::kCover, key);
  bool equal;
  at_ = copy_.rows->LowerBound(key, &equal);
  if (equal && beyond) ++at_;
  return SettleForward();
}

bool TreeCursor::SeekBackward(std::string_view key, bool beyond) {
  // The basement whose range has the key may have no row at or below the key. SettleBackward then
  // goes on to the left.
  Enter(Tree::Bound::kCover, key);
  bool equal;
  at_ = copy_.rows->LowerBound(key, &equal);
  if (!equal || beyond) --at_;
  return SettleBackward();
}

bool TreeCursor::Last() {
  Enter(Tree::Bound::kLast, {});
  at_ = static_cast<int64_t>(copy_.rows->count()) - 1;
  return SettleBackward();
}

bool TreeCursor::Next() {
  ++at_;
  return SettleForward();
}

bool TreeCursor::Prev() {
  --at_;
  return SettleBackward();
}

// Moves to the right until the cursor stands on a row. Returns whether it does.
bool TreeCursor::SettleForward() {
  while (at_ >= static_cast<int64_t>(copy_.rows->count())) {
    if (!copy_.high) return false;
    fence_ = *copy_.high;
    Enter(Tree::Bound::kCover, fence_);
    bool equal;
    at_ = copy_.rows->LowerBound(fence_, &equal);
  }
  return true;
}

bool TreeCursor::SettleBackward() {
  while (at_ < 0) {
    if (copy_.low.empty()) return false;
    fence_ = copy_.low;
    Enter(Tree::Bound::kBelow, fence_);
    bool equal;
    at_ = static_cast<int64_t>(copy_.rows->LowerBound(fence_, &equal)) - 1;
  }
  return true;
}

bool FractalCursor::Begin(std::string_view key, bool forward, bool beyond) {
  on_row_ = false;
  forward_ = forward;
  epoch_ = session_->epoch;
  base_on_ = forward ? base_.SeekForward(key, beyond) : base_.SeekBackward(key, beyond);
  overlay_.reset();
  if (const MessageBuffer* writes = session_->WritesOf(table_)) {
    overlay_ = forward ? writes->After(key, beyond) : writes->Before(key, beyond);
  }
  return Choose();
}

bool FractalCursor::Last() {
  on_row_ = false;
  forward_ = false;
  epoch_ = session_->epoch;
  base_on_ = base_.Last();
  overlay_.reset();
  if (const MessageBuffer* writes = session_->WritesOf(table_)) overlay_ = writes->Last();
  return Choose();
}

void FractalCursor::StepOverlay() {
  const MessageBuffer* writes = session_->WritesOf(table_);
  const std::string from(overlay_->key);
  overlay_ = forward_ ? writes->After(from, true) : writes->Before(from, true);
}

// Chooses the nearer of the committed row and the session's own write. If both have the same key,
// the write counts.
bool FractalCursor::Choose() {
  for (;;) {
    if (!base_on_ && !overlay_) return on_row_ = false;
    int order = base_on_ ? -1 : 1;
    if (base_on_ && overlay_) {
      order = base_.key().compare(overlay_->key);
      if (!forward_) order = -order;
    }
    from_base_ = order <= 0;
    from_overlay_ = order >= 0;
    if (from_overlay_ && overlay_->erase) {
      if (from_base_) StepBase();
      StepOverlay();
      continue;
    }
    key_.assign(from_overlay_ ? overlay_->key : base_.key());
    value_.assign(from_overlay_ ? overlay_->value : base_.value());
    return on_row_ = true;
  }
}

bool FractalCursor::Step(bool forward) {
  if (!on_row_) return false;
  if (forward != forward_ || epoch_ != session_->epoch) {
    const std::string from = key_;
    return Begin(from, forward, true);
  }
  on_row_ = false;
  if (from_base_) StepBase();
  if (from_overlay_) StepOverlay();
  return Choose();
}

}  // namespace testbed::fractal
