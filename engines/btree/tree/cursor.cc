#include "engines/btree/tree/cursor.h"

#include <algorithm>
#include <utility>

namespace testbed::btree {

void TreeCursor::CopyFirst(Tree::Bound bound, std::string_view key) {
  window_ = ahead_ = 0;
  expected_ = std::exchange(announced_, 0);
  Enter(bound, key);
}

// Copies the leaf. Before that, the leaf's rows in the change buffer are moved to the leaf; where
// that cannot be done, they are laid over the copy. When Moves() changes, another thread may have
// moved rows to the leaf after it was copied; then it is copied again.
void TreeCursor::Enter(Tree::Bound bound, std::string_view key) {
  LeafFiller* const filler = context_->filler;
  uint64_t moves;
  do {
    moves = filler != nullptr ? filler->Moves() : 0;
    tree_->CopyLeaf(context_, bound, key, leaf_.data());
  } while (filler != nullptr &&
           (filler->Fill(*tree_, node(), &waiting_) || filler->Moves() != moves));
  if (!waiting_.empty()) LayOver();
}

void TreeCursor::LayOver() {
  order_.clear();
  size_t next = 0;
  const auto take_below = [&](const std::string* key) {
    for (; next < waiting_.size() && (key == nullptr || waiting_[next].key < *key); ++next) {
      if (!waiting_[next].erase) order_.push_back({static_cast<uint32_t>(next), true});
    }
  };
  std::string key;
  for (uint32_t i = 0; i < node().count(); ++i) {
    node().CopyKey(i, &key);
    take_below(&key);
    // The buffer has a newer version of this row, which take_below adds.
    if (next < waiting_.size() && waiting_[next].key == key) continue;
    order_.push_back({i, false});
  }
  take_below(nullptr);
}

int64_t TreeCursor::count() const {
  return waiting_.empty() ? node().count() : static_cast<int64_t>(order_.size());
}

int64_t TreeCursor::LowerBound(std::string_view key, bool* found) const {
  if (waiting_.empty()) return node().LowerBound(key, found);
  std::string copy;
  const auto key_of = [&](const Place& place) -> std::string_view {
    if (place.waits) return waiting_[place.at].key;
    node().CopyKey(place.at, &copy);
    return copy;
  };
  const auto at =
      std::lower_bound(order_.begin(), order_.end(), key,
                       [&](const Place& place, std::string_view k) { return key_of(place) < k; });
  *found = at != order_.end() && key_of(*at) == key;
  return at - order_.begin();
}

// Reads leaves at once, from the one that covers `key` on. Returns how many of them follow it.
uint32_t TreeCursor::ReadLeaves(std::string_view key, uint32_t leaves) {
  const uint64_t before = context_->client.fetched.Get();
  const uint32_t there = tree_->ReadAhead(context_, key, leaves);
  auto& last = context_->last_walk;
  if (last.tree == tree_) last.missed = context_->client.fetched.Get() != before;
  return std::max(1u, there) - 1;
}

// Reads the first leaf of a walk of known length and those behind it. Where all are in the pool,
// the walk before found them there, and this look-up of their parent is saved. Returns how many
// leaves follow the first.
uint32_t TreeCursor::ReadFirst(std::string_view key) {
  const auto& last = context_->last_walk;
  if (announced_ < 2 || last.tree != tree_ || !last.missed || context_->read_ahead < 2) return 0;
  const uint64_t leaves = 1 + (announced_ - 1) / last.rows;
  if (leaves < 2) return 0;
  return ReadLeaves(key, static_cast<uint32_t>(std::min<uint64_t>(leaves, context_->read_ahead)));
}

// Returns how many leaves the walk reads at once, from the leaf at fence_ on. If there are less
// than 2, it reads that leaf as it enters it. A walk of known length supposes that the leaves
// behind the current one have as many rows each.
uint32_t TreeCursor::LeavesAhead() {
  if (expected_ == 0) {
    const uint32_t before = window_;
    window_ = std::min(std::max(1u, 2 * window_), context_->read_ahead);
    return before == 0 ? 0 : window_;
  }
  const auto rows = static_cast<uint32_t>(std::max<int64_t>(count(), 1));
  auto& last = context_->last_walk;
  last = {.tree = tree_, .rows = rows, .missed = last.tree == tree_ && last.missed};
  return static_cast<uint32_t>(
      std::min<uint64_t>((expected_ + rows - 1) / rows, context_->read_ahead));
}

// Reads leaves ahead, if it is time to do so. The cursor calls it before it enters the leaf at
// fence_.
void TreeCursor::ReadAhead() {
  expected_ -= std::min(expected_, static_cast<uint64_t>(count() - first_));
  if (ahead_ > 0) {
    --ahead_;
    return;
  }
  if (context_->read_ahead < 2) return;
  const uint32_t leaves = LeavesAhead();
  if (leaves >= 2) ahead_ = ReadLeaves(fence_, leaves);
}

bool TreeCursor::SeekForward(std::string_view key, bool beyond) {
  const uint32_t read = ReadFirst(key);
  CopyFirst(Tree::Bound::kCover, key);
  ahead_ = read;
  bool found;
  at_ = LowerBound(key, &found);
  if (found && beyond) ++at_;
  first_ = at_;
  return SettleForward();
}

bool TreeCursor::SeekBackward(std::string_view key, bool beyond) {
  // If the leaf that covers the key has no row before the key, SettleBackward goes to the leaf on
  // the left.
  CopyFirst(Tree::Bound::kCover, key);
  bool found;
  at_ = LowerBound(key, &found);
  if (!found || beyond) --at_;
  return SettleBackward();
}

bool TreeCursor::Last() {
  CopyFirst(Tree::Bound::kLast, {});
  at_ = count() - 1;
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

// SettleForward moves right, and SettleBackward left, from at_ to the nearest entry that is a row.
bool TreeCursor::SettleForward() {
  for (;;) {
    if (at_ < count()) {
      if (TakeRow()) return true;
      ++at_;
      continue;
    }
    if (node().unbounded()) return false;
    fence_ = node().HighFence();
    ReadAhead();
    Enter(Tree::Bound::kCover, fence_);
    bool found;
    at_ = first_ = LowerBound(fence_, &found);
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
    Enter(Tree::Bound::kBelow, fence_);
    bool found;
    at_ = LowerBound(fence_, &found) - 1;
  }
}

// Makes the entry at at_ the current row. Returns false when the row has its value in overflow
// pages and was erased meanwhile.
bool TreeCursor::TakeRow() {
  auto i = static_cast<uint32_t>(at_);
  if (!waiting_.empty()) {
    const Place place = order_[i];
    if (place.waits) {
      key_ = waiting_[place.at].key;
      value_ = waiting_[place.at].value;
      return true;
    }
    i = place.at;
  }
  node().CopyKey(i, &key_);
  const LeafValue value = node().Value(i);
  if (!value.overflow) {
    value_ = value.bytes;
    return true;
  }
  // The reference in the copy may be out of date, so the value is looked up in the tree.
  if (!tree_->Get(context_, key_, &long_value_)) return false;
  value_ = long_value_;
  return true;
}

void BtreeCursor::StandAt(size_t position) {
  overlay_ = position;
  overlay_on_ = position < session_->writes.Sorted().size() && Overlay().table == table_;
}

// Sets overlay_ to the session's first write at or, with `beyond`, behind `key`, in the direction
// of the walk.
void BtreeCursor::SetOverlay(std::string_view key, bool forward, bool beyond) {
  overlay_on_ = false;
  if (session_->writes.empty()) return;
  const size_t at = session_->writes.Position(table_, key, forward == beyond);
  if (forward) {
    StandAt(at);
  } else if (at > 0) {
    StandAt(at - 1);
  }
}

void BtreeCursor::StepOverlay() {
  if (forward_) {
    StandAt(overlay_ + 1);
  } else if (overlay_ == 0) {
    overlay_on_ = false;
  } else {
    StandAt(overlay_ - 1);
  }
}

// The key may be the value of the cursor's own row, which lies in the copy of a leaf that base_
// replaces.
bool BtreeCursor::Begin(std::string_view key, bool forward, bool beyond) {
  sought_.assign(key);
  on_row_ = false;
  forward_ = forward;
  epoch_ = session_->epoch;
  base_on_ = forward ? base_.SeekForward(sought_, beyond) : base_.SeekBackward(sought_, beyond);
  SetOverlay(sought_, forward, beyond);
  return Choose();
}

bool BtreeCursor::Last() {
  on_row_ = false;
  forward_ = false;
  epoch_ = session_->epoch;
  base_on_ = base_.Last();
  const size_t at = session_->writes.Position(table_ + 1, {}, false);
  overlay_on_ = false;
  if (at > 0) StandAt(at - 1);
  return Choose();
}

// Makes the nearer of the two rows of base_ and overlay_ the current row. If both are the same row,
// the uncommitted write counts.
bool BtreeCursor::Choose() {
  for (;;) {
    if (!base_on_ && !overlay_on_) return on_row_ = false;
    int order = base_on_ ? -1 : 1;
    if (base_on_ && overlay_on_) {
      order = base_.key().compare(Overlay().key);
      if (!forward_) order = -order;
    }
    from_base_ = order <= 0;
    from_overlay_ = order >= 0;
    if (from_overlay_ && Overlay().erase) {
      if (from_base_) base_on_ = forward_ ? base_.Next() : base_.Prev();
      StepOverlay();
      continue;
    }
    if (from_overlay_) {
      key_.assign(Overlay().key);
      value_ = Overlay().value;
    } else {
      key_.assign(base_.key());
      value_ = base_.value();
    }
    return on_row_ = true;
  }
}

bool BtreeCursor::Step(bool forward) {
  if (!on_row_) return false;
  if (forward != forward_ || epoch_ != session_->epoch) return Begin(key_, forward, true);
  on_row_ = false;
  if (from_base_) base_on_ = forward ? base_.Next() : base_.Prev();
  if (from_overlay_) StepOverlay();
  return Choose();
}

bool BtreeCursor::Next() { return Step(true); }
bool BtreeCursor::Prev() { return Step(false); }

}  // namespace testbed::btree
