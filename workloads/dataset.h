// A Dataset describes the rows of a database: which keys it has, in which order they are inserted,
// and which value belongs to each key. Every value read can therefore be checked from its key
// alone.
//
// A row is a number in [0, rows). Its key is derived from the row; its value is derived from the
// row and a version, which is 0 at the insert and grows with updates. A row's value has one size in
// all versions, that of all rows or one of the row's own (ValueSizes). A key is the row as 8
// big-endian bytes, padded with '0' to key_size (the form that db_bench uses, so either program can
// read the other's database); with random order the 8 bytes are a hash of the row; with a file or a
// set of keys the key is one of its lines (keys/key_source.h). A Dataset is immutable after
// construction and thread-safe.
#ifndef TESTBED_WORKLOADS_DATASET_H_
#define TESTBED_WORKLOADS_DATASET_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/random.h"

namespace testbed {

enum class KeyOrder : uint8_t {
  kSequential,  // rows are inserted in key order
  kRandom,      // keys are hashes of the rows, scattered over the whole key space
  kPermuted,    // the keys of kSequential, inserted in random order
  kFile,        // keys are the lines of a file or a set, inserted in their order
};
const char* KeyOrderName(KeyOrder order);
// The number of the way in which hashed keys and the attributes of index entries follow from the
// seed. It grows when that changes: a database of another number has other keys.
inline constexpr int kKeyHash = 2;

// The sizes that values have. A row's value has the same size in all versions.
enum class ValueSizes : uint8_t {
  kOne,      // value_size bytes
  kUniform,  // a random size from least_value to most_value bytes, each as often
  kColumn,   // the bytes that the line of the row's key tells behind a tab: KEY<TAB>SIZE
};
// Bytes of the largest value.
inline constexpr size_t kMostValueSize = 64 << 20;

struct DatasetOptions {
  uint64_t rows = 1000000;
  KeyOrder order = KeyOrder::kSequential;
  size_t key_size = 16;
  size_t value_size = 400;       // bytes; when sizes differ, the mean, which the data set computes
  double compressibility = 0.5;  // share of a value's bytes that a compressor can remove
  uint32_t indexes = 0;          // number of secondary indexes, 0 to 3
  uint64_t seed = 42;
  std::string keys_file;  // with kFile: a file, or the name of a set (keys/key_set.h)
  uint32_t fields = 1;    // equal parts of a value, which updates write one by one
  ValueSizes value_sizes = ValueSizes::kOne;  // several sizes only with one field
  size_t least_value = 0, most_value = 0;     // bytes; bounds of kUniform
};

// Returns the sizes of values as --value-size takes them: "400", "10x100", "100-1000", "column".
std::string ValueSizesText(const DatasetOptions& options);
// Throws Error (kUsage) when the values have the sizes of a column, and the keys are not those of a
// file.
void CheckValueSizes(const DatasetOptions& options);

class Dataset {
 public:
  static constexpr size_t kAttributeBytes = 8;  // bytes of an index entry before the row's key

  // Reads keys_file when the order is kFile. Throws Error (kUsage) when key_size is below 8, rows
  // is 0, value_size is no multiple of several fields or leaves a field less than 16 bytes, the
  // keys cannot be read (ReadKeys), are none or repeat one, or a size is missing (CheckValueSizes)
  // or is no number up to kMostValueSize.
  explicit Dataset(const DatasetOptions& options);

  const DatasetOptions& options() const { return options_; }
  uint64_t rows() const { return options_.rows; }
  size_t max_key_size() const { return max_key_size_; }
  // Returns the bytes of the longest key of a row or, with `absent`, of the longest that AbsentKey
  // makes, which is one byte longer where the keys come from a file.
  size_t LongestKey(bool absent) const {
    return max_key_size_ - (options_.order == KeyOrder::kFile && !absent ? 1 : 0);
  }
  // Bytes of all keys, and of all values, of the data set as it is loaded; index entries not
  // included. With kUniform the sum has the exact sizes of the first 2^27 rows, and the mean size
  // for each further row.
  uint64_t key_bytes() const { return key_bytes_; }
  uint64_t value_bytes() const { return value_bytes_; }
  // Returns about the bytes of all values, and the same with every seed: random sizes count with
  // their mean.
  uint64_t expected_value_bytes() const {
    return options_.value_sizes == ValueSizes::kUniform ? options_.rows * options_.value_size
                                                        : value_bytes_;
  }
  // Returns the bytes of the row's value, and of the largest one. A row that was inserted after the
  // load has a size, too.
  size_t ValueSize(uint64_t row) const {
    return options_.value_sizes == ValueSizes::kOne ? options_.value_size : OwnSize(row);
  }
  size_t max_value_size() const { return max_value_size_; }
  // Returns the bytes of the smallest value that a row can have; with kColumn, that some row has.
  size_t min_value_size() const;

  // Returns the row that a load inserts at position `i`.
  uint64_t RowAt(uint64_t i) const { return permutation_ ? (*permutation_)(i) : i; }

