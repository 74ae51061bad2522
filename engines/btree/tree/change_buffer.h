// The ChangeBuffer keeps row writes whose leaves are not in the pool. It is InnoDB's change buffer
// (MySQL Reference Manual, "Change Buffer"), but for any row of any table. A write whose leaf would
// have to be read first goes to the buffer, a tree of its own. When the buffer is full, commits
// move its rows to their leaves, leaf by leaf in key order. So a leaf is read and written once for
// many rows.
//
// If the buffer has a row, its version is newer than that of the row's leaf. Therefore a look-up
// asks the buffer first, a write to a leaf in the pool removes the row from the buffer, and a
// cursor moves a leaf's rows out of the buffer before it walks the leaf (LeafFiller). Where the
// disk is full or the store out of service, the cursor lays them over its copy of the leaf instead.
//
// The buffer is an ordinary table for the pool, for checkpoints and for recovery. A write to the
// buffer has no log record of its own: it belongs to a commit, whose record recovery replays
// straight to the leaves. A commit of its own moves rows from the buffer to a leaf, and logs them
// again. So the replay of the log makes each row right, whichever pages of both trees are in the
// file. docs/engines/btree.md has the proof.
//
//   row of the buffer: key = table number (4 bytes, big-endian), then the row's key;
//                      value = 'p' and the row's value, or 'e' when the row is erased
//
// Thread-safe, but except for Find the caller must hold the lock of the row that a call is about.
#ifndef TESTBED_ENGINES_BTREE_TREE_CHANGE_BUFFER_H_
#define TESTBED_ENGINES_BTREE_TREE_CHANGE_BUFFER_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/os/mutex.h"
#include "engines/btree/tree/tree.h"

namespace testbed::btree {

inline constexpr std::string_view kChangeBufferTable = "btree.change_buffer";

class ChangeBuffer {
 public:
  // `tree` is the buffer's table, and `tables` is the number of table numbers that there can be.
  // full() is true when the buffer has more than `most_bytes` of rows. With `most_bytes` 0 the
  // buffer takes no new rows.
  ChangeBuffer(Tree* tree, uint32_t tables, uint64_t most_bytes, uint32_t page_size);
  // Counts the rows that are in the buffer after an open. The opening calls it before any other
  // function.
  void Load(TreeContext* context);

  // Writes a row of the commit context->commit to `target` when the row's leaf is in the pool or
  // the row is too long for the buffer; else to the buffer.
  void Write(TreeContext* context, Tree* target, const LeafWrite& row);
  // Returns whether the row is short enough for the buffer.
  bool Takes(const LeafWrite& row) const;
  // Writes a row that is short enough (Takes) to the buffer. Throws Error, with the buffer
  // unchanged, when there is no page for the row.
  void Keep(TreeContext* context, const Tree* target, const LeafWrite& row);
  // Writes a row to its leaf, and removes it from the buffer.
  void WriteThrough(TreeContext* context, Tree* target, const LeafWrite& row);
  // Removes a row from the buffer, if it is there, after the row was written to its leaf. In
  // recovery (TreeContext::recovers) the buffer's leaf that covers the row is dirty afterwards,
  // whether the row was there or not.
  void TakeOut(TreeContext* context, const Tree* target, std::string_view key);

  // Returns whether the buffer has the row. If so, sets *erased, and *value unless the row is
  // erased.
  bool Find(TreeContext* context, const Tree* target, std::string_view key, bool* erased,
            std::string* value) const;
  // Returns false when the buffer has no row of this table.
  bool Knows(uint32_t table) const { return counts_[table].load(std::memory_order_acquire) > 0; }

  // Returns copies of the buffer's rows of `table` with keys from `low` and, if `high` is given,
  // below `high`. When their bytes are `most_bytes` or more, returns only the first of them.
  std::vector<BufferedRow> RowsBetween(TreeContext* context, uint32_t table, std::string_view low,
                                       std::optional<std::string_view> high,
                                       size_t most_bytes) const;
  // Returns the first row in key order after the row that the last call returned; after the last
  // row it returns the first row of the buffer. The caller then moves the rows of that row's leaf.
  // Returns false when the buffer is empty.
  bool NextRow(TreeContext* context, uint32_t* table, std::string* key);

  // Returns a number that grows when a row moves from the buffer to its leaf, after it was written
  // to the leaf and before it is removed from the buffer.
  uint64_t moves() const { return moves_.load(std::memory_order_acquire); }
  void CountMoved(uint64_t rows) {
    leaves_filled_.fetch_add(1, std::memory_order_relaxed);
    rows_moved_.fetch_add(rows, std::memory_order_relaxed);
  }
  uint64_t leaves_filled() const { return leaves_filled_.load(std::memory_order_relaxed); }
  uint64_t rows_moved() const { return rows_moved_.load(std::memory_order_relaxed); }

  // This is how many bytes of rows one commit moves to a leaf.
  static constexpr size_t kMostTogether = 48 << 10;

  // Changes the limit. Rows above a lower one stay until they are moved to their leaves.
  void SetMostBytes(uint64_t bytes) { most_bytes_.store(bytes, std::memory_order_relaxed); }
  uint64_t most_bytes() const { return most_bytes_.load(std::memory_order_relaxed); }
  bool full() const { return bytes() > most_bytes(); }
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  uint64_t rows() const { return rows_.load(std::memory_order_relaxed); }
  uint64_t rows_buffered() const { return rows_buffered_.load(std::memory_order_relaxed); }
  const Tree* tree() const { return tree_; }

 private:
  static std::string KeyOf(uint32_t table, std::string_view key);  // the row's key in the buffer
  // TableOf returns the table of a row in the buffer, and IsErased whether the row is erased. They
  // throw Error (kCorruption) when the buffer cannot have written the row.
  uint32_t TableOf(std::string_view key) const;
  static bool IsErased(std::string_view value);
  void Count(uint32_t table, int64_t rows, int64_t bytes);

  Tree* const tree_;
  std::atomic<uint64_t> most_bytes_;
  const uint32_t page_size_;
  std::vector<std::atomic<uint64_t>> counts_;  // number of rows for each table number
  std::atomic<uint64_t> bytes_{0}, rows_{0}, rows_buffered_{0};
  std::atomic<uint64_t> moves_{0}, leaves_filled_{0}, rows_moved_{0};
  Mutex next_mutex_;                          // protects next_
  std::string next_ GUARDED_BY(next_mutex_);  // key in the buffer at which the next NextRow begins
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_TREE_CHANGE_BUFFER_H_
