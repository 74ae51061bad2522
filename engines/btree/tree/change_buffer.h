// Row writes whose leaves are not in the pool, kept in a tree of their own until enough of them
// have come together: InnoDB's change buffer (MySQL Reference Manual, "Change Buffer"), for any row
// of any table. A write to a leaf that would have to be read first goes to the buffer instead; when
// the buffer is full, the writes of one leaf after the other, in key order, go to their leaves
// together. So a leaf is read, and written, once for many rows.
//
// What the buffer has of a row is newer than what the row's leaf has. So a look-up asks the buffer
// first; a write to a leaf that is in the pool takes what the buffer has of the row away; a leaf
// whose rows a cursor walks gets its writes first.
//
// The buffer is an ordinary table: its pages are in the pool, in checkpoints and under recovery's
// care like all others. Writes to it are not logged as such: they come of commits, and recovery
// runs those again, straight to the leaves. Rows move from the buffer to a leaf by a commit of
// their own, which logs them once more: so whatever of the two trees is in the file, running the
// log again puts each row right. docs/btree.md has the argument.
//
//   row of the buffer: key = table number (4 bytes, most significant first), then the row's key;
//                      value = 'p' and the row's value, or 'e' when the row is erased
//
// Calls about one row are made under the row's lock, but for Find. Thread-safe.
#ifndef TESTBED_ENGINES_BTREE_TREE_CHANGE_BUFFER_H_
#define TESTBED_ENGINES_BTREE_TREE_CHANGE_BUFFER_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engines/btree/tree/tree.h"

namespace testbed::btree {

inline constexpr std::string_view kChangeBufferTable = "btree.change_buffer";

// A row as the buffer has it.
struct BufferedRow {
  bool erase = false;
  std::string key, value;
};

class ChangeBuffer {
 public:
  // `most_bytes` of rows; more are written to their leaves as commits end. 0 takes none any more.
  ChangeBuffer(Tree* tree, uint32_t tables, uint64_t most_bytes, uint32_t page_size);
  // Counts what is in it. Before the others.
  void Load(TreeContext* context);

  // Writes a row of the commit context->commit to `target`, or to the buffer when its leaf is not
  // in the pool.
  void Write(TreeContext* context, Tree* target, const LeafWrite& row);
  // Writes it to its leaf in any case.
  void WriteThrough(TreeContext* context, Tree* target, const LeafWrite& row);

  // False when the buffer does not know of the row; else *erased, or *value.
  bool Find(TreeContext* context, const Tree* target, std::string_view key, bool* erased,
            std::string* value) const;
  // Whether it may have rows of this table.
  bool Knows(uint32_t table) const { return counts_[table].load(std::memory_order_acquire) > 0; }

  // The rows of `table` from `low` on and, unless that is nothing, below `high`; not more than go
  // well into one log record.
  std::vector<BufferedRow> RowsBetween(TreeContext* context, uint32_t table, std::string_view low,
                                       std::optional<std::string_view> high) const;
  // The row whose leaf should be next to get its writes; false when there is none. Goes round.
  bool NextRow(TreeContext* context, uint32_t* table, std::string* key);

  // Grows whenever a row leaves the buffer for its leaf, between the two.
  uint64_t moves() const { return moves_.load(std::memory_order_acquire); }
  void CountMoved(uint64_t rows) {
    leaves_filled_.fetch_add(1, std::memory_order_relaxed);
    rows_moved_.fetch_add(rows, std::memory_order_relaxed);
  }
  uint64_t leaves_filled() const { return leaves_filled_.load(std::memory_order_relaxed); }
  uint64_t rows_moved() const { return rows_moved_.load(std::memory_order_relaxed); }

  bool full() const { return bytes() > most_bytes_; }
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  uint64_t rows() const { return rows_.load(std::memory_order_relaxed); }
  uint64_t rows_buffered() const { return rows_buffered_.load(std::memory_order_relaxed); }
  const Tree* tree() const { return tree_; }

 private:
  static std::string KeyOf(uint32_t table, std::string_view key);
  bool Takes(const LeafWrite& row) const;
  void Count(uint32_t table, int64_t rows, int64_t bytes);

  Tree* const tree_;
  const uint64_t most_bytes_;
  const uint32_t page_size_;
  std::vector<std::atomic<uint64_t>> counts_;  // rows of each table
  std::atomic<uint64_t> bytes_{0}, rows_{0}, rows_buffered_{0};
  std::atomic<uint64_t> moves_{0}, leaves_filled_{0}, rows_moved_{0};
  std::mutex next_mutex_;
  std::string next_;  // where NextRow goes on
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_TREE_CHANGE_BUFFER_H_
