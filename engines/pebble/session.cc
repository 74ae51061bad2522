#include "engines/pebble/session.h"

#include <algorithm>
#include <new>
#include <utility>

#include "device/error.h"
#include "engines/failed_before.h"
#include "engines/pebble/pebble_engine.h"
#include "engines/pebble/settings.h"

namespace testbed::pebble {

bool SessionHandle::Get(std::string_view key, std::string_view* value) {
  PebbleBytes found{};
  if (!Library::Run("reading a row", [&](char** error) {
        return calls_.pebble_get(session_, ToBytes(key), &found, error);
      })) {
    return false;
  }
  *value = ToView(found);
  return true;
}

void SessionHandle::Put(std::string_view key, std::string_view value) {
  Library::Run("putting a row", [&](char** error) {
    return calls_.pebble_put(session_, ToBytes(key), ToBytes(value), error);
  });
}

void SessionHandle::Erase(std::string_view key) {
  Library::Run("erasing a row",
               [&](char** error) { return calls_.pebble_erase(session_, ToBytes(key), error); });
}

uint64_t SessionHandle::Commit() {
  uint64_t bytes = 0;
  Library::Run("committing",
               [&](char** error) { return calls_.pebble_commit(session_, &bytes, error); });
  return bytes;
}

PebbleSession::PebbleSession(PebbleEngine* engine)
    : engine_(engine), handle_(engine->db()), tables_(&engine->tables(), "pebble") {}

PebbleSession::~PebbleSession() {
  for (PebbleCursor* cursor : cursors_) cursor->Detach();
}

const Table& PebbleSession::TableToWrite(TableId table) {
  try {
    return tables_.Find(table);
  } catch (const std::bad_alloc&) {
    failed_ = in_transaction_;
    throw;
  }
}

void PebbleSession::Begin() {
  if (in_transaction_) throw Error(Error::kUsage, "pebble: Begin inside a transaction");
  in_transaction_ = true;
}

void PebbleSession::Commit() {
  if (!in_transaction_) throw Error(Error::kUsage, "pebble: Commit without Begin");
  in_transaction_ = false;
  if (std::exchange(failed_, false)) {
    ParkCursors();
    DropWrites();
    throw FailedBefore("pebble");
  }
  CommitWrites();
}

void PebbleSession::Rollback() {
  if (!in_transaction_) throw Error(Error::kUsage, "pebble: Rollback without Begin");
  in_transaction_ = failed_ = false;
  ParkCursors();
  DropWrites();
}

void PebbleSession::DropWrites() {
  for (PebbleCursor* cursor : cursors_) cursor->Leave();
  wrote_ = false;
  handle_.Rollback();
}

void PebbleSession::ParkCursors() {
  try {
    for (PebbleCursor* cursor : cursors_) cursor->Park();
  } catch (...) {
    DropWrites();
    throw;
  }
}

void PebbleSession::CommitWrites() {
  if (!wrote_) return;
  ParkCursors();
  try {
    engine_->CheckLazySync();
  } catch (...) {
    DropWrites();  // otherwise the next commit would have these writes, too
    throw;
  }
  wrote_ = false;
  engine_->Committed(handle_.Commit());
}

template <typename Change>
void PebbleSession::Write(const Change& change) {
  if (failed_) throw FailedBefore("pebble");
  try {
    // The bytes may belong to a cursor's row. So the cursors are parked after `change` has copied
    // the bytes.
    change();
    for (PebbleCursor* cursor : cursors_) cursor->Park();
  } catch (...) {
    failed_ = in_transaction_;
    if (!in_transaction_) handle_.Rollback();  // no cursor reads the row, so it can be dropped
    throw;
  }
  wrote_ = true;
  if (!in_transaction_) CommitWrites();
}

bool PebbleSession::Get(TableId table, std::string_view key, std::string_view* value) {
  return handle_.Get(KeyIn(tables_.Find(table), key), value);
}

void PebbleSession::MultiGet(TableId id, std::span<const std::string_view> keys,
                             std::vector<FoundRow>* rows) {
  const Table& table = tables_.Find(id);
  multi_keys_.Take(keys, table.prefix);
  multi_values_.resize(keys.size());
  rows->resize(keys.size());
  if (keys.empty()) return;
  Library::Run("reading rows", [&](char** error) {
    return handle_.calls().pebble_multi_get(handle_.handle(), multi_keys_.keys().data(),
                                            keys.size(), multi_values_.data(), error);
  });
  for (size_t i = 0; i < keys.size(); ++i) {
    const bool found = multi_values_[i].data != nullptr;
    (*rows)[i] = {found, found ? ToView(multi_values_[i]) : std::string_view()};
  }
}

void PebbleSession::Put(TableId table, std::string_view key, std::string_view value) {
  CheckKeySize("pebble", key.size(), kLongestKey);
  CheckValueSize("pebble", value.size(), kLongestValue);
  const Table& to = TableToWrite(table);
  Write([&] { handle_.Put(KeyIn(to, key), value); });
}

void PebbleSession::Erase(TableId table, std::string_view key) {
  const Table& from = TableToWrite(table);
  Write([&] { handle_.Erase(KeyIn(from, key)); });
}

std::unique_ptr<Cursor> PebbleSession::NewCursor(TableId table) {
  return std::make_unique<PebbleCursor>(this, table);
}

PebbleCursor::PebbleCursor(PebbleSession* session, TableId table)
    : session_(session), table_(session->tables_.Find(table)) {
  session_->cursors_.push_back(this);
}

PebbleCursor::~PebbleCursor() {
  if (session_ == nullptr) return;
  if (!Library::InForkedChild()) Leave();
  std::erase(session_->cursors_, this);
}

void PebbleCursor::Detach() {
  if (!Library::InForkedChild()) Leave();
  session_ = nullptr;
}

void PebbleCursor::Park() {
  if (iterator_ == 0) return;
  if (on_row_) parked_key_.assign(table_.prefix).append(key_);
  session_->handle_.calls().pebble_end_iterator(iterator_);
  iterator_ = 0;
  parked_ = true;
  key_ = value_ = {};
  ForgetFetched();
}

void PebbleCursor::Leave() {
  if (iterator_ == 0) return;
  on_row_ = false;
  Park();
}

void PebbleCursor::Renew() {
  const uint64_t now = session_->engine_->commits();
  const bool own = session_->wrote_;
  if (iterator_ != 0 && now == commits_ && own == over_own_writes_) return;
  const Calls& calls = session_->handle_.calls();
  if (iterator_ != 0) calls.pebble_end_iterator(iterator_);
  iterator_ = 0;
  commits_ = now;
  over_own_writes_ = own;
  Library::Run("beginning to scan", [&](char** error) {
    return calls.pebble_new_iterator(session_->handle_.handle(), ToBytes(table_.prefix),
                                     ToBytes(table_.end), &iterator_, error);
  });
}

bool PebbleCursor::Move(PebbleMove move, std::string_view key) {
  PebbleBytes row{}, value{};
  on_row_ = parked_ = is_ahead_ = at_end_ = false;
  stands_ = 0;
  ForgetFetched();
  if (!Library::Run("reading a row", [&](char** error) {
        return session_->handle_.calls().pebble_move(iterator_, move, ToBytes(key), &row, &value,
                                                     error);
      })) {
    return false;
  }
  key_ = ToView(row).substr(table_.prefix.size());
  value_ = ToView(value);
  return on_row_ = true;
}

// The key may be that of the row on which this cursor stands. So KeyIn has copied it before Renew
// ends the iterator that owns it.
bool PebbleCursor::Position(PebbleMove move, std::string_view key) {
  wanted_ = announced_;
  announced_ = 0;
  fetch_ = 1;
  Renew();
  const bool found = Move(move, key);
  if (wanted_ > 0) --wanted_;
  return found;
}

bool PebbleCursor::Seek(std::string_view key) {
  return Position(PEBBLE_SEEK, session_->KeyIn(table_, key));
}
bool PebbleCursor::SeekForPrev(std::string_view key) {
  return Position(PEBBLE_SEEK_FOR_PREV, session_->KeyIn(table_, key));
}
bool PebbleCursor::First() { return Position(PEBBLE_FIRST); }
bool PebbleCursor::Last() { return Position(PEBBLE_LAST); }

void PebbleCursor::Fetch() {
  constexpr uint64_t kMostRows = 256;
  constexpr size_t kBytes = 64 << 10;
  const auto most = static_cast<uint32_t>(std::min(wanted_ > 0 ? wanted_ : fetch_, kMostRows));
  fetch_ = std::min<uint32_t>(fetch_ * 4, kMostRows);
  bytes_.resize(kBytes);
  sizes_.resize(2 * kMostRows);
  ForgetFetched();
  bytes_at_ = 0;
  is_ahead_ = true;
  on_row_ = false;  // remains so if this throws: the row may be in bytes_
  at_end_ = !Library::Run("reading rows", [&](char** error) {
    return session_->handle_.calls().pebble_next_rows(iterator_, most, bytes_.data(), bytes_.size(),
                                                      sizes_.data(), &fetched_, &stands_, error);
  });
}

bool PebbleCursor::NextFetched() {
  if (at_ == fetched_ && !at_end_) Fetch();
  if (wanted_ > 0) --wanted_;
  if (at_ < fetched_) {
    const char* const row = bytes_.data() + bytes_at_;
    const uint32_t key = sizes_[2 * at_], value = sizes_[2 * at_ + 1];
    key_ = std::string_view(row, key).substr(table_.prefix.size());
    value_ = {row + key, value};
    bytes_at_ += size_t{key} + value;
    ++at_;
    return on_row_ = true;
  }
  if (!at_end_) return Move(PEBBLE_STAY);  // the next row is too long for bytes_
  return on_row_ = false;
}

bool PebbleCursor::Unpark(PebbleMove seek) {
  Renew();
  return Move(seek, parked_key_) &&
         key_ == std::string_view(parked_key_).substr(table_.prefix.size());
}

bool PebbleCursor::Next() {
  if (!on_row_) return false;
  // If the row was erased meanwhile, the search has already moved to the next row.
  if (parked_ && !Unpark(PEBBLE_SEEK)) return on_row_;
  return NextFetched();
}

bool PebbleCursor::Prev() {
  if (!on_row_) return false;
  if (parked_) {
    if (!Unpark(PEBBLE_SEEK_FOR_PREV)) return on_row_;
  } else if (is_ahead_) {
    parked_key_.assign(table_.prefix).append(key_);
    if (!Move(PEBBLE_SEEK_FOR_PREV, parked_key_)) return false;
  }
  return Move(PEBBLE_PREV);
}

}  // namespace testbed::pebble
