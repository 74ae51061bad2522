// This header has the sessions and cursors of the mmapv1 engine.
//
// The WriteSet of a transaction keeps its writes, and Commit applies them all under the database's
// write lock. So isolation is read committed: each Get, and each step of a cursor, sees the newest
// commit, and over it the writes of its own transaction. A cursor that stands on a row keeps a copy
// of it; its next step goes on from that key in the rows that are there then.
#ifndef TESTBED_ENGINES_MMAPV1_SESSION_H_
#define TESTBED_ENGINES_MMAPV1_SESSION_H_

#include <memory>
#include <string>
#include <string_view>

#include "engines/engine.h"
#include "engines/mmapv1/store.h"
#include "engines/write_set.h"

namespace testbed::mmapv1 {

class Mmapv1Session : public Session {
 public:
  explicit Mmapv1Session(Store* store) : store_(store) {}

  void Begin() override;
  void Commit() override;
  void Rollback() override;
  bool Get(TableId table, std::string_view key, std::string_view* value) override;
  void Put(TableId table, std::string_view key, std::string_view value) override;
  void Erase(TableId table, std::string_view key) override;
  std::unique_ptr<Cursor> NewCursor(TableId table) override;

 private:
  friend class Mmapv1Cursor;
  void Write(TableId table, std::string_view key, bool erase, std::string_view value);

  Store* const store_;
  bool in_transaction_ = false;
  bool failed_ = false;  // a write of the transaction has failed
  WriteSet writes_;
  std::string value_;  // the value that Get returned
};

class Mmapv1Cursor : public Cursor {
 public:
  Mmapv1Cursor(Mmapv1Session* session, TableId table) : session_(session), table_(table) {}

  bool Seek(std::string_view key) override { return Forward(Motion::kAtOrAfter, key); }
  bool SeekForPrev(std::string_view key) override { return Backward(Motion::kAtOrBefore, key); }
  bool First() override { return Forward(Motion::kFirst, {}); }
  bool Last() override { return Backward(Motion::kLast, {}); }
  bool Next() override { return on_row_ && Forward(Motion::kAfter, key_); }
  bool Prev() override { return on_row_ && Backward(Motion::kBefore, key_); }
  std::string_view key() const override { return key_; }
  std::string_view value() const override { return value_; }

 private:
  bool Forward(Motion motion, std::string_view key);
  bool Backward(Motion motion, std::string_view key);
  // Sets next_key_ and next_value_ to the store's next row in the direction of the walk. Returns
  // whether there is such a row.
  bool FromStore(Motion motion, std::string_view key);
  bool StandOn(const RowWrite* own);

  Mmapv1Session* const session_;
  const TableId table_;
  bool on_row_ = false;
  std::string key_, value_;
  std::string next_key_, next_value_, sought_;
  PlaceHint hint_;  // place of the row at hint_key_
  std::string hint_key_;
};

}  // namespace testbed::mmapv1

#endif  // TESTBED_ENGINES_MMAPV1_SESSION_H_
