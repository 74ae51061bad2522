// What a transaction has written and not committed: the last write of each row.
//
// Rows are kept in the order of their first writes, with a hash table over them; their order by key
// is made when a cursor asks for it. Memory is kept for the next transaction, so that in the steady
// state nothing is allocated.
#ifndef TESTBED_ENGINES_BTREE_WRITE_SET_H_
#define TESTBED_ENGINES_BTREE_WRITE_SET_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "engines/btree/redo.h"

namespace testbed::btree {

class WriteSet {
 public:
  WriteSet();
  bool empty() const { return rows_.empty(); }

  // Copies key and value.
  void Set(uint32_t table, std::string_view key, bool erase, std::string_view value);
  // The row's last write; null when it has none. Valid until the next Set or Clear, the bytes that
  // it refers to until the row is written again.
  const RowOp* Find(uint32_t table, std::string_view key) const;
  void Clear();
  // In the order of first writes. Valid until the next Set or Clear.
  const std::vector<RowOp>& rows() const { return rows_; }

  // By table and key; valid until the next Set or Clear.
  const std::vector<uint32_t>& Sorted() const;
  // The position in Sorted of the first row at or after (`beyond`: after) the key.
  size_t Position(uint32_t table, std::string_view key, bool beyond) const;

 private:
  static constexpr size_t kBlock = 64 << 10;
  size_t SlotOf(uint32_t table, std::string_view key) const;
  void Rehash(size_t slots);
  std::string_view Copy(std::string_view bytes);

  std::vector<RowOp> rows_;
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

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_WRITE_SET_H_
