// This header has the sessions and cursors of an engine whose library has LMDB's interface: one
// b-tree file in a mapping, one write transaction at a time, and snapshots for readers. lmdb and
// mdbx are such engines. A Library names the types and calls of the library (engines/lmdb/session.h
// shows one), an Environment and a Snapshot:
//
//   using LmdbSession = SnapshotSession<LmdbLibrary>;
//   std::make_unique<LmdbSession>(&env);
//
//   class Environment:  longest_key(), longest_value(), Tables(), BeginWrite(), CommitWrite(txn),
//                       AbortWrite(txn), CheckWriter(), IsWriter(), Check(code, doing),
//                       Fail(code, doing)
//   class Snapshot:     Snapshot(env), Refresh(), Release(), txn()    (engines/lmdb/environment.h)
//
// Reads: a session has a Snapshot for Get and MultiGet, and each Cursor has one of its own. A Get,
// and a call that positions a cursor (Seek, First, ...), sees the newest commit. Next and Prev walk
// the commit in which the cursor was positioned. The keys and values that they return are bytes of
// the library's pages in the mapping, not copies. A Snapshot keeps these pages from being reused.
// That of Get does so at least until the session's next call; that of a cursor until the cursor
// leaves its row, is destroyed, or its session writes. A session that keeps no value and no row
// keeps no pages from being reused.
//
// Writes: there is one write transaction at a time. A transaction of a session begins it at its
// first write and holds it to its end; a write outside Begin and Commit is a transaction of its
// own. From its first write on, a transaction reads the newest commit plus its own writes, and no
// other thread can commit meanwhile. Other threads may have changed the rows that it read before
// its first write.
//
// The library's cursors must not be read after a write. So before each write the session parks its
// Cursors: a parked Cursor keeps its key and finds its row again at its next move.
#ifndef TESTBED_ENGINES_DATA_FILE_SNAPSHOT_SESSION_H_
#define TESTBED_ENGINES_DATA_FILE_SNAPSHOT_SESSION_H_

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/error.h"
#include "engines/engine.h"
#include "engines/failed_before.h"
#include "engines/key_copies.h"

namespace testbed {

template <typename Library>
class SnapshotCursor;

template <typename Library>
class SnapshotSession : public Session {
 public:
  using Environment = typename Library::Environment;
  using Snapshot = typename Library::Snapshot;
  using Txn = typename Library::Txn;
  using Table = typename Library::Table;

  explicit SnapshotSession(Environment* env) : env_(env), snapshot_(env) {}
  ~SnapshotSession() override {
    for (SnapshotCursor<Library>* walk : walks_) walk->Detach();
    if (write_ != nullptr) env_->AbortWrite(write_);
  }

  void Begin() override {
    if (in_transaction_) throw Error(Error::kRun, Name() + ": Begin inside a transaction");
    in_transaction_ = true;
    ReleaseGet();
  }
  void Commit() override {
    if (!in_transaction_) throw Error(Error::kRun, Name() + ": Commit without Begin");
    EndTransaction(true);
  }
  void Rollback() override {
    if (!in_transaction_) throw Error(Error::kRun, Name() + ": Rollback without Begin");
    EndTransaction(false);
  }
  bool HeldByOtherThread() const override { return write_ != nullptr && !env_->IsWriter(); }
  bool Get(TableId table, std::string_view key, std::string_view* value) override;
  void MultiGet(TableId table, std::span<const std::string_view> keys,
                std::vector<FoundRow>* rows) override;
  void TakeEach(TableId table, std::span<const std::string_view> keys,
                const TakeRow& take) override;
  void Put(TableId table, std::string_view key, std::string_view value) override;
  void Erase(TableId table, std::string_view key) override;
  std::unique_ptr<Cursor> NewCursor(TableId table) override {
    ReleaseGet();
    return std::make_unique<SnapshotCursor<Library>>(this, Find(table));
  }

