// Ordered walks. TreeCursor walks the committed rows of one tree; BtreeCursor lays the session's
// own uncommitted writes over it.
//
// A TreeCursor copies a leaf when it enters it and walks the copy, so it holds no latch and no page
// between calls: each leaf is seen as it was at the moment of entry, and rows that others commit
// later into leaves ahead are seen. A walk forward that goes on from leaf to leaf reads leaves
// ahead: from the second step on 2, then 4, 8, ... up to the setting, all in flight at once, waited
// for together. Long values are fetched when the cursor comes to them; a row that was erased
// meanwhile is passed over.
#ifndef TESTBED_ENGINES_BTREE_TREE_CURSOR_H_
#define TESTBED_ENGINES_BTREE_TREE_CURSOR_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "device/file/file.h"
#include "engines/btree/tree/tree.h"
#include "engines/engine.h"
#include "engines/write_set.h"

namespace testbed::btree {

class TreeCursor {
 public:
  TreeCursor(const Tree* tree, TreeContext* context, uint32_t page_size)
      : tree_(tree), context_(context), page_size_(page_size), leaf_(page_size) {}

  // First row at or after `key` (after it, when `beyond`).
  bool SeekForward(std::string_view key, bool beyond);
  // Last row at or before `key` (before it, when `beyond`).
  bool SeekBackward(std::string_view key, bool beyond);
  bool Last();
  bool Next();
  bool Prev();
  std::string_view key() const { return key_; }
  std::string_view value() const { return value_; }

 private:
  Node node() const { return Node(leaf_.data(), page_size_); }
  bool SettleForward();
  bool SettleBackward();
  bool TakeRow();
  void CopyFirst(Tree::Bound bound, std::string_view key);
  void Enter(Tree::Bound bound, std::string_view key);
  void ReadAhead();

  const Tree* const tree_;
  TreeContext* const context_;
  const uint32_t page_size_;
  AlignedBuffer leaf_;
  int64_t at_ = 0;       // entry in the copy; may stand before the first or after the last
  uint32_t window_ = 0;  // leaves that the last step ahead took
  uint32_t ahead_ = 0;   // of these, not entered yet
  std::string key_, fence_, long_value_;
  std::string_view value_;
};

// What cursors need to know of their session.
struct SessionState {
  WriteSet writes;
  uint64_t epoch = 0;  // grows with each write, commit and rollback of the session
};

class BtreeCursor : public Cursor {
 public:
  BtreeCursor(const Tree* tree, TreeContext* context, const SessionState* session,
              uint32_t page_size)
      : base_(tree, context, page_size), session_(session), table_(tree->table()) {}

  bool Seek(std::string_view key) override { return Begin(key, true, false); }
  bool SeekForPrev(std::string_view key) override { return Begin(key, false, false); }
  bool First() override { return Begin({}, true, false); }
  bool Last() override;
  bool Next() override;
  bool Prev() override;
  std::string_view key() const override { return key_; }
  std::string_view value() const override { return value_; }

 private:
  bool Begin(std::string_view key, bool forward, bool beyond);
  bool Step(bool forward);
  bool Choose();
  bool ChooseLast();
  void SetOverlay(std::string_view key, bool forward, bool beyond);
  void StepOverlay();
  void StandAt(size_t position);
  const RowWrite& Overlay() const {
    return session_->writes.rows()[session_->writes.Sorted()[overlay_]];
  }

  TreeCursor base_;
  const SessionState* const session_;
  const uint32_t table_;
  uint64_t epoch_ = 0;
  bool forward_ = true;
  bool on_row_ = false;
  bool base_on_ = false;     // base_ stands on a row not yet given out
  bool overlay_on_ = false;  // so does overlay_
  bool from_base_ = false;   // the current row is base_'s, overlay_'s or both
  bool from_overlay_ = false;
  size_t overlay_ = 0;  // a position in the session's sorted writes
  std::string key_;
  std::string_view value_;
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_TREE_CURSOR_H_
