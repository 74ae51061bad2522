#include "engines/lmdb/session.h"

#include <fmt/format.h>

#include <functional>
#include <utility>

#include "device/error.h"

namespace testbed::lmdb {
namespace {

// MDB_val has a pointer to non-const bytes, but LMDB does not write to keys and values it is given.
MDB_val ToVal(std::string_view bytes) {
  return {bytes.size(), const_cast<char*>(bytes.data() != nullptr ? bytes.data() : "")};
}

std::string_view ToView(const MDB_val& val) {
  return {static_cast<const char*>(val.mv_data), val.mv_size};
}

bool Overlap(std::string_view a, std::string_view b) {
  const std::less<const char*> before;
  return !a.empty() && !b.empty() && before(a.data(), b.data() + b.size()) &&
         before(b.data(), a.data() + a.size());
}

}  // namespace

LmdbSession::LmdbSession(Environment* env) : env_(env), snapshot_(env) {}

LmdbSession::~LmdbSession() {
  for (LmdbCursor* walk : walks_) walk->Detach();
  if (write_ != nullptr) env_->AbortWrite(write_);
}

MDB_dbi LmdbSession::LearnTable(TableId table) {
  tables_ = env_->Tables();
  if (table >= tables_.size()) {
    throw Error(Error::kUsage, fmt::format("table {} of lmdb is not open", table));
  }
  return tables_[table];
}

void LmdbSession::CheckRow(std::string_view key, std::string_view value) const {
  const size_t longest = env_->longest_key();
  if (key.empty() || key.size() > longest) {
    throw Error(Error::kUsage,
                fmt::format("lmdb takes keys of 1 to {} bytes, not of {}", longest, key.size()));
  }
  if (value.size() > UINT32_MAX) {
    throw Error(Error::kUsage, fmt::format("lmdb takes values of up to {} bytes, not of {}",
                                           UINT32_MAX, value.size()));
  }
}

void LmdbSession::ReleaseAll() {
  ReleaseGet();
  for (LmdbCursor* walk : walks_) walk->Release();
}

std::string_view LmdbSession::Steady(std::string_view bytes, std::string* copy) const {
  // Without a write transaction, read bytes lie in pages of a commit, which the write does not
  // change.
  if (write_ == nullptr) return bytes;
  bool lent = Overlap(bytes, lent_);
  for (const LmdbCursor* walk : walks_) {
    lent = lent || Overlap(bytes, walk->key_) || Overlap(bytes, walk->value_);
  }
  if (!lent) return bytes;
  copy->assign(bytes);
  return *copy;
}

void LmdbSession::Begin() {
  if (in_transaction_) throw Error(Error::kRun, "lmdb: Begin inside a transaction");
  in_transaction_ = true;
  ReleaseGet();
}

void LmdbSession::Commit() {
  if (!in_transaction_) throw Error(Error::kRun, "lmdb: Commit without Begin");
  EndTransaction(true);
}

void LmdbSession::Rollback() {
  if (!in_transaction_) throw Error(Error::kRun, "lmdb: Rollback without Begin");
  EndTransaction(false);
}

void LmdbSession::EndTransaction(bool commit) {
  if (write_ != nullptr) env_->CheckWriter();
  in_transaction_ = false;
  ReleaseGet();
  if (write_ == nullptr) return;
  for (LmdbCursor* walk : walks_) walk->LeaveTransaction();
  MDB_txn* const txn = std::exchange(write_, nullptr);
  commit ? env_->CommitWrite(txn) : env_->AbortWrite(txn);
}

bool LmdbSession::Get(TableId table, std::string_view key, std::string_view* value) {
  const MDB_dbi dbi = Table(table);
  if (write_ == nullptr) snapshot_.Refresh();
  MDB_val wanted = ToVal(key), found;
  const int code = ::mdb_get(write_ != nullptr ? write_ : snapshot_.txn(), dbi, &wanted, &found);
  if (code == 0) {
    lent_ = *value = ToView(found);
    return true;
  }
  ReleaseGet();
  // MDB_BAD_VALSIZE: no row can have a key of this size.
  if (code != MDB_NOTFOUND && code != MDB_BAD_VALSIZE) env_->Fail(code, "reading a row");
  return false;
}

template <typename Change>
void LmdbSession::Write(Change&& change) {
  if (write_ != nullptr) env_->CheckWriter();
  for (LmdbCursor* walk : walks_) walk->Park();
  // The key and value may be bytes that this session has read, so their pages are released only
  // after the write.
  struct Release {
    LmdbSession* session;
    ~Release() { session->ReleaseAll(); }
  } release{this};
  MDB_txn* txn = write_ != nullptr ? write_ : env_->BeginWrite();
  if (in_transaction_) write_ = txn;
  const int code = change(txn);
  if (code != 0 && !in_transaction_) env_->AbortWrite(txn);
  if (code != 0) env_->Fail(code, "writing a row");
  if (!in_transaction_) env_->CommitWrite(txn);
}

void LmdbSession::Put(TableId table, std::string_view key, std::string_view value) {
  CheckRow(key, value);
  const MDB_dbi dbi = Table(table);
  MDB_val k = ToVal(Steady(key, &key_copy_)), v = ToVal(Steady(value, &value_copy_));
  Write([&](MDB_txn* txn) { return ::mdb_put(txn, dbi, &k, &v, 0); });
}

void LmdbSession::Erase(TableId table, std::string_view key) {
  const MDB_dbi dbi = Table(table);
  MDB_val k = ToVal(Steady(key, &key_copy_));
  Write([&](MDB_txn* txn) {
    const int code = ::mdb_del(txn, dbi, &k, nullptr);
    return code == MDB_NOTFOUND || code == MDB_BAD_VALSIZE ? 0 : code;
  });
}

std::unique_ptr<Cursor> LmdbSession::NewCursor(TableId table) {
  ReleaseGet();
  return std::make_unique<LmdbCursor>(this, Table(table));
}

LmdbCursor::LmdbCursor(LmdbSession* session, MDB_dbi table) : session_(session), table_(table) {
  if (session_->spare_.empty()) {
    snapshot_ = std::make_unique<Snapshot>(session_->env_);
  } else {
    snapshot_ = std::move(session_->spare_.back());
    session_->spare_.pop_back();
  }
  session_->walks_.push_back(this);
}

LmdbCursor::~LmdbCursor() {
  if (session_ == nullptr) return;
  std::erase(session_->walks_, this);
  LmdbSession* const session = session_;
  std::unique_ptr<Snapshot> snapshot = std::move(snapshot_);
  Detach();
  snapshot->Release();
  session->spare_.push_back(std::move(snapshot));
}

void LmdbCursor::Detach() {
  if (on_snapshot_ != nullptr) ::mdb_cursor_close(on_snapshot_);
  if (on_write_ != nullptr) ::mdb_cursor_close(on_write_);
  on_snapshot_ = on_write_ = at_ = nullptr;
  state_ = State::kNowhere;
  snapshot_.reset();
  session_ = nullptr;
}

void LmdbCursor::Park() {
  if (state_ != State::kOnRow) return;
  parked_key_ = key_;
  state_ = State::kParked;
}

void LmdbCursor::Release() {
  snapshot_->Release();
  value_ = {};
  key_ = {};
}

void LmdbCursor::LeaveTransaction() {
  Park();
  if (on_write_ != nullptr) ::mdb_cursor_close(std::exchange(on_write_, nullptr));
  Release();
}

MDB_cursor* LmdbCursor::Ready() {
  Environment* const env = session_->env_;
  if (session_->write_ != nullptr) {
    if (on_write_ == nullptr) {
      env->Check(::mdb_cursor_open(session_->write_, table_, &on_write_), "opening a cursor");
    }
    return on_write_;
  }
  const bool renewed = snapshot_->Refresh();
  if (on_snapshot_ == nullptr) {
    env->Check(::mdb_cursor_open(snapshot_->txn(), table_, &on_snapshot_), "opening a cursor");
  } else if (renewed) {
    env->Check(::mdb_cursor_renew(snapshot_->txn(), on_snapshot_), "opening a cursor");
  }
  return on_snapshot_;
}

bool LmdbCursor::Nowhere() {
  state_ = State::kNowhere;
  Release();
  return false;
}

bool LmdbCursor::Move(MDB_cursor* cursor, MDB_cursor_op move, std::string_view key) {
  MDB_val at = ToVal(key), value;
  const int code = ::mdb_cursor_get(cursor, &at, &value, move);
  if (code == MDB_NOTFOUND) return false;
  if (code != 0) {
    Nowhere();
    session_->env_->Fail(code, "scanning");
  }
  at_ = cursor;
  state_ = State::kOnRow;
  key_ = ToView(at);
  value_ = ToView(value);
  return true;
}

std::string_view LmdbCursor::Wanted(std::string_view key) {
  if (!Overlap(key, key_)) return key;
  parked_key_ = key;
  return parked_key_;
}

bool LmdbCursor::Seek(std::string_view key) {
  if (key.empty()) return First();
  const std::string_view wanted = Wanted(key);
  return Arrive(Ready(), MDB_SET_RANGE, wanted);
}

bool LmdbCursor::SeekForPrev(std::string_view key) {
  if (key.empty()) return Nowhere();
  const std::string_view wanted = Wanted(key);
  MDB_cursor* const cursor = Ready();
  if (!Move(cursor, MDB_SET_RANGE, wanted)) return Arrive(cursor, MDB_LAST);
  return key_ == wanted || Arrive(cursor, MDB_PREV);
}

bool LmdbCursor::Next() {
  if (state_ == State::kNowhere) return false;
  if (state_ == State::kOnRow) return Arrive(at_, MDB_NEXT);
  // If the row of the parked key was erased, MDB_SET_RANGE already finds the next row.
  MDB_cursor* const cursor = Ready();
  if (!Move(cursor, MDB_SET_RANGE, parked_key_)) return Nowhere();
  return key_ != parked_key_ || Arrive(cursor, MDB_NEXT);
}

bool LmdbCursor::Prev() {
  if (state_ == State::kNowhere) return false;
  if (state_ == State::kOnRow) return Arrive(at_, MDB_PREV);
  MDB_cursor* const cursor = Ready();
  return Arrive(cursor, Move(cursor, MDB_SET_RANGE, parked_key_) ? MDB_PREV : MDB_LAST);
}

}  // namespace testbed::lmdb