 private:
  friend class SnapshotCursor<Library>;
  static std::string Name() { return Library::kName; }
  Table Find(TableId table) { return table < tables_.size() ? tables_[table] : Learn(table); }
  Table Learn(TableId table);
  // Returns the table of a write. The write fails when there is no memory for the list of tables.
  Table FindToWrite(TableId table);
  void CheckRow(std::string_view key, std::string_view value) const;
  // Calls change(txn, key, value), which returns the library's code. `txn` is the write transaction
  // of the session's transaction; outside Begin and Commit it is a new one, which Write commits.
  // Throws Error when `change` fails.
  template <typename Change>
  void Write(std::string_view key, std::string_view value, const Change& change);
  // Ends the transaction, also when its commit fails. When another thread holds the transaction,
  // throws Error (kRun) and changes nothing.
  void EndTransaction(bool commit);
  // ReleaseGet releases the pages that Get has read. ReleaseAll also releases those of the cursors.
  void ReleaseGet() {
    snapshot_.Release();
    lent_ = {};
  }
  void ReleaseAll() {
    ReleaseGet();
    for (SnapshotCursor<Library>* walk : walks_) walk->Release();
  }
  // Returns `bytes`, the key or value of a write, in a place that the write does not move: copies
  // bytes that were read in the same write transaction to *copy.
  std::string_view Steady(std::string_view bytes, std::string* copy) const;
  // Returns the keys of a MultiGet in places that the next Refresh does not release: copies them if
  // one lies among the bytes that the last call has returned.
  std::span<const std::string_view> Steady(std::span<const std::string_view> keys);
  // Adds a value to those that MultiGet returns.
  void Lend(std::string_view value) {
    if (value.empty()) return;
    if (lent_.empty()) lent_ = value;
    const std::less<const char*> before;
    const char* const begin = before(value.data(), lent_.data()) ? value.data() : lent_.data();
    const char* const end = value.data() + value.size();
    const char* const lent_end = lent_.data() + lent_.size();
    lent_ = {begin, static_cast<size_t>((before(end, lent_end) ? lent_end : end) - begin)};
  }

  Environment* const env_;
  std::vector<Table> tables_;  // the library's handles by TableId; Learn adds new tables
  Snapshot snapshot_;          // used by Get
  // lent_ is the value that Get returned last, or the bytes from the first to the last of the
  // values that MultiGet returned.
  std::string_view lent_;
  bool in_transaction_ = false;
  bool failed_ = false;   // a write of the transaction has failed
  Txn* write_ = nullptr;  // set from the transaction's first write to its end
  std::string key_copy_, value_copy_;
  KeyCopies<std::string_view> multi_keys_;        // the keys of a MultiGet
  std::vector<SnapshotCursor<Library>*> walks_;   // all open cursors of the session
  std::vector<std::unique_ptr<Snapshot>> spare_;  // Snapshots of destroyed cursors, for new ones
};

template <typename Library>
class SnapshotCursor : public Cursor {
 public:
  using Session = SnapshotSession<Library>;
  using Handle = typename Library::Cursor;
  using Op = typename Library::Move;

  SnapshotCursor(Session* session, typename Library::Table table);
  ~SnapshotCursor() override;

  bool Seek(std::string_view key) override;
  bool SeekForPrev(std::string_view key) override;
  bool First() override { return Arrive(Ready(), Library::kFirst); }
  bool Last() override { return Arrive(Ready(), Library::kLast); }
  bool Next() override;
  bool Prev() override;
  std::string_view key() const override { return key_; }
  std::string_view value() const override { return value_; }

