#include "engines/btree/cursor.h"

namespace testbed::btree {

bool TreeCursor::SeekForward(std::string_view key, bool beyond) {
  tree_->CopyLeaf(context_, Tree::Bound::kCover, key, leaf_.data());
  bool found;
  at_ = node().LowerBound(key, &found);
  if (found && beyond) ++at_;
  return SettleForward();
}

bool TreeCursor::SeekBackward(std::string_view key, bool beyond) {
  // The leaf that covers the key has the key itself, but may have nothing below it; settling goes
  // on to the left then.
  tree_->CopyLeaf(context_, Tree::Bound::kCover, key, leaf_.data());
  bool found;
  at_ = node().LowerBound(key, &found);
  if (!found || beyond) --at_;
  return SettleBackward();
}

bool TreeCursor::Last() {
  tree_->CopyLeaf(context_, Tree::Bound::kLast, {}, leaf_.data());
  at_ = static_cast<int64_t>(node().count()) - 1;
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

// Goes on to the right until it stands on a row.
bool TreeCursor::SettleForward() {
  for (;;) {
    if (at_ < static_cast<int64_t>(node().count())) {
      if (TakeRow()) return true;
      ++at_;
      continue;
    }
    if (node().unbounded()) return false;
    fence_ = node().HighFence();
    tree_->CopyLeaf(context_, Tree::Bound::kCover, fence_, leaf_.data());
    bool found;
    at_ = node().LowerBound(fence_, &found);
  }
}

bool TreeCursor::SettleBackward() {
  for (;;) {
    if (at_ >= 0) {
      if (TakeRow()) return true;
      --at_;
      continue;
    }
    if (node().LowFence().empty()) return false;
    fence_ = node().LowFence();
    tree_->CopyLeaf(context_, Tree::Bound::kBelow, fence_, leaf_.data());
    bool found;
    at_ = static_cast<int64_t>(node().LowerBound(fence_, &found)) - 1;
  }
}

// Makes the entry at at_ the current row. False when its long value is gone with it.
bool TreeCursor::TakeRow() {
  const auto i = static_cast<uint32_t>(at_);
  node().CopyKey(i, &key_);
  const LeafValue value = node().Value(i);
  if (!value.overflow) {
    value_ = value.bytes;
    return true;
  }
  // The reference is as old as the copy: only the tree knows whether it still holds.
  if (!tree_->Get(context_, key_, &long_value_)) return false;
  value_ = long_value_;
  return true;
}

void BtreeCursor::CheckOverlay(Iterator at) {
  overlay_ = at;
  overlay_on_ = at != session_->writes.map().end() && at->first.table == table_;
}

// The session's writes from `key` on, in the direction of the walk.
void BtreeCursor::SetOverlay(std::string_view key, bool forward, bool beyond) {
  const WriteSet::Map& map = session_->writes.map();
  overlay_on_ = false;
  if (map.empty()) return;
  const WriteSet::KeyView view{table_, key};
  if (forward) {
    CheckOverlay(beyond ? map.upper_bound(view) : map.lower_bound(view));
    return;
  }
  Iterator at = beyond ? map.lower_bound(view) : map.upper_bound(view);
  if (at == map.begin()) return;
  CheckOverlay(--at);
}

void BtreeCursor::StepOverlay() {
  if (forward_) {
    CheckOverlay(std::next(overlay_));
  } else if (overlay_ == session_->writes.map().begin()) {
    overlay_on_ = false;
  } else {
    CheckOverlay(std::prev(overlay_));
  }
}

bool BtreeCursor::Begin(std::string_view key, bool forward, bool beyond) {
  forward_ = forward;
  epoch_ = session_->epoch;
  base_on_ = forward ? base_.SeekForward(key, beyond) : base_.SeekBackward(key, beyond);
  SetOverlay(key, forward, beyond);
  return Choose();
}

bool BtreeCursor::Last() {
  forward_ = false;
  epoch_ = session_->epoch;
  base_on_ = base_.Last();
  const WriteSet::Map& map = session_->writes.map();
  const Iterator at = map.lower_bound(WriteSet::KeyView{table_ + 1, {}});
  overlay_on_ = false;
  if (at != map.begin()) CheckOverlay(std::prev(at));
  return Choose();
}

// Takes the nearer of the two rows; an uncommitted write stands before the committed row.
bool BtreeCursor::Choose() {
  for (;;) {
    if (!base_on_ && !overlay_on_) return on_row_ = false;
    int order = base_on_ ? -1 : 1;
    if (base_on_ && overlay_on_) {
      order = base_.key().compare(overlay_->first.key);
      if (!forward_) order = -order;
    }
    from_base_ = order <= 0;
    from_overlay_ = order >= 0;
    if (from_overlay_ && overlay_->second.erase) {
      if (from_base_) base_on_ = forward_ ? base_.Next() : base_.Prev();
      StepOverlay();
      continue;
    }
    if (from_overlay_) {
      key_.assign(overlay_->first.key);
      value_ = overlay_->second.value;
    } else {
      key_.assign(base_.key());
      value_ = base_.value();
    }
    return on_row_ = true;
  }
}

bool BtreeCursor::Step(bool forward) {
  if (!on_row_) return false;
  if (forward != forward_ || epoch_ != session_->epoch) {
    const std::string from = key_;
    return Begin(from, forward, true);
  }
  if (from_base_) base_on_ = forward ? base_.Next() : base_.Prev();
  if (from_overlay_) StepOverlay();
  return Choose();
}

bool BtreeCursor::Next() { return Step(true); }
bool BtreeCursor::Prev() { return Step(false); }

}  // namespace testbed::btree
