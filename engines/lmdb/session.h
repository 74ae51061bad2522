// Sessions and cursors of the lmdb engine.
//
// Reads: a session has a Snapshot for Get, and each Cursor has one of its own. A Get, and a call
// that positions a cursor (Seek, First, ...), sees the newest commit. Next and Prev walk the commit
// in which the cursor was positioned. The keys and values that they return are bytes of LMDB's
// pages in the mapping, not copies. A Snapshot keeps these pages from being reused: that of Get at
// least until the session's next call; that of a cursor until the cursor leaves its row, is
// destroyed, or its session writes. A session that keeps no value or row holds back no pages, so
// that LMDB can reuse them.
//
// Writes: LMDB has one write transaction at a time. A transaction of a session begins it at its
// first write and holds it to its end; a write outside Begin and Commit is a transaction of its
// own. From its first write on, a transaction reads the newest commit plus its own writes, and no
// other thread can commit meanwhile. Other threads may have changed the rows that it read before
// its first write.
//
// LMDB's cursors must not be read after a write. So before each write the session parks its
// Cursors: a parked Cursor keeps its key and finds its row again at its next move.
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
  // Calls change(txn), which returns LMDB's code, with the transaction's write transaction; outside
  // Begin and Commit with a new one, which it commits. Throws Error when `change` fails.
  template <typename Change>
  void Write(Change&& change);
  void EndTransaction(bool commit);
  // ReleaseGet releases the pages that Get has read. ReleaseAll also releases those of the cursors.
  void ReleaseGet() {
    snapshot_.Release();
    lent_ = {};
  }
  void ReleaseAll();
  // Returns `bytes`, the key or value of a write. Bytes that were read in the same write
  // transaction are copied to *copy first, because the write may move them.
  std::string_view Steady(std::string_view bytes, std::string* copy) const;

  Environment* const env_;
  std::vector<MDB_dbi> tables_;  // LMDB's handles by TableId; LearnTable adds new tables
  Snapshot snapshot_;            // used by Get
  std::string_view lent_;        // the value that Get returned last
  bool in_transaction_ = false;
  MDB_txn* write_ = nullptr;  // set from the transaction's first write to its end
  std::string key_copy_, value_copy_;
  std::vector<LmdbCursor*> walks_;                // all open Cursors of the session
  std::vector<std::unique_ptr<Snapshot>> spare_;  // Snapshots of destroyed Cursors, for new ones
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
  // Returns LMDB's cursor on the state that the session sees now: the open write transaction, else
  // the newest commit. The cursor has no position.
  MDB_cursor* Ready();
  // Both move LMDB's cursor and return whether it found a row. When it found none, Arrive releases
  // the snapshot, and Move keeps it for another try.
  bool Move(MDB_cursor* cursor, MDB_cursor_op move, std::string_view key = {});
  bool Arrive(MDB_cursor* cursor, MDB_cursor_op move, std::string_view key = {}) {
    return Move(cursor, move, key) || Nowhere();
  }
  bool Nowhere();  // leaves the row; returns false
  // Returns `key`, or a copy of it when it is this cursor's own key, which the search would lose.
  std::string_view Wanted(std::string_view key);
  // Called by the session.
  void Park();              // before a write: remembers the row's key
  void Release();           // after a write: releases the pages that were read
  void LeaveTransaction();  // before the transaction ends
  void Detach();            // before the session is destroyed

  LmdbSession* session_;  // null after the session was destroyed
  const MDB_dbi table_;
  std::unique_ptr<Snapshot> snapshot_;
  MDB_cursor* on_snapshot_ = nullptr;  // cursor on snapshot_
  MDB_cursor* on_write_ = nullptr;     // cursor on the session's write transaction
  MDB_cursor* at_ = nullptr;           // on_snapshot_ or on_write_, which stands on the row
  State state_ = State::kNowhere;
  std::string parked_key_;
  std::string_view key_, value_;
};

}  // namespace testbed::lmdb

#endif  // TESTBED_ENGINES_LMDB_SESSION_H_