 private:
  friend class SnapshotSession<Library>;
  enum class State : uint8_t {
    kNowhere,
    kOnRow,
    kParked,  // the row's key is in parked_key_
  };
  // Returns the library's cursor on the state that the session sees now: on the open write
  // transaction, or else on the newest commit. The cursor has no position.
  Handle* Ready();
  // Move and Arrive move the library's cursor and return whether it found a row. When there is no
  // row, Arrive releases the snapshot, and Move keeps it for another try.
  bool Move(Handle* cursor, Op move, std::string_view key = {});
  bool Arrive(Handle* cursor, Op move, std::string_view key = {}) {
    return Move(cursor, move, key) || Nowhere();
  }
  bool Nowhere() {  // leaves the row; returns false
    state_ = State::kNowhere;
    Release();
    return false;
  }
  // Returns `key`. If it points into this cursor's own row, whose pages may be reused when Ready
  // releases them, copies it to parked_key_ first.
  std::string_view Wanted(std::string_view key) {
    if (!Session::Overlap(key, key_) && !Session::Overlap(key, value_)) return key;
    parked_key_ = key;
    return parked_key_;
  }
  // The session calls Park, Release, LeaveTransaction and Detach.
  void Park() {  // before a write: remembers the row's key
    if (state_ != State::kOnRow) return;
    parked_key_ = key_;
    state_ = State::kParked;
  }
  void Release() {  // after a write: releases the pages that were read
    snapshot_->Release();
    value_ = {};
    key_ = {};
  }
  // The session calls this before its transaction ends. It has called Park, which has remembered
  // the row unless there was no memory. In that case the cursor leaves the row.
  void LeaveTransaction() {
    if (state_ == State::kOnRow) state_ = State::kNowhere;
    if (on_write_ != nullptr) Library::Close(std::exchange(on_write_, nullptr));
    Release();
  }
  void Detach();  // the session's destructor calls it

