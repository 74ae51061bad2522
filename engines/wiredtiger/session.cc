#include "engines/wiredtiger/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>
#include <utility>

#include "device/error.h"
#include "device/os/mutex.h"
#include "engines/failed_before.h"
#include "engines/wiredtiger/versions.h"

namespace testbed::wiredtiger {
namespace {

using Clock = std::chrono::steady_clock;

WT_ITEM Item(std::string_view bytes) {
  WT_ITEM item{};
  // WiredTiger takes an item with a null pointer for one that is not set, not for an empty one.
  item.data = bytes.data() != nullptr ? bytes.data() : "";
  item.size = bytes.size();
  return item;
}

std::string_view View(const WT_ITEM& item) {
  return {static_cast<const char*>(item.data), item.size};
}

}  // namespace

WT_SESSION* Database::OpenSession() {
  WT_SESSION* session = nullptr;
  errors.Check(connection->open_session(connection, nullptr, nullptr, &session),
               "opening a session");
  return session;
}

void Database::CheckTable(TableId table) {
  LockGuard lock(mutex);
  if (table < tables.size()) return;
  throw Error(Error::kUsage, fmt::format("table {} of wiredtiger is not open", table));
}

std::string Database::TableUri(TableId table) {
  CheckTable(table);
  LockGuard lock(mutex);
  return "table:" + tables[table];
}

void Database::NoteBackgroundFailure(const Error& error) {
  LockGuard lock(mutex);
  if (!failure) failure = error;
  failed.store(true, std::memory_order_release);
}

void Database::ThrowFailure() {
  LockGuard lock(mutex);
  throw Error(*failure);
}

WiredtigerSession::WiredtigerSession(Database* database)
    : database_(database), session_(database->OpenSession()) {
  thread_state.application = true;
}

WiredtigerSession::~WiredtigerSession() {
  thread_state.application = true;
  for (WiredtigerCursor* walk : walks_) walk->session_ = nullptr;
  if (in_transaction_) EndTransaction();
  // This call closes the session's WT_CURSORs. It fails only after a panic.
  session_->close(session_, nullptr);
}

WT_CURSOR* WiredtigerSession::OpenTableCursor(TableId table) {
  const std::string uri = database_->TableUri(table);
  if (table >= cursors_.size()) cursors_.resize(table + 1, nullptr);
  database_->errors.Check(
      session_->open_cursor(session_, uri.c_str(), nullptr, nullptr, &cursors_[table]),
      "opening " + uri);
  return cursors_[table];
}

WT_CURSOR* WiredtigerSession::TakeScanCursor(TableId table) {
  if (table < spare_.size() && spare_[table] != nullptr) {
    return std::exchange(spare_[table], nullptr);
  }
  const std::string uri = database_->TableUri(table);
  WT_CURSOR* cursor = nullptr;
  database_->errors.Check(session_->open_cursor(session_, uri.c_str(), nullptr, nullptr, &cursor),
                          "opening " + uri);
  if (table >= spare_.size()) spare_.resize(table + 1, nullptr);
  return cursor;
}

void WiredtigerSession::LeaveScanCursor(TableId table, WT_CURSOR* cursor) {
  if (spare_[table] != nullptr || cursor->reset(cursor) != 0) {
    cursor->close(cursor);
  } else {
    spare_[table] = cursor;
  }
}

void WiredtigerSession::Unpin() {
  WT_CURSOR* cursor = pinned_;
  pinned_ = nullptr;
  const int code = cursor->reset(cursor);
  if (code != 0) Fail(code, "releasing a page");
}

std::string WiredtigerSession::DoingAt(const char* verb, TableId table) {
  return std::string(verb) + " " + database_->TableUri(table);
}

void WiredtigerSession::Fail(int code, const std::string& doing) {
  // WiredTiger resets every cursor of the session after an error outside a transaction.
  for (WiredtigerCursor* walk : walks_) walk->state_ = WiredtigerCursor::State::kNowhere;
  if (code == WT_ROLLBACK) {
    const char* reason = session_->get_rollback_reason(session_);
    throw Error(Error::kRun, fmt::format("wiredtiger rolled back a transaction at {}: {}", doing,
                                         reason != nullptr ? reason : "conflict"));
  }
  database_->errors.Throw(code, doing);
}

void WiredtigerSession::Begin() {
  const Call call(this);
  Enter();
  const int code = session_->begin_transaction(session_, nullptr);
  if (code != 0) Fail(code, "beginning a transaction");
  in_transaction_ = true;
  writes_.Clear();
}

void WiredtigerSession::Commit() {
  const Call call(this);
  Enter();
  int code;
  try {
    database_->ThrowIfFailed();
    if (failed_) {
      for (WiredtigerCursor* walk : walks_) walk->Park();
      throw FailedBefore("wiredtiger");
    }
    for (WiredtigerCursor* walk : walks_) walk->CopyKey();
    // If a commit returns WT_ROLLBACK, it has ended the transaction and has reset WiredTiger's
    // cursors. Replay begins a new transaction.
    while ((code = session_->commit_transaction(session_, nullptr)) == WT_ROLLBACK) {
      for (WiredtigerCursor* walk : walks_) walk->ParkAtCopy();
      Replay("committing a transaction");
    }
  } catch (...) {
    failed_ = false;
    if (std::exchange(in_transaction_, false)) EndTransaction();
    throw;
  }
  in_transaction_ = false;
  if (code != 0) Fail(code, "committing a transaction");
  database_->errors.CheckDurable("committing a transaction");
}

// Rolls the transaction back. After a panic WiredTiger refuses that, and closing the connection
// would then wait for ever for the transaction's end (__wt_txn_activity_drain in 11.3). This then
// commits: the commit is refused, too, but ends the transaction by a rollback.
//
// A rollback resets WiredTiger's cursors, and a cursor that was reset begins its walk anew.
int WiredtigerSession::EndTransaction() {
  for (WiredtigerCursor* walk : walks_) walk->ParkOrLeave();
  const int code = session_->rollback_transaction(session_, nullptr);
  if (code == WT_PANIC) session_->commit_transaction(session_, nullptr);
  return code;
}

void WiredtigerSession::Rollback() {
  const Call call(this);
  Enter();
  in_transaction_ = failed_ = false;
  try {
    for (WiredtigerCursor* walk : walks_) walk->Park();
  } catch (...) {
    EndTransaction();
    throw;
  }
  const int code = EndTransaction();
  if (code != 0) Fail(code, "rolling a transaction back");
}

bool WiredtigerSession::Get(TableId table, std::string_view key, std::string_view* value) {
  const Call call(this);
  key = Apart(key, lent_, &key_copy_);
  Enter();
  WT_CURSOR* cursor = TableCursor(table);
  WT_ITEM item = Item(key);
  for (;;) {
    cursor->set_key(cursor, &item);
    int code = cursor->search(cursor);
    if (code == 0) {
      WT_ITEM found;
      code = cursor->get_value(cursor, &found);
      if (code == 0) {
        pinned_ = cursor;
        lent_ = *value = View(found);
        return true;
      }
    }
    if (code == WT_NOTFOUND) return false;
    // A transaction in which a write has failed stays failed: after a replay it could commit.
    if (code != WT_ROLLBACK || !in_transaction_ || failed_) Fail(code, DoingAt("reading", table));
    Replay("reading in a transaction");
  }
}

int WiredtigerSession::Apply(const WriteBuffer::Write& write) {
  WT_CURSOR* cursor = TableCursor(write.table);
  WT_ITEM key = Item(write.key);
  cursor->set_key(cursor, &key);
  if (write.erase) {
    const int code = cursor->remove(cursor);
    return code == WT_NOTFOUND ? 0 : code;
  }
  WT_ITEM value = Item(write.value);
  cursor->set_value(cursor, &value);
  return cursor->insert(cursor);
}

void WiredtigerSession::Do(const WriteBuffer::Write& write) {
  const Call call(this);
  // A write to a table that is not open is refused before it can harm the transaction.
  if (write.table >= cursors_.size() || cursors_[write.table] == nullptr) {
    database_->CheckTable(write.table);
  }
  if (failed_) throw FailedBefore("wiredtiger");
  try {
    Enter();
    database_->ThrowIfFailed();
    const int code = Apply(write);
    if (in_transaction_) writes_.Add(write);
    if (code == 0) {
      // Outside a transaction, the write is committed by now.
      if (!in_transaction_) database_->errors.CheckDurable("committing a write");
      return;
    }
    if (code != WT_ROLLBACK || !in_transaction_) Fail(code, DoingAt("writing", write.table));
    Replay("writing in a transaction");
  } catch (...) {
    failed_ = in_transaction_;
    throw;
  }
}

void WiredtigerSession::Put(TableId table, std::string_view key, std::string_view value) {
  CheckKeySize("wiredtiger", key.size(), kLongestKey);
  CheckValueSize("wiredtiger", value.size(), kLongestValue);
  Do({table, false, Apart(key, lent_, &key_copy_), Apart(value, lent_, &value_copy_)});
}

void WiredtigerSession::Erase(TableId table, std::string_view key) {
  Do({table, true, Apart(key, lent_, &key_copy_), {}});
}

void WiredtigerSession::RollbackKeepingPositions() {
  for (WiredtigerCursor* walk : walks_) walk->Park();
  // The result is dropped, because this fails when a commit has already ended the transaction.
  EndTransaction();
}

void WiredtigerSession::Replay(const char* doing) {
  failed_ = true;  // until all writes are repeated
  const auto deadline =
      Clock::now() + std::chrono::milliseconds(database_->settings.conflict_wait_ms);
  for (int attempt = 1;; ++attempt) {
    RollbackKeepingPositions();
    // The pause grows with each attempt, so that the other transaction gets the processor.
    std::this_thread::sleep_for(std::chrono::microseconds(std::min(50 * attempt, 5000)));
    int code = session_->begin_transaction(session_, nullptr);
    for (size_t i = 0; code == 0 && i < writes_.size(); ++i) code = Apply(writes_.at(i));
    if (code == 0) {
      failed_ = false;
      return;
    }
    if (code != WT_ROLLBACK) Fail(code, doing);
    if (Clock::now() >= deadline) {
      Fail(code, fmt::format("{} of {} writes and {} bytes, {} times within conflict_wait_ms",
                             doing, writes_.size(), writes_.bytes(), attempt));
    }
  }
}

std::unique_ptr<Cursor> WiredtigerSession::NewCursor(TableId table) {
  const Call call(this);
  Enter();  // the new cursor must not read by the snapshot of the last Get
  return std::make_unique<WiredtigerCursor>(this, table);
}

bool WiredtigerSession::BlockCounts(uint64_t* requests, uint64_t* misses) {
  *requests = 0;
  *misses = data_reads_;
  return true;
}

WiredtigerCursor::WiredtigerCursor(WiredtigerSession* session, TableId table)
    : session_(session), table_(table), cursor_(session->TakeScanCursor(table)) {
  session_->walks_.push_back(this);
}

WiredtigerCursor::~WiredtigerCursor() {
  if (session_ == nullptr) return;
  std::erase(session_->walks_, this);
  session_->LeaveScanCursor(table_, cursor_);
}

void WiredtigerCursor::Park() {
  CopyKey();
  ParkAtCopy();
}

void WiredtigerCursor::CopyKey() {
  if (state_ == State::kOnRow) parked_key_ = key();
}

void WiredtigerCursor::ParkAtCopy() {
  if (state_ == State::kOnRow) state_ = State::kParked;
}

void WiredtigerCursor::ParkOrLeave() {
  try {
    Park();
  } catch (const std::bad_alloc&) {
    state_ = State::kNowhere;
  }
}

bool WiredtigerCursor::Arrive(int code) {
  state_ = State::kNowhere;
  if (code == 0) code = GetRow(cursor_, &key_, &value_);
  if (code == WT_NOTFOUND) return false;
  if (code != 0) session_->Fail(code, session_->DoingAt("scanning", table_));
  state_ = State::kOnRow;
  return true;
}

bool WiredtigerCursor::Near(bool forward) {
  WT_ITEM item = Item(parked_key_);
  cursor_->set_key(cursor_, &item);
  int where = 0;
  int code = cursor_->search_near(cursor_, &where);
  if (code == 0 && forward && where < 0) code = cursor_->next(cursor_);
  if (code == 0 && !forward && where > 0) code = cursor_->prev(cursor_);
  return Arrive(code);
}

bool WiredtigerCursor::ToKey(std::string_view key, bool forward) {
  const WiredtigerSession::Call call(session_);
  // The key may lie in the page of the last Get or of the cursor's own row, which this releases.
  parked_key_ = key;
  session_->EnterToPosition();
  return Near(forward);
}

bool WiredtigerCursor::Seek(std::string_view key) { return ToKey(key, true); }
bool WiredtigerCursor::SeekForPrev(std::string_view key) { return ToKey(key, false); }

bool WiredtigerCursor::ToEnd(Move move) {
  const WiredtigerSession::Call call(session_);
  session_->EnterToPosition();
  const int code = cursor_->reset(cursor_);
  return Arrive(code != 0 ? code : move(cursor_));
}

bool WiredtigerCursor::First() { return ToEnd(cursor_->next); }
bool WiredtigerCursor::Last() { return ToEnd(cursor_->prev); }

bool WiredtigerCursor::Step(Move move, bool forward) {
  if (state_ == State::kNowhere) return false;
  const WiredtigerSession::Call call(session_);
  if (state_ == State::kParked) {
    // The value of the last Get stays valid, as it does during every other step.
    if (!Near(forward)) return false;
    // If the rollback undid the row, Near has already moved to a neighbour.
    if (key() != parked_key_) return true;
  }
  return Arrive(move(cursor_));
}

bool WiredtigerCursor::Next() { return Step(cursor_->next, true); }
bool WiredtigerCursor::Prev() { return Step(cursor_->prev, false); }

}  // namespace testbed::wiredtiger
