// This header has the sessions and cursors of the bf-tree engine.
//
// Bf-Tree has no transactions: each write is there for all sessions when its call returns. Begin
// and Commit only frame the writes, and a transaction that has written cannot be rolled back.
// A cursor copies rows from the tree, ever more at a time. It walks the rows that were there when
// it copied them; after a write of its own session it copies anew.
#ifndef TESTBED_ENGINES_BF_TREE_SESSION_H_
#define TESTBED_ENGINES_BF_TREE_SESSION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engines/bf_tree/gate.h"
#include "engines/bf_tree/rows.h"
#include "engines/bf_tree/tables.h"
#include "engines/engine.h"
#include "engines/open_tables.h"

namespace testbed::bf_tree {

class BfTreeEngine;

class BfTreeSession : public Session {
 public:
  // `engine` must outlive the session.
  explicit BfTreeSession(BfTreeEngine* engine);

  void Begin() override;
  void Commit() override;
  // Throws Error (kUsage) when the transaction has written.
  void Rollback() override;
  bool Get(TableId table, std::string_view key, std::string_view* value) override;
  void Put(TableId table, std::string_view key, std::string_view value) override;
  void Erase(TableId table, std::string_view key) override;
  std::unique_ptr<Cursor> NewCursor(TableId table) override;
  bool BlockCounts(uint64_t* requests, uint64_t* misses) override;

 private:
  friend class BfTreeCursor;

  // Sets key_, and calls `change`, which writes the row. Throws Error (kRun) when a write of the
  // transaction has failed before.
  template <typename Change>
  void Write(TableId table, std::string_view key, std::string_view value, const Change& change);
  void CheckSizes(std::string_view key, std::string_view value) const;

  BfTreeEngine* const engine_;
  Gate::Member member_;
  LearnedTables<Tables, Table> tables_;
  std::string key_;       // the key of a call, with the table's prefix
  std::string value_;     // what Get has copied
  std::string encoded_;   // a value as Encoded returns it
  uint64_t misses_ = 0;   // number of pages read
  uint64_t changes_ = 0;  // number of this session's writes
  bool in_transaction_ = false;
  bool failed_ = false;  // a write of the transaction has failed
  bool wrote_ = false;   // the transaction has written
};

class BfTreeCursor : public Cursor, private RowSource {
 public:
  BfTreeCursor(BfTreeSession* session, TableId table)
      : session_(session), table_(session->tables_.Find(table)) {}

  void Expect(uint64_t rows) override { announced_ = rows; }
  bool Seek(std::string_view key) override;
  bool SeekForPrev(std::string_view key) override;
  bool First() override;
  bool Last() override;
  bool Next() override;
  bool Prev() override;
  std::string_view key() const override { return rows_.key(at_).substr(kTablePrefix); }
  std::string_view value() const override { return Decoded(rows_.value(at_)); }

 private:
  void Scan(std::string_view start, std::string_view end, uint32_t most, Rows* rows) override;
  // Copies the rows from `start_` on, and moves to the first of them.
  bool Forward();
  // Copies the rows before `start_`, and moves to the last of them.
  bool Backward();
  void Position();  // takes over the number of rows that Expect announced
  // Sets start_ to the key with the table's prefix. With `beyond`, sets it to the smallest key
  // above that one.
  void SetStart(std::string_view key, bool beyond);
  // Returns whether the copied rows include all writes of the session.
  bool IsFresh() const { return seen_changes_ == session_->changes_; }

  BfTreeSession* const session_;
  const Table table_;
  Rows rows_, spare_;
  uint32_t at_ = 0;  // index of the row in rows_ on which the cursor stands
  bool on_row_ = false;
  bool at_end_ = false;  // the table has no row behind rows_
  std::string start_;
  uint64_t seen_changes_ = 0;
  uint64_t announced_ = 0;  // number of rows that Expect announced for the next positioning
  uint64_t wanted_ = 0;     // announced rows that were not copied yet; 0 = not known
  uint32_t batch_ = 1;      // number of rows to copy next
};

}  // namespace testbed::bf_tree

#endif  // TESTBED_ENGINES_BF_TREE_SESSION_H_
