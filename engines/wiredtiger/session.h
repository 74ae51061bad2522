// Sessions and cursors of the wiredtiger engine: one WT_SESSION a Session, one WT_CURSOR kept open
// per table for gets and writes, one more per Cursor.
//
// A value that Get returns lies in the page it was found on. The page, and outside a transaction
// the snapshot that was read, stay pinned until the session's next call or its end: an idle session
// that has just read holds back one page, not a growing history, as long as nobody writes much.
//
// Isolation is snapshot. Outside Begin..Commit each read sees what was committed when it began,
// except while a Cursor of the session stands on a row: then the session reads the snapshot the
// cursor began with. Cursors see their session's own uncommitted writes.
//
// Conflicts. WiredTiger does not wait for another transaction's write to the same key, it fails
// with WT_ROLLBACK; so it does when a transaction pins too much of a small cache. A write outside
// a transaction is tried again by WiredTiger itself. For a transaction the session keeps a copy of
// its writes, rolls back and replays them, pausing, until they go through or conflict_wait_ms have
// passed (then Error, kRun, and the transaction must be rolled back). A replayed transaction reads
// a newer snapshot from there on, so what it read before may have changed: enough for testbed's
// workloads, which do not write what depends on what they read of rows that others write. A
// cursor's step that is rolled back is not replayed but an Error.
#ifndef TESTBED_ENGINES_WIREDTIGER_SESSION_H_
#define TESTBED_ENGINES_WIREDTIGER_SESSION_H_

#include <wiredtiger.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engines/engine.h"
#include "engines/wiredtiger/errors.h"
#include "engines/wiredtiger/file_system.h"
#include "engines/wiredtiger/settings.h"

namespace testbed::wiredtiger {

// What an open database's engine, sessions and threads share.
struct Database {
  explicit Database(const Settings& s) : settings(s), files(s.files) {}

  WT_SESSION* OpenSession();
  std::string TableUri(TableId table);
  // The first failure of a thread of ours (checkpoint, log flush); thrown to whoever writes next,
  // as the durability that was asked for is no longer kept.
  void NoteBackgroundFailure(const Error& error);
  void ThrowIfFailed() {
    if (failed.load(std::memory_order_acquire)) ThrowFailure();
  }

  const Settings settings;
  Errors errors;
  FileSystem files;
  WT_CONNECTION* connection = nullptr;

  std::mutex mutex;  // guards what follows
  std::deque<std::string> tables;
  std::optional<Error> failure;
  std::atomic<bool> failed{false};

 private:
  [[noreturn]] void ThrowFailure();
};

// The writes of a transaction under way, to be replayed.
class WriteBuffer {
 public:
  struct Write {
    TableId table;
    bool erase;
    std::string_view key, value;
  };
  void Clear();
  void Add(const Write& write);
  size_t size() const { return heads_.size(); }
  size_t bytes() const { return bytes_.size(); }
  Write at(size_t i) const;

 private:
  struct Head {
    TableId table;
    bool erase;
    size_t key_at, key_size, value_size;
  };
  std::vector<Head> heads_;
  std::vector<char> bytes_;
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
  void Enter() {
    thread_state.application = true;
    if (pinned_ != nullptr) Unpin();
  }
  void Unpin();
  void Do(const WriteBuffer::Write& write);
  int Apply(const WriteBuffer::Write& write);
  // Rolls the transaction back and replays its writes until none meets a conflict.
  void Replay(const char* doing);
  void RollbackKeepingPositions();
  int EndTransaction();
  [[noreturn]] void Fail(int code, const std::string& doing);
  std::string DoingAt(const char* verb, TableId table);

  Database* const database_;
  WT_SESSION* session_;
  std::vector<WT_CURSOR*> cursors_;  // by TableId
  WT_CURSOR* pinned_ = nullptr;      // stands on the value that Get returned last
  bool in_transaction_ = false;
  WriteBuffer writes_;
  std::vector<WiredtigerCursor*> walks_;  // the Cursors that live
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
    kParked,  // the row's key is in parked_key_; WiredTiger's cursor has lost its position
  };
  using Move = int (*)(WT_CURSOR*);
  void Park();
  bool Near(std::string_view key, bool forward);
  bool Step(Move move, bool forward);
  bool Arrive(int code);

  WiredtigerSession* session_;  // null when it ended first
  const TableId table_;
  WT_CURSOR* cursor_ = nullptr;
  State state_ = State::kNowhere;
  std::string parked_key_;
  WT_ITEM key_{}, value_{};
};

}  // namespace testbed::wiredtiger

#endif  // TESTBED_ENGINES_WIREDTIGER_SESSION_H_
