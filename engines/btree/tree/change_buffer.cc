#include "engines/btree/tree/change_buffer.h"

#include "device/error.h"
#include "device/os/mutex.h"
#include "engines/btree/tree/cursor.h"

namespace testbed::btree {
namespace {

constexpr size_t kTableBytes = 4;
// This is the longest row, key and value together, that the buffer takes, in bytes: buffering a
// longer row saves little of the read of its leaf.
constexpr size_t kMostRow = 512;

[[noreturn]] void ThrowNoRow(const std::string& what) {
  throw Error(Error::kCorruption, "the btree's change buffer has an impossible row (" + what +
                                      "): restore the database from a copy, or load it again");
}

}  // namespace

ChangeBuffer::ChangeBuffer(Tree* tree, uint32_t tables, uint64_t most_bytes, uint32_t page_size)
    : tree_(tree), most_bytes_(most_bytes), page_size_(page_size), counts_(tables) {}

uint32_t ChangeBuffer::TableOf(std::string_view key) const {
  if (key.size() < kTableBytes) ThrowNoRow("its key is too short");
  uint32_t table = 0;
  for (size_t i = 0; i < kTableBytes; ++i) table = table << 8 | static_cast<uint8_t>(key[i]);
  if (table >= counts_.size()) ThrowNoRow("of table " + std::to_string(table));
  return table;
}

bool ChangeBuffer::IsErased(std::string_view value) {
  if (value.empty() || (value.front() != 'e' && value.front() != 'p')) ThrowNoRow("its value");
  return value.front() == 'e';
}

std::string ChangeBuffer::KeyOf(uint32_t table, std::string_view key) {
  std::string whole(kTableBytes, '\0');
  for (size_t i = 0; i < kTableBytes; ++i) whole[i] = static_cast<char>(table >> (8 * (3 - i)));
  whole.append(key);
  return whole;
}

void ChangeBuffer::Count(uint32_t table, int64_t rows, int64_t bytes) {
  counts_[table].fetch_add(static_cast<uint64_t>(rows), std::memory_order_acq_rel);
  rows_.fetch_add(static_cast<uint64_t>(rows), std::memory_order_relaxed);
  bytes_.fetch_add(static_cast<uint64_t>(bytes), std::memory_order_relaxed);
}

void ChangeBuffer::Load(TreeContext* context) {
  TreeCursor cursor(tree_, context, page_size_);
  for (bool on = cursor.SeekForward({}, false); on; on = cursor.Next()) {
    Count(TableOf(cursor.key()), 1,
          static_cast<int64_t>(cursor.key().size() + cursor.value().size()));
  }
}

bool ChangeBuffer::Takes(const LeafWrite& row) const {
  return !row.value.overflow && row.key.size() + row.value.bytes.size() <= kMostRow &&
         row.key.size() + kTableBytes <= MaxKeySize(page_size_);
}

bool ChangeBuffer::Find(TreeContext* context, const Tree* target, std::string_view key,
                        bool* erased, std::string* value) const {
  if (!Knows(target->table())) return false;
  if (!tree_->Get(context, KeyOf(target->table(), key), value)) return false;
  *erased = IsErased(*value);
  value->erase(0, 1);
  return true;
}

void ChangeBuffer::Write(TreeContext* context, Tree* target, const LeafWrite& row) {
  if (most_bytes() == 0 || !Takes(row) || target->LeafInPool(context, row.key)) {
    WriteThrough(context, target, row);
  } else {
    Keep(context, target, row);
  }
}

void ChangeBuffer::Keep(TreeContext* context, const Tree* target, const LeafWrite& row) {
  const std::string key = KeyOf(target->table(), row.key);
  std::string value(1, row.erase ? 'e' : 'p');
  if (!row.erase) value.append(row.value.bytes);
  std::string before;
  const bool known = Knows(target->table()) && tree_->Get(context, key, &before);
  if (!known) before.clear();
  // The row is counted before it is written, so that Knows never hides a row that is in the buffer.
  const int64_t rows = known ? 0 : 1;
  const auto bytes = static_cast<int64_t>(value.size() + (known ? 0 : key.size())) -
                     static_cast<int64_t>(before.size());
  Count(target->table(), rows, bytes);
  try {
    tree_->Write(context, {key, false, {value, false}});
  } catch (...) {
    Count(target->table(), -rows, -bytes);
    throw;
  }
  rows_buffered_.fetch_add(1, std::memory_order_relaxed);
}

void ChangeBuffer::WriteThrough(TreeContext* context, Tree* target, const LeafWrite& row) {
  target->Write(context, row);
  TakeOut(context, target, row.key);
}

void ChangeBuffer::TakeOut(TreeContext* context, const Tree* target, std::string_view key) {
  const bool knows = Knows(target->table());
  if (!knows && !context->recovers) return;
  const std::string whole = KeyOf(target->table(), key);
  std::string before;
  const bool found = knows && tree_->Get(context, whole, &before);
  if (!found && !context->recovers) return;
  if (found) moves_.fetch_add(1, std::memory_order_acq_rel);
  tree_->Write(context, {whole, true, {}});
  if (!found) return;
  Count(target->table(), -1, -static_cast<int64_t>(whole.size() + before.size()));
}

std::vector<BufferedRow> ChangeBuffer::RowsBetween(TreeContext* context, uint32_t table,
                                                   std::string_view low,
                                                   std::optional<std::string_view> high,
                                                   size_t most_bytes) const {
  std::vector<BufferedRow> rows;
  if (!Knows(table)) return rows;
  size_t bytes = 0;
  TreeCursor cursor(tree_, context, page_size_);
  for (bool on = cursor.SeekForward(KeyOf(table, low), false); on && bytes < most_bytes;
       on = cursor.Next()) {
    if (TableOf(cursor.key()) != table) break;
    const std::string_view key = cursor.key().substr(kTableBytes);
    if (high && key >= *high) break;
    rows.push_back(
        {IsErased(cursor.value()), std::string(key), std::string(cursor.value().substr(1))});
    bytes += cursor.key().size() + cursor.value().size();
  }
  return rows;
}

bool ChangeBuffer::NextRow(TreeContext* context, uint32_t* table, std::string* key) {
  LockGuard lock(next_mutex_);
  TreeCursor cursor(tree_, context, page_size_);
  if (!cursor.SeekForward(next_, false) && !cursor.SeekForward({}, false)) return false;
  *table = TableOf(cursor.key());
  key->assign(cursor.key().substr(kTableBytes));
  next_.assign(cursor.key());
  next_.push_back('\0');  // the next call returns a later row, mostly of another leaf
  return true;
}

}  // namespace testbed::btree
