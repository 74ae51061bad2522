// This header has ordered walks. TreeCursor walks the committed rows of one tree, basement by
// basement; FractalCursor lays the session's own uncommitted writes over it.
//
// A TreeCursor takes a copy of each basement when it enters it, with all messages for the
// basement's range laid over it, and holds no latch between calls. So it sees rows that are
// committed later in basements that it has not entered, but none in the basement that it is in.
#ifndef TESTBED_ENGINES_FRACTAL_CURSOR_H_
#define TESTBED_ENGINES_FRACTAL_CURSOR_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "engines/engine.h"
#include "engines/fractal/store.h"

namespace testbed::fractal {

// SessionState has the uncommitted writes of a session, and what its cursors must know of them.
struct SessionState {
  std::map<uint32_t, MessageBuffer> writes;  // the newest writes of rows, by table number
  uint64_t epoch = 0;  // grows with each write, commit and rollback of the session
  const MessageBuffer* WritesOf(uint32_t table) const {
    const auto at = writes.find(table);
    return at == writes.end() || at->second.empty() ? nullptr : &at->second;
  }
};

class TreeCursor {
 public:
  TreeCursor(const Tree* tree, StoreClient* client) : tree_(tree), client_(client) {}

  // Moves to the first row with a key >= `key`, or > `key` if `beyond`. Returns whether there is
  // such a row.
  bool SeekForward(std::string_view key, bool beyond);
  // Moves to the last row with a key <= `key`, or < `key` if `beyond`. Returns whether there is
  // such a row.
  bool SeekBackward(std::string_view key, bool beyond);
  bool Last();
  bool Next();
  bool Prev();
  std::string_view key() const { return copy_.rows->key(static_cast<uint32_t>(at_)); }
  std::string_view value() const { return copy_.rows->value(static_cast<uint32_t>(at_)); }

 private:
  void Enter(Tree::Bound bound, std::string_view key) {
    client_->CopyBasement(tree_, bound, key, &copy_);
  }
  bool SettleForward();
  bool SettleBackward();

  const Tree* const tree_;
  StoreClient* const client_;
  BasementCopy copy_;
  int64_t at_ = 0;  // index of the row in copy_; may be before the first or after the last
  std::string fence_;
};

class FractalCursor : public Cursor {
 public:
  FractalCursor(const Tree* tree, StoreClient* client, const SessionState* session)
      : base_(tree, client), session_(session), table_(tree->table()) {}

  bool Seek(std::string_view key) override { return Begin(key, true, false); }
  bool SeekForPrev(std::string_view key) override { return Begin(key, false, false); }
  bool First() override { return Begin({}, true, false); }
  bool Last() override;
  bool Next() override { return Step(true); }
  bool Prev() override { return Step(false); }
  std::string_view key() const override { return key_; }
  std::string_view value() const override { return value_; }

 private:
  bool Begin(std::string_view key, bool forward, bool beyond);
  bool Step(bool forward);
  bool Choose();
  void StepBase() { base_on_ = forward_ ? base_.Next() : base_.Prev(); }
  void StepOverlay();

  TreeCursor base_;
  const SessionState* const session_;
  const uint32_t table_;
  uint64_t epoch_ = 0;
  bool forward_ = true;
  // This is false while the cursor moves, and so after a read that failed: base_ may then have the
  // rows of one basement and the bounds of another one.
  bool on_row_ = false;
  bool base_on_ = false;            // base_ has a row at or behind the current row
  std::optional<Message> overlay_;  // the session's first write at or behind the current row
  // The current row is base_'s row, overlay_'s write, or both.
  bool from_base_ = false;
  bool from_overlay_ = false;
  std::string key_, value_;
};

}  // namespace testbed::fractal

#endif  // TESTBED_ENGINES_FRACTAL_CURSOR_H_
