// This header has the rows of a scan, the search for the row before a key, and the bytes of a value
// in the tree.
//
// Bf-Tree scans forward alone. FindBefore finds the row before a key by forward scans: it shortens
// the key until a scan from there finds rows, and halves the interval when they are too many.
//
//   Rows rows, spare;
//   if (FindBefore(&source, {.prefix = prefix, .bound = key}, &rows, &spare)) {
//     Use(rows.key(rows.count() - 1));
//   }
#ifndef TESTBED_ENGINES_BF_TREE_ROWS_H_
#define TESTBED_ENGINES_BF_TREE_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace testbed::bf_tree {

// A Rows holds copies of rows in the order of their keys. Not thread-safe.
class Rows {
 public:
  // Makes room for a scan of at most `most` rows, each of at most `longest` bytes. Drops all rows.
  void Reserve(uint32_t most, size_t longest);
  // The library's scan fills these buffers: bytes has the key and the value of each row, one row
  // behind the other, and sizes has their lengths.
  char* buffer() { return bytes_.get(); }
  size_t room() const { return room_; }
  uint32_t* sizes() { return sizes_.data(); }
  // Takes over `count` rows that a scan has written to the buffers. `ended` says that the range of
  // the scan has no further row.
  void Take(uint32_t count, bool ended);

  uint32_t count() const { return count_; }
  bool ended() const { return ended_; }
  std::string_view key(uint32_t i) const { return {bytes_.get() + at_[i], sizes_[2 * i]}; }
  std::string_view value(uint32_t i) const {
    return {bytes_.get() + at_[i] + sizes_[2 * i], sizes_[2 * i + 1]};
  }
  void swap(Rows& other) noexcept;

 private:
  std::unique_ptr<char[]> bytes_;
  size_t room_ = 0;
  std::vector<uint32_t> sizes_;  // for each row the lengths of key and value
  std::vector<uint32_t> at_;     // offset of each row in bytes_
  uint32_t count_ = 0;
  bool ended_ = false;
};

// A RowSource is what FindBefore scans.
class RowSource {
 public:
  virtual ~RowSource() = default;
  // Sets *rows to the first rows with start <= key < end, at most `most`, and at least one if there
  // is one.
  virtual void Scan(std::string_view start, std::string_view end, uint32_t most, Rows* rows) = 0;
};

struct Before {
  std::string_view prefix;   // the first bytes of each key of the table
  std::string_view bound;    // begins with `prefix`, or is the smallest key above those that do
  uint32_t most = 64;        // most rows of a scan
  size_t longest_key = 128;  // bytes of the longest key, with the prefix
};

// Returns whether the table has a row before the bound. Then *rows holds the last rows before the
// bound. `spare` is working memory for scans.
bool FindBefore(RowSource* source, const Before& wanted, Rows* rows, Rows* spare);

// Bf-Tree takes no empty values. A value that is empty or ends with a zero byte is kept with one
// zero byte more. Encoded returns the bytes to keep, which may be those of *room.
std::string_view Encoded(std::string_view value, std::string* room);
std::string_view Decoded(std::string_view kept);

}  // namespace testbed::bf_tree

#endif  // TESTBED_ENGINES_BF_TREE_ROWS_H_
