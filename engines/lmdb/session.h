// Sessions and cursors of the lmdb engine.
//
// Reading. A session has a Snapshot for Get, each Cursor one of its own. Each Get, and each
// positioning of a cursor (Seek, First, ...), sees the newest commit; Next and Prev walk the commit
// that the cursor was positioned in. What they return are bytes of LMDB's pages in the mapping, not
// copies. Those pages stay as they are while they may be looked at: until the session's next call
// for Get; for a cursor, until it is moved off its row, ends, or its session writes. Otherwise a
// session holds nothing back, so one that idles does not keep the file from using its pages again.
//
// Writing. LMDB has one write transaction at a time. A transaction takes it at its first write and
// holds it to its end; a write outside Begin..Commit is one by itself. From its first write on a
// transaction reads its own state: what it wrote, over the newest commit, which nobody can change
// meanwhile. What it read before may have been changed by others until then.
//
// A write makes LMDB's own cursors unsafe to look at, so the session's Cursors park before each:
// they keep their key and find their place again.
#ifndef TESTBED_ENGINES_LMDB_SESSION_H_
#define TESTBED_ENGINES_LMDB_SESSION_H_

#include <lmdb.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engines/engine.h"
#include "engines/lmdb/environment.h"

namespace testbed::lmdb {

class LmdbCursor;

class LmdbSession : public Session {
 public:
  explicit LmdbSession(Environment* env);
  ~LmdbSession() override;

  void Begin() override;
  void Commit() override;
  void Rollback() override;
  bool Get(TableId table, std::string_view key, std::string_view* value) override;
  void Put(TableId table, std::string_view key, std::string_view value) override;
  void Erase(TableId table, std::string_view key) override;
  std::unique_ptr<Cursor> NewCursor(TableId table) override;

 private:
  friend class LmdbCursor;
  MDB_dbi Table(TableId table) {
    return table < tables_.size() ? tables_[table] : LearnTable(table);
  }
  MDB_dbi LearnTable(TableId table);
  void CheckRow(std::string_view key, std::string_view value) const;
  // Runs `change` in the transaction, or in one of its own. `change` gets LMDB's transaction and
  // returns LMDB's code.
  template <typename Change>
  void Write(Change&& change);
  void EndTransaction(bool commit);
  // Let go of the pages that were read by Get; and by cursors, too.
  void ReleaseGet() {
    snapshot_.Release();
    lent_ = {};
  }
  void ReleaseAll();
  // `bytes`, or a copy of them in *copy where a write could move them while it uses them.
  std::string_view Steady(std::string_view bytes, std::string* copy) const;

  Environment* const env_;
  std::vector<MDB_dbi> tables_;  // LMDB's handles by TableId, as far as they are known here
  Snapshot snapshot_;            // of Get
  std::string_view lent_;        // the value that Get returned last
  bool in_transaction_ = false;
  MDB_txn* write_ = nullptr;  // from the transaction's first write on
  std::string key_copy_, value_copy_;
  std::vector<LmdbCursor*> walks_;                // the Cursors that live
  std::vector<std::unique_ptr<Snapshot>> spare_;  // of Cursors that lived
};

class LmdbCursor : public Cursor {
 public:
  LmdbCursor(LmdbSession* session, MDB_dbi table);
  ~LmdbCursor() override;

  bool Seek(std::string_view key) override;
  bool SeekForPrev(std::string_view key) override;
  bool First() override { return Arrive(Ready(), MDB_FIRST); }
  bool Last() override { return Arrive(Ready(), MDB_LAST); }
  bool Next() override;
  bool Prev() override;
  std::string_view key() const override { return key_; }
  std::string_view value() const override { return value_; }

 private:
  friend class LmdbSession;
  enum class State : uint8_t {
    kNowhere,
    kOnRow,
    kParked,  // the row's key is in parked_key_
  };
  // LMDB's cursor on what the session sees now; it stands nowhere.
  MDB_cursor* Ready();
  // Moves LMDB's cursor; returns whether there was a row to stand on. Where there was none, Arrive
  // lets go of what it walked in, and Move does not.
  bool Move(MDB_cursor* cursor, MDB_cursor_op move, std::string_view key = {});
  bool Arrive(MDB_cursor* cursor, MDB_cursor_op move, std::string_view key = {}) {
    return Move(cursor, move, key) || Nowhere();
  }
  bool Nowhere();
  // A key to look for that may be this cursor's own.
  std::string_view Wanted(std::string_view key);
  // Called by the session: before it writes, after it wrote, when its transaction ends, when it
  // ends itself.
  void Park();
  void Release();
  void LeaveTransaction();
  void Detach();

  LmdbSession* session_;  // null when it ended first
  const MDB_dbi table_;
  std::unique_ptr<Snapshot> snapshot_;
  MDB_cursor* on_snapshot_ = nullptr;
  MDB_cursor* on_write_ = nullptr;  // on the session's write transaction
  MDB_cursor* at_ = nullptr;        // the one of both that stands on the row
  State state_ = State::kNowhere;
  std::string parked_key_;
  std::string_view key_, value_;
};

}  // namespace testbed::lmdb

#endif  // TESTBED_ENGINES_LMDB_SESSION_H_
