// What a transaction has written and not committed: the last write of each row.
//
// Rows are kept in the order of their first writes, with a hash table over them; their order by key
// is made when a cursor asks for it. Memory is kept for the next transaction, so that in the steady
// state nothing is allocated.
#ifndef TESTBED_ENGINES_WRITE_SET_H_
#define TESTBED_ENGINES_WRITE_SET_H_

#include <xxhash.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "engines/engine.h"

namespace testbed {

// 64 bits for a row; never 0.
inline uint64_t RowHash(TableId table, std::string_view key) {
  return std::max<uint64_t>(1, XXH3_64bits_withSeed(key.data(), key.size(), table));
}

// One write of a row: its new value, or that it is erased.
struct RowWrite {
  bool erase = false;
  TableId table = 0;
  std::string_view key, value;
  uint64_t hash = 0;  // of the row; 0 = not known
};

class WriteSet {
 public:
  WriteSet();
  bool empty() const { return rows_.empty(); }

  // Copies key and value, which may be those of a row of the set.
  void Set(TableId table, std::string_view key, bool erase, std::string_view value);
  // The row's last write; null when it has none. Valid until the next Set or Clear, the bytes that
  // it refers to until the row is written again.
  const RowWrite* Find(TableId table, std::string_view key) const;
  void Clear();
  // In the order of first writes, with their hashes. Valid until the next Set or Clear.
  const std::vector<RowWrite>& rows() const { return rows_; }

  // By table and key; valid until the next Set or Clear.
  const std::vector<uint32_t>& Sorted() const;
  // The position in Sorted of the first row at or after (`beyond`: after) the key.
  size_t Position(TableId table, std::string_view key, bool beyond) const;

  // The table's first write at or after (`beyond`: after) the key, its last one at or before
  // (`beyond`: before) it, and its last one; null when there is none. Valid as those of Find.
  const RowWrite* After(TableId table, std::string_view key, bool beyond) const;
  const RowWrite* Before(TableId table, std::string_view key, bool beyond) const;
  const RowWrite* Last(TableId table) const;

 private:
  static constexpr size_t kBlock = 64 << 10;
  size_t SlotOf(uint64_t hash, TableId table, std::string_view key) const;
  void Rehash(size_t slots);
  std::string_view Copy(std::string_view bytes);
  const RowWrite* At(size_t position, TableId table) const;

  std::vector<RowWrite> rows_;
  std::vector<uint32_t> slots_;           // row + 1; 0 = empty. A power of two, at most half full.
  mutable std::vector<uint32_t> sorted_;  // the first so many rows are in it
  // Blocks of bytes; the ones after `block_` are unused.
  struct Block {
    std::unique_ptr<char[]> bytes;
    size_t size;
  };
  std::vector<Block> blocks_;
  size_t block_ = 0, used_ = 0;
};

}  // namespace testbed

#endif  // TESTBED_ENGINES_WRITE_SET_H_
