#include "engines/mmapv1/session.h"

#include <fmt/format.h>

#include <utility>

#include "device/error.h"
#include "engines/failed_before.h"

namespace testbed::mmapv1 {

void Mmapv1Session::Begin() {
  if (in_transaction_) throw Error(Error::kRun, "mmapv1: Begin inside a transaction");
  in_transaction_ = true;
}

void Mmapv1Session::Commit() {
  if (!in_transaction_) throw Error(Error::kRun, "mmapv1: Commit without Begin");
  in_transaction_ = false;
  struct Clear {
    WriteSet* writes;
    ~Clear() { writes->Clear(); }
  } clear{&writes_};
  if (std::exchange(failed_, false)) throw FailedBefore("mmapv1");
  store_->Apply(writes_);
}

void Mmapv1Session::Rollback() {
  if (!in_transaction_) throw Error(Error::kRun, "mmapv1: Rollback without Begin");
  in_transaction_ = failed_ = false;
  writes_.Clear();
}

bool Mmapv1Session::Get(TableId table, std::string_view key, std::string_view* value) {
  if (const RowWrite* own = writes_.empty() ? nullptr : writes_.Find(table, key)) {
    if (own->erase) return false;
    *value = own->value;
    return true;
  }
  if (!store_->Get(table, key, &value_)) return false;
  *value = value_;
  return true;
}

void Mmapv1Session::Write(TableId table, std::string_view key, bool erase, std::string_view value) {
  store_->CheckTable(table);
  if (failed_) throw FailedBefore("mmapv1");
  if (key.empty() || key.size() > kMaxKeySize) return;  // an erase, which has no row to erase
  try {
    writes_.Set(table, key, erase, value);
  } catch (...) {
    failed_ = in_transaction_;  // the write set may or may not have the row
    throw;
  }
  if (in_transaction_) return;
  in_transaction_ = true;
  Commit();
}

void Mmapv1Session::Put(TableId table, std::string_view key, std::string_view value) {
  if (key.empty() || key.size() > kMaxKeySize) {
    throw Error(Error::kUsage, fmt::format("mmapv1 takes keys of 1 to {} bytes, not of {}",
                                           kMaxKeySize, key.size()));
  }
  CheckValueSize("mmapv1", value.size(), kMaxValueSize);
  Write(table, key, false, value);
}

void Mmapv1Session::Erase(TableId table, std::string_view key) { Write(table, key, true, {}); }

std::unique_ptr<Cursor> Mmapv1Session::NewCursor(TableId table) {
  store_->CheckTable(table);
  return std::make_unique<Mmapv1Cursor>(this, table);
}

bool Mmapv1Cursor::FromStore(Motion motion, std::string_view key) {
  // The hint is about the row that the store returned last. That is not always the row on which the
  // cursor stands.
  if (hint_key_ != key) hint_.version = 0;
  if (!session_->store_->Move(table_, motion, key, &hint_, &next_key_, &next_value_)) return false;
  hint_key_ = next_key_;
  return true;
}

bool Mmapv1Cursor::StandOn(const RowWrite* own) {
  on_row_ = true;
  if (own == nullptr) {
    std::swap(key_, next_key_);
    std::swap(value_, next_value_);
  } else {
    key_ = own->key;
    value_ = own->value;
  }
  return true;
}

bool Mmapv1Cursor::Forward(Motion motion, std::string_view key) {
  sought_ = key;
  const WriteSet& writes = session_->writes_;
  for (;;) {
    const bool there = FromStore(motion, sought_);
    const RowWrite* own =
        writes.empty() ? nullptr : writes.After(table_, sought_, motion == Motion::kAfter);
    if (own == nullptr || (there && next_key_ < own->key)) {
      if (there) return StandOn(nullptr);
      return on_row_ = false;
    }
    if (!own->erase) return StandOn(own);
    sought_ = own->key;
    motion = Motion::kAfter;
  }
}

bool Mmapv1Cursor::Backward(Motion motion, std::string_view key) {
  sought_ = key;
  const WriteSet& writes = session_->writes_;
  for (;;) {
    const bool there = FromStore(motion, sought_);
    const RowWrite* own = nullptr;
    if (!writes.empty()) {
      own = motion == Motion::kLast ? writes.Last(table_)
                                    : writes.Before(table_, sought_, motion == Motion::kBefore);
    }
    if (own == nullptr || (there && next_key_ > own->key)) {
      if (there) return StandOn(nullptr);
      return on_row_ = false;
    }
    if (!own->erase) return StandOn(own);
    sought_ = own->key;
    motion = Motion::kBefore;
  }
}

}  // namespace testbed::mmapv1
