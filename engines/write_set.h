// A WriteSet holds the uncommitted writes of a transaction: the last write of each row.
//
//   WriteSet writes;
//   writes.Set(table, key, false, value);
//   if (const RowWrite* write = writes.Find(table, key)) Use(write->value);
//   for (const RowWrite& write : writes.rows()) Apply(write);
//   writes.Clear();
//
// The rows are kept in the order of their first writes, with a hash table over them. They are
// sorted by key only when a cursor asks for the order. Clear keeps the memory for the next
// transaction, so that the steady state allocates nothing. Not thread-safe.
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

// Returns a 64-bit hash of the row, never 0.
inline uint64_t RowHash(TableId table, std::string_view key) {
  return std::max<uint64_t>(1, XXH3_64bits_withSeed(key.data(), key.size(), table));
}

// A RowWrite is one write of a row: an erasure, or a new value.
struct RowWrite {
  bool erase = false;
  TableId table = 0;
  std::string_view key, value;
  uint64_t hash = 0;  // RowHash of the row; 0 = not computed
};

class WriteSet {
 public:
  WriteSet();
  bool empty() const { return rows_.empty(); }

  // Records a write of the row, and replaces an earlier one. Copies key and value, which may point
  // to bytes of this set.
  void Set(TableId table, std::string_view key, bool erase, std::string_view value);
  // Returns the row's last write; null when the row was not written. The pointer stays valid until
  // the next Set or Clear; the bytes of its key and value stay valid until the row is written again
  // or Clear is called.
  const RowWrite* Find(TableId table, std::string_view key) const;
  void Clear();  // throws nothing
  // Returns the writes in the order in which their rows were first written, each with its hash.
  // Valid until the next Set or Clear.
  const std::vector<RowWrite>& rows() const { return rows_; }

  // Returns the indexes of rows() in the order of table and key. Valid until the next Set or Clear.
  // Throws std::bad_alloc, and then the order is found by the next call.
  const std::vector<uint32_t>& Sorted() const;
  // Returns the position in Sorted() of the first row at or after the key; with `beyond`, of the
  // first row after it.
  size_t Position(TableId table, std::string_view key, bool beyond) const;

  // After returns the table's first write at or after the key, Before its last write at or before
  // the key, and Last its last write. With `beyond`, After and Before leave out a write of the key
  // itself. Each returns null when there is no such write. The pointers stay valid as long as those
  // of Find.
  const RowWrite* After(TableId table, std::string_view key, bool beyond) const;
  const RowWrite* Before(TableId table, std::string_view key, bool beyond) const;
  const RowWrite* Last(TableId table) const;

 private:
  static constexpr size_t kBlock = 64 << 10;  // bytes
  // Returns the row's slot or, when the row is not in the set, the empty slot for it.
  size_t SlotOf(uint64_t hash, TableId table, std::string_view key) const;
  void Rehash(size_t slots);
  std::string_view Copy(std::string_view bytes);
  const RowWrite* At(size_t position, TableId table) const;

  std::vector<RowWrite> rows_;
  // This is a hash table with open addressing. A slot is an index of rows_ plus 1; 0 = empty. The
  // number of slots is a power of two, and at most half of them are used.
  std::vector<uint32_t> slots_;
  mutable std::vector<uint32_t> sorted_;  // indexes 0 to sorted_.size() - 1 of rows_, by key
  // This is the memory for keys and values. Copy takes bytes from blocks_[block_]; later blocks are
  // unused.
  struct Block {
    std::unique_ptr<char[]> bytes;
    size_t size;
  };
  std::vector<Block> blocks_;
  size_t block_ = 0, used_ = 0;  // used_: bytes taken from blocks_[block_]
};

}  // namespace testbed

#endif  // TESTBED_ENGINES_WRITE_SET_H_