  // Returns the row's key. The bytes lie in `buffer`, which has room for max_key_size() bytes, or,
  // for keys from a file, in the Dataset.
  std::string_view Key(uint64_t row, char* buffer) const;
  // Writes to `buffer` and returns a key that belongs to no row. It sorts next to the row's own key
  // where key_size is above 8 or the keys come from a file. Otherwise it sorts behind the last row
  // or, where keys are hashes, at a random place.
  std::string_view AbsentKey(uint64_t row, char* buffer) const;
  // Returns whether absent keys lie between those of the rows, and not all behind the last one.
  bool HasRoomBetweenKeys() const {
    return options_.key_size > 8 || options_.order == KeyOrder::kRandom ||
           options_.order == KeyOrder::kFile;
  }
  // Returns the row that has this key. The row may lie beyond rows(), for a row that was inserted
  // after the load. Returns nothing when no row can have the key.
  std::optional<uint64_t> RowOf(std::string_view key) const;
  // Returns whether the rows' places in the order of their keys are known: hashes would have to be
  // sorted for it.
  bool KnowsKeyOrder() const { return options_.order != KeyOrder::kRandom; }
  // Returns how many rows of the data set, as it is loaded, have a lesser key than this one.
  // Returns nothing when it is the key of none of these rows. Requires KnowsKeyOrder().
  std::optional<uint64_t> RankOf(std::string_view key) const;
  // Returns the key of the row's entry in secondary index 0 .. indexes-1: an attribute of
  // kAttributeBytes, then the primary key. `buffer` has room for both.
  std::string_view IndexKey(uint32_t index, uint64_t row, char* buffer) const;

  // Writes the row's value of that version, ValueSize(row) bytes, to `buffer`. Each version has a
  // value of its own. In values of 4 to 15 bytes, however, versions that are equal modulo 2^16 have
  // equal values; in 2 or 3 bytes, those that are equal modulo 2^8; and a value of less than
  // kLeastVersioned bytes is the same in all versions.
  static constexpr size_t kLeastVersioned = 2;
  void Value(uint64_t row, uint64_t version, char* buffer) const {
    SizedValue(row, version, ValueSize(row), buffer);
  }
  // Writes the row's value of that version and of another size, at least kLeastSized bytes. The
  // first bytes of a value depend on its size, so that Check refuses a value that was cut off.
  static constexpr size_t kLeastSized = 8;
  void SizedValue(uint64_t row, uint64_t version, size_t size, char* buffer) const;
  // Returns whether a value of this size tells whether it is the row's: one of its own size, or of
  // kLeastSized bytes and more.
  bool TellsRow(uint64_t row, size_t size) const {
    return size >= kLeastSized || size == ValueSize(row);
  }
  // Returns the number of fields of a value, and the bytes of each of the row's. The value of a
  // version has all of its fields in that version.
  uint32_t fields() const { return options_.fields; }
  size_t FieldSize(uint64_t row) const {
    return options_.fields == 1 ? ValueSize(row) : options_.value_size / options_.fields;
  }
  // Writes field 0 .. fields() - 1 of the row's value of that version, FieldSize(row) bytes, to
  // `buffer`. It begins field * FieldSize(row) bytes behind the begin of the value.
  void Field(uint64_t row, uint32_t field, uint64_t version, char* buffer) const;
  // Returns whether `value` is this row's value in any version and size. Each field may have a
  // version of its own.
  bool Check(uint64_t row, std::string_view value) const;

 private:
  uint64_t Tag(uint64_t row, uint64_t version, size_t size) const {
    const uint64_t tag = Mix64(row ^ Mix64(version ^ options_.seed));
    return size == options_.value_size ? tag : Mix64(tag ^ size);
  }
  // Returns the number that the row's key begins with.
  uint64_t KeyNumber(uint64_t row) const {
    return options_.order == KeyOrder::kRandom ? Mix64(row ^ hash_seed_) : row;
  }
  std::optional<uint64_t> RankInFile(std::string_view key) const;
  void LoadKeys();
  void TakeColumn();
  void SizeValues();
  size_t OwnSize(uint64_t row) const;
  void ShortValue(uint64_t row, uint64_t version, size_t size, char* buffer) const;
  bool HasFields(size_t size) const { return options_.fields > 1 && size == options_.value_size; }
  size_t field_size() const { return options_.value_size / options_.fields; }
  // A piece is a value without fields, or a field. Its number is that of the row or of the field.
  static uint64_t FieldNumber(uint64_t row, uint32_t field) { return Mix64(row) + field; }
  void Piece(uint64_t number, uint64_t version, size_t size, char* buffer) const;
  bool CheckPiece(uint64_t number, std::string_view piece) const;
  // Calls `take` with the pieces of the pool that make up `size` bytes of a value with this tag.
  template <typename Take>
  void PoolPieces(uint64_t tag, size_t size, Take take) const;

  DatasetOptions options_;
  // Hashes and the permutation do not take the seed itself. The seeds of loads follow each other,
  // and row ^ seed of all rows would be the same numbers for them in nearly the same order, so that
  // loads would have the same keys. Their permutations would be alike, too (workloads/random.h).
  uint64_t hash_seed_;
  size_t max_key_size_;
  uint64_t key_bytes_ = 0;
  size_t max_value_size_ = 0;
  uint64_t value_bytes_ = 0;
  std::optional<Permutation> permutation_;
  std::shared_ptr<const std::string> keys_text_;
  std::vector<std::string_view> keys_;  // the lines of the text, without a column
  std::vector<uint32_t> sizes_;         // sizes of the rows' values, with kColumn
  std::vector<uint64_t> sorted_;        // the rows of these keys, sorted by key
  std::shared_ptr<const char[]> pool_;  // bytes that values are copied from
};

inline constexpr char kMainTable[] = "default";
// Returns "index1" for index 0, "index2" for index 1, and so on.
std::string IndexTable(uint32_t index);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_DATASET_H_
