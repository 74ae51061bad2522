// A Dataset is the rows of a database: their keys, the order in which they are inserted, and the
// value that belongs to each key. So any value that is read can be checked from its key.
//
// A row is a number in [0, rows). Its key is derived from the row, and its value from the row and a
// version (0 when inserted, more when updated). A key is the row as 8 big-endian bytes, padded with
// '0' to key_size (the form of db_bench, so that either program can read the other's database), or
// in the same form a hash of the row, or a line of a file.
//
// Immutable after construction, and so thread-safe.
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
  kRandom,      // keys are hashes of the rows, random over the whole key space
  kPermuted,    // the keys of kSequential, inserted in random order
  kFile,        // keys are the lines of a file, inserted in its order
};
const char* KeyOrderName(KeyOrder order);

struct DatasetOptions {
  uint64_t rows = 1000000;
  KeyOrder order = KeyOrder::kSequential;
  size_t key_size = 16;
  size_t value_size = 400;
  double compressibility = 0.5;  // share of a value's bytes that a compressor can remove
  uint32_t indexes = 0;          // secondary indexes, 0 to 3
  uint64_t seed = 42;
  std::string keys_file;
};

class Dataset {
 public:
  // Throws Error (kUsage) for options that cannot be, and for a keys file that cannot be used.
  explicit Dataset(const DatasetOptions& options);

  const DatasetOptions& options() const { return options_; }
  uint64_t rows() const { return options_.rows; }
  size_t max_key_size() const { return max_key_size_; }
  // Bytes of all keys together, and of all values.
  uint64_t key_bytes() const { return key_bytes_; }
  uint64_t value_bytes() const { return options_.rows * options_.value_size; }

  // Returns the i-th row in the order of insertion, from 0.
  uint64_t RowAt(uint64_t i) const { return permutation_ ? (*permutation_)(i) : i; }

  // Returns the row's key. It lies in `buffer`, of max_key_size() bytes, or in the data set itself.
  std::string_view Key(uint64_t row, char* buffer) const;
  // Returns a key that no row has, near the row's own key where key_size allows. It lies in
  // `buffer`.
  std::string_view AbsentKey(uint64_t row, char* buffer) const;
  // Returns the row of a key; nothing when no row has the key. Except with kFile, the row may be
  // rows() or greater: clients insert such rows after the load.
  std::optional<uint64_t> RowOf(std::string_view key) const;
  // Returns the key of the row's entry in secondary index 0 .. indexes-1: an attribute of 8 bytes
  // and the primary key. It lies in `buffer`, of max_key_size() + 8 bytes.
  std::string_view IndexKey(uint32_t index, uint64_t row, char* buffer) const;

  // Writes the row's value, of value_size bytes, to `buffer`.
  void Value(uint64_t row, uint64_t version, char* buffer) const;
  // Returns whether these bytes are a value of this row, in any version.
  bool Check(uint64_t row, std::string_view value) const;

 private:
  uint64_t Tag(uint64_t row, uint64_t version) const {
    return Mix64(row ^ Mix64(version ^ options_.seed));
  }
  void LoadKeys();

  DatasetOptions options_;
  size_t max_key_size_;
  uint64_t key_bytes_ = 0;
  std::optional<Permutation> permutation_;
  std::string keys_text_;
  std::vector<std::string_view> keys_;  // lines of the file
  std::vector<uint64_t> sorted_;        // the rows of the file in the order of their keys
  std::shared_ptr<const char[]> pool_;  // bytes that values are cut from
};

inline constexpr char kMainTable[] = "default";
std::string IndexTable(uint32_t index);  // "index1", ...

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_DATASET_H_
