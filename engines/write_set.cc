#include "engines/write_set.h"

#include <algorithm>
#include <cstring>
#include <tuple>

namespace testbed {
namespace {

bool Precedes(const RowWrite& row, TableId table, std::string_view key) {
  return std::tie(row.table, row.key) < std::tie(table, key);
}

}  // namespace

WriteSet::WriteSet() : slots_(64) {}

size_t WriteSet::SlotOf(uint64_t hash, TableId table, std::string_view key) const {
  const size_t mask = slots_.size() - 1;
  for (size_t at = hash & mask;; at = (at + 1) & mask) {
    if (slots_[at] == 0) return at;
    const RowWrite& row = rows_[slots_[at] - 1];
    if (row.hash == hash && row.table == table && row.key == key) return at;
  }
}

void WriteSet::Rehash(size_t slots) {
  slots_.assign(slots, 0);
  for (uint32_t i = 0; i < rows_.size(); ++i) {
    slots_[SlotOf(rows_[i].hash, rows_[i].table, rows_[i].key)] = i + 1;
  }
}

std::string_view WriteSet::Copy(std::string_view bytes) {
  if (bytes.empty()) return {};
  while (block_ < blocks_.size() && used_ + bytes.size() > blocks_[block_].size) {
    ++block_;
    used_ = 0;
  }
  if (block_ == blocks_.size()) {
    const size_t size = std::max(kBlock, bytes.size());
    blocks_.push_back({std::make_unique_for_overwrite<char[]>(size), size});
    used_ = 0;
  }
  char* to = blocks_[block_].bytes.get() + used_;
  std::memcpy(to, bytes.data(), bytes.size());
  used_ += bytes.size();
  return {to, bytes.size()};
}

void WriteSet::Set(TableId table, std::string_view key, bool erase, std::string_view value) {
  const uint64_t hash = RowHash(table, key);
  const size_t slot = SlotOf(hash, table, key);
  if (slots_[slot] != 0) {
    RowWrite& row = rows_[slots_[slot] - 1];
    row.erase = erase;
    if (value.size() <= row.value.size()) {
      // The old value is overwritten, so that writing a row over and over takes no more memory. The
      // new value may overlap the old one: a caller may pass what Find returned.
      char* to = const_cast<char*>(row.value.data());
      if (!value.empty()) std::memmove(to, value.data(), value.size());
      row.value = {to, value.size()};
    } else {
      row.value = Copy(value);
    }
    return;
  }
  rows_.push_back({erase, table, Copy(key), Copy(value), hash});
  slots_[slot] = static_cast<uint32_t>(rows_.size());
  if (2 * rows_.size() > slots_.size()) Rehash(4 * slots_.size());
}

const RowWrite* WriteSet::Find(TableId table, std::string_view key) const {
  const uint32_t row = slots_[SlotOf(RowHash(table, key), table, key)];
  return row == 0 ? nullptr : &rows_[row - 1];
}

void WriteSet::Clear() {
  constexpr size_t kKeptSlots = 16384, kKeptBlocks = 16;
  if (slots_.size() > kKeptSlots) {
    // This asks for memory only to give back more, and shrink_to_fit throws nothing.
    slots_.assign(kKeptSlots, 0);
    slots_.shrink_to_fit();
    std::vector<RowWrite>().swap(rows_);
    std::vector<uint32_t>().swap(sorted_);
  } else if (rows_.size() * 8 > slots_.size()) {
    std::fill(slots_.begin(), slots_.end(), 0);
  } else {
    // Slots are emptied from the last row to the first: the search for a row's slot passes the
    // slots of rows that were inserted before it, and would end at an emptied one.
    for (size_t i = rows_.size(); i-- > 0;) {
      slots_[SlotOf(rows_[i].hash, rows_[i].table, rows_[i].key)] = 0;
    }
  }
  rows_.clear();
  sorted_.clear();
  // Blocks that were made for a single long value are freed.
  if (blocks_.size() > kKeptBlocks) blocks_.resize(kKeptBlocks);
  std::erase_if(blocks_, [](const Block& block) { return block.size > kBlock; });
  block_ = used_ = 0;
}

const std::vector<uint32_t>& WriteSet::Sorted() const {
  const size_t had = sorted_.size();
  if (had == rows_.size()) return sorted_;
  // All memory is reserved before the loop. If a push_back threw, the rows added so far would pass
  // for sorted ones in the next call.
  sorted_.reserve(rows_.capacity());
  for (size_t i = had; i < rows_.size(); ++i) sorted_.push_back(static_cast<uint32_t>(i));
  const auto less = [this](uint32_t a, uint32_t b) {
    return Precedes(rows_[a], rows_[b].table, rows_[b].key);
  };
  const auto middle = sorted_.begin() + static_cast<ptrdiff_t>(had);
  std::sort(middle, sorted_.end(), less);
  std::inplace_merge(sorted_.begin(), middle, sorted_.end(), less);
  return sorted_;
}

size_t WriteSet::Position(TableId table, std::string_view key, bool beyond) const {
  const std::vector<uint32_t>& sorted = Sorted();
  const auto at = std::partition_point(sorted.begin(), sorted.end(), [&](uint32_t i) {
    const RowWrite& row = rows_[i];
    return Precedes(row, table, key) || (beyond && row.table == table && row.key == key);
  });
  return static_cast<size_t>(at - sorted.begin());
}

const RowWrite* WriteSet::At(size_t position, TableId table) const {
  if (position >= Sorted().size()) return nullptr;
  const RowWrite& row = rows_[Sorted()[position]];
  return row.table == table ? &row : nullptr;
}

const RowWrite* WriteSet::After(TableId table, std::string_view key, bool beyond) const {
  return At(Position(table, key, beyond), table);
}

// No row precedes position 0. 0 - 1 wraps to a position beyond the last, for which At returns null.
const RowWrite* WriteSet::Before(TableId table, std::string_view key, bool beyond) const {
  return At(Position(table, key, !beyond) - 1, table);
}

const RowWrite* WriteSet::Last(TableId table) const {
  return At(Position(table + 1, {}, false) - 1, table);
}

}  // namespace testbed
