// This header has the sessions and cursors of the wiredtiger engine. A Session has one WT_SESSION
// and, for each table that it has used, an open WT_CURSOR for gets and writes. Each Cursor has one
// more WT_CURSOR, which the session keeps for its next Cursor on the table: a WT_CURSOR is opened
// by the table's name.
//
// Pinning: a value that Get returns lies in WiredTiger's page. That page and, outside a
// transaction, the snapshot of the read stay pinned until the session's next call, or until a
// Cursor of it is positioned outside a transaction. So a session that is idle after a Get keeps one
// page in the cache, and keeps WiredTiger from dropping the row versions that its snapshot can see.
//
// Isolation: snapshot. Outside Begin and Commit a read sees the rows that were committed when it
// began. While a Cursor of the session stands on a row, however, all reads of the session use the
// snapshot that the cursor began with. A Cursor sees its session's own uncommitted writes.
//
// Conflicts: a write to a key that another open transaction has written does not wait, it fails
// with WT_ROLLBACK. An operation of a transaction that pins too much of a small cache does, too.
// WiredTiger itself repeats a write outside a transaction. In a transaction the session keeps a
// copy of the writes; after a conflict it rolls back, pauses and replays them, until they succeed
// or conflict_wait_ms have passed. It then throws Error (kRun), and the caller must roll back.
// After a replay the transaction reads a newer snapshot, so rows that it read before may have
// changed. testbed's workloads allow that: their writes do not depend on reads of rows that other
// clients write. A conflict in a step of a Cursor is not replayed: it throws Error (kRun).
#ifndef TESTBED_ENGINES_WIREDTIGER_SESSION_H_
#define TESTBED_ENGINES_WIREDTIGER_SESSION_H_

#include <wiredtiger.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/os/mutex.h"
#include "engines/engine.h"
#include "engines/wiredtiger/errors.h"
#include "engines/wiredtiger/file_system.h"
#include "engines/wiredtiger/settings.h"
#include "engines/wiredtiger/write_buffer.h"

namespace testbed::wiredtiger {

// Database is the part of an open database that the engine, its sessions and its threads share.
// Thread-safe.
struct Database {
  explicit Database(const Settings& s) : settings(s), files(s.files) {}

  WT_SESSION* OpenSession();
  // Throws Error (kUsage) when the table was not opened.
  void CheckTable(TableId table);
  // Returns WiredTiger's name of the table. Throws the error of CheckTable.
  std::string TableUri(TableId table);
  // Keeps the first error of the engine's own threads (checkpoint, log flush). From then on
  // ThrowIfFailed, which each write and commit calls, throws that error, since the engine can no
  // longer keep the durability of the run.
  void NoteBackgroundFailure(const Error& error);
  void ThrowIfFailed() {
    if (failed.load(std::memory_order_acquire)) ThrowFailure();
  }

  const Settings settings;
  Errors errors;
  FileSystem files;
  WT_CONNECTION* connection = nullptr;

  Mutex mutex;                                       // protects tables and failure
  std::deque<std::string> tables GUARDED_BY(mutex);  // names by TableId
  std::optional<Error> failure GUARDED_BY(mutex);
  std::atomic<bool> failed{false};

 private:
  [[noreturn]] void ThrowFailure();
};

class WiredtigerCursor;

class WiredtigerSession : public Session {
 public:
  explicit WiredtigerSession(Database* database);
  ~WiredtigerSession() override;

  void Begin() override;
  void Commit() override;
  void Rollback() override;
  bool Get(TableId table, std::string_view key, std::string_view* value) override;
  void Put(TableId table, std::string_view key, std::string_view value) override;
  void Erase(TableId table, std::string_view key) override;
  std::unique_ptr<Cursor> NewCursor(TableId table) override;
  bool BlockCounts(uint64_t* requests, uint64_t* misses) override;

