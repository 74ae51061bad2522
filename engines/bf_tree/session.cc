#include "engines/bf_tree/session.h"

#include <algorithm>
#include <utility>

#include "device/error.h"
#include "engines/bf_tree/bf_tree_engine.h"

namespace testbed::bf_tree {
namespace {

constexpr uint64_t kMostRows = 256;  // the most rows that a cursor copies at once

Error FailedBefore() {
  return Error(Error::kRun,
               "bf-tree: a write of this transaction has failed before; what it wrote before that "
               "is kept, because bf-tree has no transactions");
}

// A ReadCount adds the pages that this thread reads during its lifetime to `reads`.
class ReadCount {
 public:
  explicit ReadCount(uint64_t* reads) : reads_(reads), before_(Host::ReadsOfThisThread()) {}
  ~ReadCount() { *reads_ += Host::ReadsOfThisThread() - before_; }
  ReadCount(const ReadCount&) = delete;
  ReadCount& operator=(const ReadCount&) = delete;

 private:
  uint64_t* const reads_;
  const uint64_t before_;
};

}  // namespace

BfTreeSession::BfTreeSession(BfTreeEngine* engine)
    : engine_(engine), member_(engine->gate()), tables_(&engine->tables(), "bf-tree") {}

void BfTreeSession::Begin() {
  if (in_transaction_) throw Error(Error::kUsage, "bf-tree: Begin inside a transaction");
  in_transaction_ = true;
}

void BfTreeSession::Commit() {
  if (!in_transaction_) throw Error(Error::kUsage, "bf-tree: Commit without Begin");
  in_transaction_ = wrote_ = false;
  if (std::exchange(failed_, false)) throw FailedBefore();
}

void BfTreeSession::Rollback() {
  if (!in_transaction_) throw Error(Error::kUsage, "bf-tree: Rollback without Begin");
  in_transaction_ = failed_ = false;
  if (!std::exchange(wrote_, false)) return;
  throw Error(Error::kUsage,
              "bf-tree has no transactions: what this one has written cannot be rolled back");
}

bool BfTreeSession::Get(TableId table, std::string_view key, std::string_view* value) {
  const Table& from = tables_.Find(table);
  if (key.size() > kLongestKey) return false;  // no row has such a key
  key_.assign(from.prefix).append(key);
  const ReadCount count(&misses_);
  const Gate::Turn turn(&member_);
  return engine_->tree().Get(key_, &value_, value);
}

void BfTreeSession::CheckSizes(std::string_view key, std::string_view value) const {
  const size_t longest = engine_->tree().longest_record() - kTablePrefix - 1;
  if (key.size() <= kLongestKey && key.size() + value.size() <= longest) return;
  throw Error(Error::kUsage, "bf-tree takes keys of up to " + std::to_string(kLongestKey) +
                                 " bytes and, with this --page-size, key and value of up to " +
                                 std::to_string(longest) + " bytes together, not a key of " +
                                 std::to_string(key.size()) + " and a value of " +
                                 std::to_string(value.size()));
}

template <typename Change>
void BfTreeSession::Write(TableId table, std::string_view key, std::string_view value,
                          const Change& change) {
  if (failed_) throw FailedBefore();
  const ReadCount count(&misses_);
  try {
    const std::string& prefix = tables_.Find(table).prefix;
    CheckSizes(key, value);
    engine_->host().ThrowIfFailed();
    key_.assign(prefix).append(key);
    {
      const Gate::Turn turn(&member_);
      change();
      engine_->NoteChange();
    }
    ++changes_;
    wrote_ = in_transaction_;
    engine_->host().ThrowIfFailed();  // the write may have evicted a page, and that may have failed
  } catch (const Error& error) {
    // A write that is refused (kUsage) has changed nothing, and the transaction goes on.
    failed_ = in_transaction_ && error.kind() != Error::kUsage;
    throw;
  } catch (...) {
    failed_ = in_transaction_;
    throw;
  }
}

void BfTreeSession::Put(TableId table, std::string_view key, std::string_view value) {
  Write(table, key, value, [&] { engine_->tree().Put(key_, Encoded(value, &encoded_)); });
}

void BfTreeSession::Erase(TableId table, std::string_view key) {
  Write(table, key, {}, [&] { engine_->tree().Erase(key_); });
}

std::unique_ptr<Cursor> BfTreeSession::NewCursor(TableId table) {
  return std::make_unique<BfTreeCursor>(this, table);
}

bool BfTreeSession::BlockCounts(uint64_t* requests, uint64_t* misses) {
  *requests = 0;  // Bf-Tree does not count requests
  *misses = misses_;
  return true;
}

void BfTreeCursor::Scan(std::string_view start, std::string_view end, uint32_t most, Rows* rows) {
  session_->engine_->tree().Scan(start, end, most, rows);
}

void BfTreeCursor::SetStart(std::string_view key, bool beyond) {
  // `key` may be bytes of rows_, so it is copied before rows_ changes.
  start_.assign(table_.prefix).append(key.substr(0, kLongestKey + 1));
  // A key that was cut to kLongestKey + 1 bytes is itself above all rows up to `key`, because no
  // row has a key of that length.
  if (beyond && key.size() <= kLongestKey) start_.push_back('\0');
}

void BfTreeCursor::Position() {
  wanted_ = std::exchange(announced_, 0);
  batch_ = 1;
}

bool BfTreeCursor::Forward() {
  on_row_ = false;
  const uint64_t most = std::min(wanted_ > 0 ? wanted_ : batch_, kMostRows);
  batch_ = static_cast<uint32_t>(std::min<uint64_t>(uint64_t{batch_} * 4, kMostRows));
  const ReadCount count(&session_->misses_);
  const Gate::Turn turn(&session_->member_);
  seen_changes_ = session_->changes_;
  Scan(start_, table_.end, static_cast<uint32_t>(most), &rows_);
  wanted_ -= std::min<uint64_t>(wanted_, rows_.count());
  at_ = 0;
  at_end_ = rows_.ended();
  return on_row_ = rows_.count() > 0;
}

bool BfTreeCursor::Backward() {
  on_row_ = false;
  const ReadCount count(&session_->misses_);
  const Gate::Turn turn(&session_->member_);
  seen_changes_ = session_->changes_;
  at_end_ = false;
  if (!FindBefore(
          this, {.prefix = table_.prefix, .bound = start_, .most = 64, .longest_key = kMaxKeyBytes},
          &rows_, &spare_)) {
    return false;
  }
  at_ = rows_.count() - 1;
  return on_row_ = true;
}

bool BfTreeCursor::Seek(std::string_view key) {
  SetStart(key, /*beyond=*/false);
  Position();
  return Forward();
}

bool BfTreeCursor::SeekForPrev(std::string_view key) {
  SetStart(key, /*beyond=*/true);
  Position();
  return Backward();
}

bool BfTreeCursor::First() {
  start_ = table_.prefix;
  Position();
  return Forward();
}

bool BfTreeCursor::Last() {
  start_ = table_.end;
  Position();
  return Backward();
}

bool BfTreeCursor::Next() {
  if (!on_row_) return false;
  if (IsFresh()) {
    if (at_ + 1 < rows_.count()) {
      ++at_;
      return true;
    }
    if (at_end_) return on_row_ = false;
  }
  SetStart(key(), /*beyond=*/true);
  return Forward();
}

bool BfTreeCursor::Prev() {
  if (!on_row_) return false;
  if (IsFresh() && at_ > 0) {
    --at_;
    return true;
  }
  SetStart(key(), /*beyond=*/false);
  return Backward();
}

}  // namespace testbed::bf_tree
