#include "engines/fractal/session.h"

#include <optional>

#include "device/error.h"
#include "engines/failed_before.h"

namespace testbed::fractal {
namespace {

void CheckRow(std::string_view key, std::string_view value) {
  if (key.size() > kMaxKeySize) {
    throw Error(Error::kUsage, "a key of " + std::to_string(key.size()) +
                                   " bytes is too long for fractal, which takes " +
                                   std::to_string(kMaxKeySize));
  }
  if (value.size() > kMaxValueSize) {
    throw Error(Error::kUsage, "a value of " + std::to_string(value.size()) +
                                   " bytes is too long for fractal, which takes " +
                                   std::to_string(kMaxValueSize));
  }
}

}  // namespace

void FractalSession::Begin() {
  if (in_transaction_) throw Error(Error::kRun, "fractal: Begin inside a transaction");
  in_transaction_ = true;
}

void FractalSession::Commit() {
  if (!in_transaction_) throw Error(Error::kRun, "fractal: Commit without Begin");
  in_transaction_ = false;
  if (failed_) {
    DropWrites();
    throw FailedBefore("fractal");
  }
  try {
    std::vector<Message> messages;
    operations_.clear();
    for (const auto& [table, writes] : state_.writes) {
      messages.clear();
      writes.Range({}, std::nullopt, &messages);
      for (const Message& m : messages) operations_.push_back({m.erase, table, m.key, m.value});
    }
    client_.Commit(operations_);
  } catch (...) {
    DropWrites();
    throw;
  }
  DropWrites();
}

void FractalSession::Rollback() {
  if (!in_transaction_) throw Error(Error::kRun, "fractal: Rollback without Begin");
  in_transaction_ = false;
  DropWrites();
}

bool FractalSession::Get(TableId table, std::string_view key, std::string_view* value) {
  const Tree* tree = Table(table);
  if (const MessageBuffer* writes = in_transaction_ ? state_.WritesOf(table) : nullptr) {
    if (const std::optional<Message> write = writes->Find(key)) {
      value_.assign(write->value);
      *value = value_;
      return !write->erase;
    }
  }
  const bool found = client_.Get(tree, key, &value_);
  *value = value_;
  return found;
}

void FractalSession::Put(TableId table, std::string_view key, std::string_view value) {
  CheckRow(key, value);
  Write({false, table, key, value});
}

void FractalSession::Erase(TableId table, std::string_view key) { Write({true, table, key, {}}); }

Tree* FractalSession::Table(TableId table) const {
  Tree* tree = store_->Table(table);
  if (tree == nullptr) {
    throw Error(Error::kUsage, "fractal: table " + std::to_string(table) + " was not opened");
  }
  return tree;
}

void FractalSession::Write(const RowWrite& row) {
  Table(row.table);
  if (failed_) throw FailedBefore("fractal");
  if (row.key.size() > kMaxKeySize) return;  // an erase, which has no row to erase
  ++state_.epoch;
  if (!in_transaction_) {
    client_.Commit({&row, 1});
    return;
  }
  const uint64_t most = store_->options().transaction_bytes;
  if (written_ + kMessageOverhead + row.key.size() + row.value.size() > most) {
    throw Error(Error::kUsage, "a transaction of fractal may write " + std::to_string(most) +
                                   " bytes, and this one would write more: commit its rows in "
                                   "several transactions");
  }
  try {
    MessageBuffer& writes = state_.writes[row.table];
    const size_t before = writes.bytes();
    writes.Add({0, row.erase, row.key, row.value});
    written_ += writes.bytes() - before;
  } catch (...) {
    failed_ = true;  // the buffer may or may not have the row
    throw;
  }
}

void FractalSession::DropWrites() {
  ++state_.epoch;
  written_ = 0;
  failed_ = false;
  for (auto& [table, writes] : state_.writes) writes.Clear();
}

}  // namespace testbed::fractal
