// This header has ordered walks. A TreeCursor walks the committed rows of a tree. A BtreeCursor
// merges them with the session's own uncommitted writes.
//
// A TreeCursor copies a leaf when it enters it and walks the copy, so that it holds no latch and no
// page between calls. It shows each leaf as it was when the cursor entered it; it shows rows that
// are committed later into leaves that it has not yet entered. A walk forward reads leaves ahead:
// where Expect told its length, as many as are likely to have its rows, at its first step to a new
// leaf, or before the first leaf if leaves were missing in the walk before; otherwise, at its
// second step 2, then 4, 8, ... TreeContext::read_ahead bounds each of these numbers. All these
// reads are in flight at once, and the cursor waits for them together. Rows that wait in the change
// buffer and cannot be moved to their leaf, since the store takes no commits, are copied with it;
// they need memory for as much as the buffer has of that leaf. A value in overflow pages is read
// when the cursor comes to its row; a row that was erased meanwhile is skipped.
//
// Not thread-safe: a cursor is used by the thread of its TreeContext.
#ifndef TESTBED_ENGINES_BTREE_TREE_CURSOR_H_
#define TESTBED_ENGINES_BTREE_TREE_CURSOR_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "device/file/file.h"
#include "engines/btree/tree/tree.h"
#include "engines/engine.h"
#include "engines/write_set.h"

namespace testbed::btree {

class TreeCursor {
 public:
  TreeCursor(const Tree* tree, TreeContext* context, uint32_t page_size)
      : tree_(tree), context_(context), page_size_(page_size), leaf_(page_size) {}

  // Tells how many rows of the tree the next walk takes, as Cursor::Expect.
  void Expect(uint64_t rows) { announced_ = rows; }
  // Each function that moves the cursor returns whether it stands on a row.
  //
  // Moves to the first row at or after `key`; with `beyond`, to the first row after it.
  bool SeekForward(std::string_view key, bool beyond);
  // Moves to the last row at or before `key`; with `beyond`, to the last row before it.
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
  int64_t count() const;  // number of entries in the copy, or in order_
  int64_t LowerBound(std::string_view key, bool* found) const;
  void LayOver();
  void CopyFirst(Tree::Bound bound, std::string_view key);  // enters the first leaf of a walk
  void Enter(Tree::Bound bound, std::string_view key);
  uint32_t ReadFirst(std::string_view key);
  void ReadAhead();
  uint32_t LeavesAhead();
  uint32_t ReadLeaves(std::string_view key, uint32_t leaves);

  const Tree* const tree_;
  TreeContext* const context_;
  const uint32_t page_size_;
  AlignedBuffer leaf_;   // copy of the current leaf
  int64_t at_ = 0;       // index of the current entry; from -1 to count()
  uint32_t window_ = 0;  // number of leaves of the last read-ahead
  uint32_t ahead_ = 0;   // number of those leaves that the cursor has not entered yet
  int64_t first_ = 0;    // index of the first entry of the current leaf that the walk has taken
  // announced_ is the number of rows that the next walk takes. expected_ is the number that this
  // walk has still to take, from the first entry of the current leaf on. Each is 0 when the length
  // of its walk is not known.
  uint64_t announced_ = 0, expected_ = 0;
  // waiting_ has the rows of the leaf that stay in the change buffer. If there are any, order_ has
  // the leaf with these rows laid over it: entries of the copy and of waiting_ in the order of
  // their keys, without erased rows.
  std::vector<BufferedRow> waiting_;
  struct Place {
    uint32_t at = 0;
    bool waits = false;
  };
  std::vector<Place> order_;
  std::string key_, fence_, long_value_;
  std::string_view value_;
};

// SessionState is the part of a session that its cursors read.
struct SessionState {
  WriteSet writes;
  uint64_t epoch = 0;  // grows with each write, commit and rollback of the session
};

class BtreeCursor : public Cursor {
 public:
  BtreeCursor(const Tree* tree, TreeContext* context, const SessionState* session,
              uint32_t page_size)
      : base_(tree, context, page_size), session_(session), table_(tree->table()) {}

  void Expect(uint64_t rows) override { base_.Expect(rows); }
  bool Seek(std::string_view key) override { return Begin(key, true, false); }
  bool SeekForPrev(std::string_view key) override { return Begin(key, false, false); }
  bool First() override { return Begin({}, true, false); }
  bool Last() override;
  bool Next() override;
  bool Prev() override;
  std::string_view key() const override { return key_; }
  std::string_view value() const override { return value_; }

 private:
  bool Begin(std::string_view key, bool forward, bool beyond);  // starts a walk at `key`
  bool Step(bool forward);
  bool Choose();
  void SetOverlay(std::string_view key, bool forward, bool beyond);
  void StepOverlay();
  void StandAt(size_t position);  // sets overlay_ and overlay_on_
  const RowWrite& Overlay() const {
    return session_->writes.rows()[session_->writes.Sorted()[overlay_]];
  }

  TreeCursor base_;
  const SessionState* const session_;
  const uint32_t table_;
  uint64_t epoch_ = 0;  // the session's epoch when the walk was started
  bool forward_ = true;
  // This is false while the cursor moves, and so after a read that failed: base_ may then have
  // passed over the row whose value could not be read.
  bool on_row_ = false;
  bool base_on_ = false;       // base_ has a row at or behind the current row
  bool overlay_on_ = false;    // overlay_ is a write at or behind the current row
  bool from_base_ = false;     // the current row is base_'s row
  bool from_overlay_ = false;  // the current row is overlay_'s write
  size_t overlay_ = 0;         // position in the session's sorted writes
  std::string key_, sought_;
  std::string_view value_;
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_TREE_CURSOR_H_