 private:
  friend class WiredtigerCursor;
  WT_CURSOR* TableCursor(TableId table) {
    return table < cursors_.size() && cursors_[table] != nullptr ? cursors_[table]
                                                                 : OpenTableCursor(table);
  }
  WT_CURSOR* OpenTableCursor(TableId table);
  // Returns the WT_CURSOR that a destroyed Cursor on the table has left, or else a new one.
  WT_CURSOR* TakeScanCursor(TableId table);
  // Resets the WT_CURSOR of a destroyed Cursor and keeps it, or closes it.
  void LeaveScanCursor(TableId table, WT_CURSOR* cursor);
  // A Call lives as long as one call into WiredTiger's API by the session or one of its cursors. It
  // adds the reads that the thread makes meanwhile to the session's count.
  class Call {
   public:
    explicit Call(WiredtigerSession* session)
        : session_(session), before_(thread_state.data_reads) {
      thread_state.application = true;
    }
    ~Call() { session_->data_reads_ += thread_state.data_reads - before_; }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    WiredtigerSession* const session_;
    const uint64_t before_;
  };
  // Releases the page of the last Get. Each operation of the session calls it first.
  void Enter() {
    if (pinned_ != nullptr) Unpin();
  }
  // A Cursor calls this before it is positioned, and not before a step. Outside a transaction
  // WiredTiger would position it by the snapshot of the last Get, so this releases that snapshot.
  void EnterToPosition() {
    if (!in_transaction_) Enter();
  }
  void Unpin();
  void Do(const WriteBuffer::Write& write);
  int Apply(const WriteBuffer::Write& write);
  // Rolls the transaction back and replays its writes in a new transaction, until no write meets a
  // conflict. Throws Error (kRun) after conflict_wait_ms.
  void Replay(const char* doing);
  void RollbackKeepingPositions();  // rolls back; cursors find their rows again
  int EndTransaction();             // rolls back
  // Throws the Error for WiredTiger's `code`, and marks all Cursors as standing on no row.
  [[noreturn]] void Fail(int code, const std::string& doing);
  std::string DoingAt(const char* verb, TableId table);  // returns "reading table:t"

  Database* const database_;
  WT_SESSION* session_;
  std::vector<WT_CURSOR*> cursors_;  // by TableId, for gets and writes; null: not opened yet
  std::vector<WT_CURSOR*> spare_;    // by TableId, for the next Cursor; null: there is none
  WT_CURSOR* pinned_ = nullptr;      // holds the page of the value that Get returned last
  std::string_view lent_;            // value that Get returned last; valid while pinned_ is set
  std::string key_copy_, value_copy_;
  bool in_transaction_ = false;
  bool failed_ = false;      // a write of the transaction has failed
  uint64_t data_reads_ = 0;  // number of reads from data files by this session
  WriteBuffer writes_;
  std::vector<WiredtigerCursor*> walks_;  // all open Cursors of the session
};

class WiredtigerCursor : public Cursor {
 public:
  WiredtigerCursor(WiredtigerSession* session, TableId table);
  ~WiredtigerCursor() override;

  bool Seek(std::string_view key) override;
  bool SeekForPrev(std::string_view key) override;
  bool First() override;
  bool Last() override;
  bool Next() override;
  bool Prev() override;
  std::string_view key() const override { return {static_cast<const char*>(key_.data), key_.size}; }
  std::string_view value() const override {
    return {static_cast<const char*>(value_.data), value_.size};
  }

 private:
  friend class WiredtigerSession;
  enum class State : uint8_t {
    kNowhere,
    kOnRow,
    kParked,  // its key is in parked_key_; the WT_CURSOR has no position
  };
  using Move = int (*)(WT_CURSOR*);
  // Remembers the row's key. The session calls it before WiredTiger resets the WT_CURSOR.
  void Park();
  void ParkOrLeave();  // leaves the row when there is no memory for its key
  // CopyKey and ParkAtCopy are the two steps of Park, for a call that resets the WT_CURSOR only
  // when it fails. CopyKey comes before the call, and ParkAtCopy after its failure, when the row's
  // page is not pinned any more.
  void CopyKey();
  void ParkAtCopy();
  // Moves to the row of parked_key_. If it is gone, moves to the next row (`forward`) or to the
  // previous row.
  bool Near(bool forward);
  bool ToKey(std::string_view key, bool forward);  // as Near, for the row of `key`
  bool ToEnd(Move move);                           // goes to the row where `move` begins
  bool Step(Move move, bool forward);
  // Ends a move of the WT_CURSOR that returned `code`: takes over its row, if there is one, and
  // returns whether there is. Throws Error for a code of failure other than WT_NOTFOUND.
  bool Arrive(int code);

  WiredtigerSession* session_;  // null after the session was destroyed
  const TableId table_;
  WT_CURSOR* const cursor_;
  State state_ = State::kNowhere;
  std::string parked_key_;
  WT_ITEM key_{}, value_{};
};

}  // namespace testbed::wiredtiger

#endif  // TESTBED_ENGINES_WIREDTIGER_SESSION_H_
