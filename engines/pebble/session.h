// This header has the sessions and cursors of the pebble engine.
//
// A transaction is a batch of Pebble, so that it commits as a whole or not at all. A read sees the
// rows that are committed when it runs and the writes of its own transaction. Transactions take no
// locks and detect no conflicts: when two of them write a key, the later commit wins. A cursor
// walks the rows that were committed at its last Seek, SeekForPrev, First or Last, and its
// transaction's writes.
#ifndef TESTBED_ENGINES_PEBBLE_SESSION_H_
#define TESTBED_ENGINES_PEBBLE_SESSION_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engines/engine.h"
#include "engines/key_copies.h"
#include "engines/open_tables.h"
#include "engines/pebble/library.h"
#include "engines/pebble/tables.h"

namespace testbed::pebble {

class PebbleEngine;
class PebbleCursor;

// A SessionHandle is a session of the library: the writes of a transaction, and the value that was
// read last. Its methods throw Error when Pebble fails. Not thread-safe.
class SessionHandle {
 public:
  explicit SessionHandle(uintptr_t db)
      : calls_(Library::Get().calls()), session_(calls_.pebble_new_session(db)) {}
  ~SessionHandle() {
    if (!Library::InForkedChild()) calls_.pebble_end_session(session_);
  }
  SessionHandle(const SessionHandle&) = delete;
  SessionHandle& operator=(const SessionHandle&) = delete;

  // The value in *value stays valid until the next call.
  bool Get(std::string_view key, std::string_view* value);
  void Put(std::string_view key, std::string_view value);
  void Erase(std::string_view key);
  // Commits the writes since the last Commit or Rollback. Returns how many bytes their log record
  // has.
  uint64_t Commit();
  void Rollback() { calls_.pebble_rollback(session_); }
  const Calls& calls() const { return calls_; }
  uintptr_t handle() const { return session_; }

 private:
  const Calls& calls_;
  const uintptr_t session_;
};

class PebbleSession : public Session {
 public:
  // `engine` must outlive the session.
  explicit PebbleSession(PebbleEngine* engine);
  ~PebbleSession() override;

  void Begin() override;
  void Commit() override;
  void Rollback() override;
  bool Get(TableId table, std::string_view key, std::string_view* value) override;
  void MultiGet(TableId table, std::span<const std::string_view> keys,
                std::vector<FoundRow>* rows) override;
  void TakeEach(TableId table, std::span<const std::string_view> keys,
                const TakeRow& take) override {
    TakeEachOfMultiGet(table, keys, take);
  }
  void Put(TableId table, std::string_view key, std::string_view value) override;
  void Erase(TableId table, std::string_view key) override;
  std::unique_ptr<Cursor> NewCursor(TableId table) override;

 private:
  friend class PebbleCursor;

  // Returns the table that a write names. If there is no memory for the list of tables, throws, and
  // the write counts as failed.
  const Table& TableToWrite(TableId table);
  // Returns the key with the table's prefix. Valid until the next call.
  std::string_view KeyIn(const Table& table, std::string_view key) {
    return key_.assign(table.prefix).append(key);
  }
  // Calls `change`, which writes a row. Outside of a transaction it also commits the row. Throws
  // Error (kRun) when an earlier write of the transaction has failed.
  template <typename Change>
  void Write(const Change& change);
  void CommitWrites();
  // Makes the cursors remember their rows (Park). When there is no memory for a row, drops the
  // writes of the transaction.
  void ParkCursors();
  // Drops the writes of the transaction. A cursor that is not parked leaves its row.
  void DropWrites();

  PebbleEngine* const engine_;
  SessionHandle handle_;
  LearnedTables<Tables, Table> tables_;
  std::string key_;  // result of the last KeyIn
  // These are the keys and results of the last MultiGet.
  KeyCopies<PebbleBytes> multi_keys_;
  std::vector<PebbleBytes> multi_values_;
  bool in_transaction_ = false;
  bool failed_ = false;                 // a write of the transaction has failed
  bool wrote_ = false;                  // the transaction has writes
  std::vector<PebbleCursor*> cursors_;  // all open cursors of the session
};

// A PebbleCursor that goes forward fetches rows ahead, so that not each row costs a call into Go.
// It fetches as many as Expect has announced, or else more each time. Fetching ahead does not
// change which rows the cursor shows, because its iterator shows one state of the database.
class PebbleCursor : public Cursor {
 public:
  PebbleCursor(PebbleSession* session, TableId table);
  ~PebbleCursor() override;

  void Expect(uint64_t rows) override { announced_ = rows; }
  bool Seek(std::string_view key) override;
  bool SeekForPrev(std::string_view key) override;
  bool First() override;
  bool Last() override;
  bool Next() override;
  bool Prev() override;
  std::string_view key() const override { return key_; }
  std::string_view value() const override { return value_; }

  // Remembers the cursor's position and ends its iterator. The session calls Park before it changes
  // the transaction's writes or ends them, as Pebble's iterators must not outlive their batch.
  void Park();
  // Leaves the row and ends the iterator. Needs no memory.
  void Leave();
  // The session calls it when it is destroyed before the cursor.
  void Detach();

 private:
  void Renew();  // makes the iterator show all rows that are committed now
  bool Move(PebbleMove move, std::string_view key = {});  // returns whether it found a row
  // Positions the cursor, and takes over the number of rows that Expect has announced.
  bool Position(PebbleMove move, std::string_view key = {});
  bool NextFetched();  // goes to the next fetched row; fetches rows if none is left
  void Fetch();
  void ForgetFetched() { fetched_ = at_ = 0; }
  // Returns to the parked row, or to its neighbour that `seek` finds. Returns whether the cursor
  // stands on the parked row itself.
  bool Unpark(PebbleMove seek);

  PebbleSession* session_;  // null after the session was destroyed
  const Table table_;
  uintptr_t iterator_ = 0;  // 0 = there is no iterator
  uint64_t commits_ = 0;    // the engine's number of commits when the iterator was made
  bool over_own_writes_ = false;
  bool parked_ = false;  // there is no iterator; the row is that of parked_key_
  bool on_row_ = false;
  std::string parked_key_;  // key of the parked row, with the table's prefix
  std::string_view key_, value_;

  uint64_t announced_ = 0;  // rows that Expect has announced for the next positioning
  uint64_t wanted_ = 0;     // announced rows that were not fetched yet; 0 = not known
  uint32_t fetch_ = 1;      // number of rows to fetch next when wanted_ is 0
  // The last fetch gave fetched_ rows, whose keys and values are in bytes_. Rows at_ to
  // fetched_ - 1 of them are behind the cursor's row.
  std::vector<char> bytes_;
  std::vector<uint32_t> sizes_;  // lengths of each row's key and value
  uint32_t fetched_ = 0, at_ = 0;
  size_t bytes_at_ = 0;    // offset of row at_ in bytes_
  bool is_ahead_ = false;  // the iterator has gone beyond the cursor's row
  bool at_end_ = false;    // the table has no row behind those that were fetched
  int stands_ = 0;         // whether the iterator stands on a row too long for bytes_
};

}  // namespace testbed::pebble

#endif  // TESTBED_ENGINES_PEBBLE_SESSION_H_