  Session* session_;  // null after the session was destroyed
  const typename Library::Table table_;
  std::unique_ptr<typename Library::Snapshot> snapshot_;
  Handle* on_snapshot_ = nullptr;  // the library's cursor on snapshot_
  Handle* on_write_ = nullptr;     // the library's cursor on the write transaction
  Handle* at_ = nullptr;           // on_snapshot_ or on_write_: the one on the row
  State state_ = State::kNowhere;
  std::string parked_key_;
  std::string_view key_, value_;
};

template <typename Library>
typename Library::Table SnapshotSession<Library>::Learn(TableId table) {
  tables_ = env_->Tables();
  if (table >= tables_.size()) {
    throw Error(Error::kUsage, fmt::format("table {} of {} is not open", table, Library::kName));
  }
  return tables_[table];
}

template <typename Library>
typename Library::Table SnapshotSession<Library>::FindToWrite(TableId table) {
  try {
    return Find(table);
  } catch (const std::bad_alloc&) {
    failed_ = in_transaction_;
    throw;
  }
}

template <typename Library>
void SnapshotSession<Library>::CheckRow(std::string_view key, std::string_view value) const {
  const size_t longest = env_->longest_key();
  if (key.size() < Library::kShortestKey || key.size() > longest) {
    throw Error(Error::kUsage,
                fmt::format("{} takes keys of {} to {} bytes, not of {}", Library::kName,
                            Library::kShortestKey, longest, key.size()));
  }
  CheckValueSize(Library::kName, value.size(), env_->longest_value());
}

template <typename Library>
std::string_view SnapshotSession<Library>::Steady(std::string_view bytes, std::string* copy) const {
  // Without a write transaction, bytes that were read lie in pages of a commit, which the write
  // does not change.
  if (write_ == nullptr) return bytes;
  bool lent = Session::Overlap(bytes, lent_);
  for (const SnapshotCursor<Library>* walk : walks_) {
    lent = lent || Session::Overlap(bytes, walk->key_) || Session::Overlap(bytes, walk->value_);
  }
  if (!lent) return bytes;
  copy->assign(bytes);
  return *copy;
}

template <typename Library>
void SnapshotSession<Library>::EndTransaction(bool commit) {
  if (write_ != nullptr) env_->CheckWriter();
  in_transaction_ = false;
  const bool refused = std::exchange(failed_, false) && commit;
  ReleaseGet();
  if (write_ != nullptr) {
    Txn* const txn = std::exchange(write_, nullptr);
    try {
      for (SnapshotCursor<Library>* walk : walks_) walk->Park();
    } catch (...) {
      for (SnapshotCursor<Library>* walk : walks_) walk->LeaveTransaction();
      env_->AbortWrite(txn);
      throw;
    }
    for (SnapshotCursor<Library>* walk : walks_) walk->LeaveTransaction();
    commit && !refused ? env_->CommitWrite(txn) : env_->AbortWrite(txn);
  }
  if (refused) throw FailedBefore(Name());
}

template <typename Library>
bool SnapshotSession<Library>::Get(TableId table, std::string_view key, std::string_view* value) {
  const Table found_in = Find(table);
  key = Apart(key, lent_, &key_copy_);
  if (write_ == nullptr) snapshot_.Refresh();
  std::string_view found;
  const int code =
      Library::Get(write_ != nullptr ? write_ : snapshot_.txn(), found_in, key, &found);
  if (code == 0) {
    lent_ = *value = found;
    return true;
  }
  ReleaseGet();
  // A key of a size that the library refuses is in no row.
  if (code != Library::kNotFound && code != Library::kBadSize) env_->Fail(code, "reading a row");
  return false;
}

// Reads all keys in one snapshot. The values are bytes of its pages, as those of Get are.
template <typename Library>
void SnapshotSession<Library>::MultiGet(TableId table, std::span<const std::string_view> keys,
                                        std::vector<FoundRow>* rows) {
  // The next write of the write transaction may move what it has read, so the values must be
  // copies.
  if (write_ != nullptr) return Session::MultiGet(table, keys, rows);
  const Table found_in = Find(table);
  keys = Steady(keys);
  snapshot_.Refresh();
  lent_ = {};
  rows->resize(keys.size());
  bool any = false;
  for (size_t i = 0; i < keys.size(); ++i) {
    FoundRow row;
    const int code = Library::Get(snapshot_.txn(), found_in, keys[i], &row.value);
    row.found = code == 0;
    any |= row.found;
    if (row.found) Lend(row.value);
    (*rows)[i] = row;
    if (row.found || code == Library::kNotFound || code == Library::kBadSize) continue;
    ReleaseGet();
    env_->Fail(code, "reading a row");
  }
  if (!any) ReleaseGet();
}

template <typename Library>
std::span<const std::string_view> SnapshotSession<Library>::Steady(
    std::span<const std::string_view> keys) {
  const auto lent = [this](std::string_view key) { return Session::Overlap(key, lent_); };
  if (std::none_of(keys.begin(), keys.end(), lent)) return keys;
  multi_keys_.Take(keys);
  return multi_keys_.keys();
}

template <typename Library>
void SnapshotSession<Library>::TakeEach(TableId table, std::span<const std::string_view> keys,
                                        const TakeRow& take) {
  if (write_ != nullptr) return Session::TakeEach(table, keys, take);
  TakeEachOfMultiGet(table, keys, take);
}

template <typename Library>
template <typename Change>
void SnapshotSession<Library>::Write(std::string_view key, std::string_view value,
                                     const Change& change) {
  if (failed_) throw FailedBefore(Name());
  if (write_ != nullptr) env_->CheckWriter();
  try {
    key = Steady(key, &key_copy_);
    value = Steady(value, &value_copy_);
    for (SnapshotCursor<Library>* walk : walks_) walk->Park();
    // The key and value may be bytes that this session has read, so their pages are released only
    // after the write.
    struct Release {
      SnapshotSession* session;
      ~Release() { session->ReleaseAll(); }
    } release{this};
    Txn* txn = write_ != nullptr ? write_ : env_->BeginWrite();
    if (in_transaction_) write_ = txn;
    const int code = change(txn, key, value);
    if (code != 0 && !in_transaction_) env_->AbortWrite(txn);
    if (code != 0) env_->Fail(code, "writing a row");
    if (!in_transaction_) env_->CommitWrite(txn);
  } catch (...) {
    failed_ = in_transaction_;
    throw;
  }
}

template <typename Library>
void SnapshotSession<Library>::Put(TableId table, std::string_view key, std::string_view value) {
  CheckRow(key, value);
  const Table to = FindToWrite(table);
  Write(key, value, [to](Txn* txn, std::string_view row, std::string_view bytes) {
    return Library::Put(txn, to, row, bytes);
  });
}

template <typename Library>
void SnapshotSession<Library>::Erase(TableId table, std::string_view key) {
  const Table from = FindToWrite(table);
  Write(key, {}, [from](Txn* txn, std::string_view row, std::string_view) {
    const int code = Library::Erase(txn, from, row);
    return code == Library::kNotFound || code == Library::kBadSize ? 0 : code;
  });
}

template <typename Library>
SnapshotCursor<Library>::SnapshotCursor(Session* session, typename Library::Table table)
    : session_(session), table_(table) {
  if (session_->spare_.empty()) {
    snapshot_ = std::make_unique<typename Library::Snapshot>(session_->env_);
  } else {
    snapshot_ = std::move(session_->spare_.back());
    session_->spare_.pop_back();
  }
  session_->walks_.push_back(this);
}

template <typename Library>
SnapshotCursor<Library>::~SnapshotCursor() {
  if (session_ == nullptr) return;
  std::erase(session_->walks_, this);
  Session* const session = session_;
  std::unique_ptr<typename Library::Snapshot> snapshot = std::move(snapshot_);
  Detach();
  snapshot->Release();
  session->spare_.push_back(std::move(snapshot));
}

template <typename Library>
void SnapshotCursor<Library>::Detach() {
  if (on_snapshot_ != nullptr) Library::Close(on_snapshot_);
  if (on_write_ != nullptr) Library::Close(on_write_);
  on_snapshot_ = on_write_ = at_ = nullptr;
  state_ = State::kNowhere;
  snapshot_.reset();
  session_ = nullptr;
}

template <typename Library>
typename Library::Cursor* SnapshotCursor<Library>::Ready() {
  auto* const env = session_->env_;
  if (session_->write_ != nullptr) {
    if (on_write_ == nullptr) {
      env->Check(Library::Open(session_->write_, table_, &on_write_), "opening a cursor");
    }
    return on_write_;
  }
  const bool renewed = snapshot_->Refresh();
  if (on_snapshot_ == nullptr) {
    env->Check(Library::Open(snapshot_->txn(), table_, &on_snapshot_), "opening a cursor");
  } else if (renewed) {
    env->Check(Library::Renew(snapshot_->txn(), on_snapshot_), "opening a cursor");
  }
  return on_snapshot_;
}

template <typename Library>
bool SnapshotCursor<Library>::Move(Handle* cursor, Op move, std::string_view key) {
  std::string_view at = key, value;
  const int code = Library::MoveTo(cursor, move, &at, &value);
  if (code == Library::kNotFound) return false;
  if (code != 0) {
    Nowhere();
    session_->env_->Fail(code, "scanning");
  }
  at_ = cursor;
  state_ = State::kOnRow;
  key_ = at;
  value_ = value;
  return true;
}

template <typename Library>
bool SnapshotCursor<Library>::Seek(std::string_view key) {
  if (key.empty()) return First();
  const std::string_view wanted = Wanted(key);
  return Arrive(Ready(), Library::kFrom, wanted);
}

template <typename Library>
bool SnapshotCursor<Library>::SeekForPrev(std::string_view key) {
  if (key.size() < Library::kShortestKey) return Nowhere();
  const std::string_view wanted = Wanted(key);
  Handle* const cursor = Ready();
  if (!Move(cursor, Library::kFrom, wanted)) return Arrive(cursor, Library::kLast);
  return key_ == wanted || Arrive(cursor, Library::kPrev);
}

template <typename Library>
bool SnapshotCursor<Library>::Next() {
  if (state_ == State::kNowhere) return false;
  if (state_ == State::kOnRow) return Arrive(at_, Library::kNext);
  // If the row of the parked key was erased, kFrom already finds the next row.
  Handle* const cursor = Ready();
  if (!Move(cursor, Library::kFrom, parked_key_)) return Nowhere();
  return key_ != parked_key_ || Arrive(cursor, Library::kNext);
}

template <typename Library>
bool SnapshotCursor<Library>::Prev() {
  if (state_ == State::kNowhere) return false;
  if (state_ == State::kOnRow) return Arrive(at_, Library::kPrev);
  Handle* const cursor = Ready();
  return Arrive(cursor,
                Move(cursor, Library::kFrom, parked_key_) ? Library::kPrev : Library::kLast);
}

}  // namespace testbed

#endif  // TESTBED_ENGINES_DATA_FILE_SNAPSHOT_SESSION_H_
