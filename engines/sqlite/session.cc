#include "engines/sqlite/session.h"

#include <fmt/format.h>

#include <exception>
#include <utility>

#include "device/error.h"
#include "engines/failed_before.h"

namespace testbed::sqlite {

SqliteSession::SqliteSession(Database* database)
    : database_(database),
      reader_(database->TakeReader()),
      reader_before_(reader_->LockedCounts()) {}

SqliteSession::~SqliteSession() {
  for (SqliteCursor* cursor : cursors_) {
    cursor->Stop();
    cursor->session_ = nullptr;
  }
  if (writer_ != nullptr) {
    try {
      EndTransaction(false);
    } catch (const std::exception&) {
      // A destructor cannot report an error.
    }
  }
  database_->GiveReader(reader_);
}

void SqliteSession::CheckTable(TableId table) const {
  if (table < database_->table_count()) return;
  throw Error(Error::kUsage, fmt::format("table {} of sqlite is not open", table));
}

void SqliteSession::Begin() {
  if (in_transaction_) throw Error(Error::kRun, "sqlite: Begin inside a transaction");
  in_transaction_ = true;
}

void SqliteSession::Commit() {
  if (!in_transaction_) throw Error(Error::kRun, "sqlite: Commit without Begin");
  EndTransaction(true);
}

void SqliteSession::Rollback() {
  if (!in_transaction_) throw Error(Error::kRun, "sqlite: Rollback without Begin");
  EndTransaction(false);
}

void SqliteSession::EndWrite(bool committed) {
  const Connection::Counts now = writer_->LockedCounts();
  writes_.hits += now.hits - writer_before_.hits;
  writes_.misses += now.misses - writer_before_.misses;
  writer_ = nullptr;
  database_->EndWrite(committed);
}

void SqliteSession::EndTransaction(bool commit) {
  in_transaction_ = false;
  const bool failed = std::exchange(failed_, false);
  if (commit && failed) {
    EndTransaction(false);
    throw FailedBefore("sqlite");
  }
  if (writer_ == nullptr) return;
  try {
    ParkCursors();
    Connection::Call call(writer_);
    commit ? writer_->Commit() : writer_->Rollback();
  } catch (...) {
    {
      Connection::Call call(writer_);
      // If a cursor finds no memory for its row's key, it leaves the row. Otherwise it would read
      // on in the next writer's transaction.
      for (SqliteCursor* cursor : cursors_) cursor->Leave();
      try {
        writer_->Rollback();
      } catch (const std::exception&) {
        // The first error is thrown, and later ones are dropped.
      }
    }
    EndWrite(false);
    throw;
  }
  EndWrite(commit);
}

bool SqliteSession::Get(TableId table, std::string_view key, std::string_view* value) {
  Use();
  Connection* connection = Reader();
  Connection::Call call(connection);
  CheckTable(table);
  Statement get = connection->Take(table, Query::kGet);
  get.BindBlob(1, key);
  const bool found = get.Step("reading a row");
  try {
    if (found) value_ = get.Column(0);
  } catch (...) {
    // A statement that stays on its row keeps the state of the database that it has read.
    connection->Give(get);
    throw;
  }
  connection->Give(get);
  if (found) *value = value_;
  return found;
}

void SqliteSession::ParkCursors() {
  for (SqliteCursor* cursor : cursors_) cursor->Park();
}

std::string_view SqliteSession::Steady(std::string_view bytes, std::string* copy) const {
  bool lent = false;
  for (const SqliteCursor* cursor : cursors_) {
    lent = lent || Overlap(bytes, cursor->key_) || Overlap(bytes, cursor->value_);
  }
  if (!lent) return bytes;
  copy->assign(bytes);
  return *copy;
}

void SqliteSession::Write(TableId table, Query query, std::string_view key,
                          const std::string_view* value) {
  CheckTable(table);
  // After a failed write, SQLite may have rolled the whole transaction back. Later writes would
  // then be transactions of their own.
  if (failed_) throw FailedBefore("sqlite");
  Use();
  const bool first = writer_ == nullptr;
  try {
    key = Steady(key, &key_copy_);
    const std::string_view bytes =
        value == nullptr ? std::string_view() : Steady(*value, &value_copy_);
    ParkCursors();
    if (first) {
      writer_ = database_->BeginWrite();
      writer_before_ = writer_->LockedCounts();
    }
    Connection::Call call(writer_);
    if (first && in_transaction_) writer_->Begin();
    Statement write = writer_->Take(table, query);
    write.BindBlob(1, key);
    if (value != nullptr) write.BindBlob(2, bytes);
    write.Step("writing a row");
    writer_->Give(std::move(write));
  } catch (...) {
    failed_ = in_transaction_;
    if (!in_transaction_ && writer_ != nullptr) EndWrite(false);
    throw;
  }
  if (!in_transaction_) EndWrite(true);
}

void SqliteSession::Put(TableId table, std::string_view key, std::string_view value) {
  CheckKeySize("sqlite", key.size(), kLongestKey);
  CheckValueSize("sqlite", value.size(), LongestValue());
  Write(table, Query::kPut, key, &value);
}

void SqliteSession::Erase(TableId table, std::string_view key) {
  Write(table, Query::kErase, key, nullptr);
}

std::unique_ptr<Cursor> SqliteSession::NewCursor(TableId table) {
  CheckTable(table);
  return std::make_unique<SqliteCursor>(this, table);
}

bool SqliteSession::BlockCounts(uint64_t* requests, uint64_t* misses) {
  // SQLite does not count the pages that it reads in the mapping.
  if (database_->settings().io == IoMode::kMmap) return false;
  const Connection::Counts now = reader_->LockedCounts();
  const uint64_t hits = now.hits - reader_before_.hits + writes_.hits;
  *misses = now.misses - reader_before_.misses + writes_.misses;
  *requests = hits + *misses;
  return true;
}

SqliteCursor::SqliteCursor(SqliteSession* session, TableId table)
    : session_(session), table_(table) {
  session_->cursors_.push_back(this);
}

SqliteCursor::~SqliteCursor() {
  if (session_ == nullptr) return;
  Stop();
  std::erase(session_->cursors_, this);
}

void SqliteCursor::Stop() {
  state_ = State::kNowhere;
  key_ = value_ = {};
  if (!statement_) return;
  Connection* connection = statement_.connection();
  Connection::Call call(connection);
  connection->Give(std::exchange(statement_, Statement()));
}

void SqliteCursor::Park() {
  if (state_ != State::kOnRow) return;
  parked_key_ = key_;
  Stop();
  state_ = State::kParked;
}

void SqliteCursor::Leave() {
  if (state_ != State::kOnRow) return;
  state_ = State::kNowhere;
  key_ = value_ = {};
  statement_.Reset();
}

bool SqliteCursor::Start(Query query, std::string_view key) {
  bound_key_ = key;  // before Stop, as `key` may be this cursor's own key
  Stop();
  Connection* connection = session_->Reader();
  {
    Connection::Call call(connection);
    statement_ = connection->Take(table_, query);
    if (query != Query::kLast) statement_.BindBlob(1, bound_key_);
  }
  return Step();
}

bool SqliteCursor::Step() {
  session_->Use();
  {
    Connection::Call call(statement_.connection());
    state_ = State::kNowhere;  // remains so if Step throws
    if (statement_.Step("scanning")) {
      key_ = statement_.Column(0);
      value_ = statement_.Column(1);
      state_ = State::kOnRow;
      return true;
    }
  }
  Stop();
  return false;
}

bool SqliteCursor::Next() {
  if (state_ == State::kNowhere) return false;
  if (state_ == State::kParked) return Start(Query::kAfter, parked_key_);
  return Down(statement_.query()) ? Start(Query::kAfter, key_) : Step();
}

bool SqliteCursor::Prev() {
  if (state_ == State::kNowhere) return false;
  if (state_ == State::kParked) return Start(Query::kBefore, parked_key_);
  return Down(statement_.query()) ? Step() : Start(Query::kBefore, key_);
}

}  // namespace testbed::sqlite
