// The rows of a database: which keys it has, in which order they are inserted, and what value
// belongs to each, so that any value read can be checked from its key.
//
// A row is a number in [0, rows). Its key is derived from the row, its value from the row and a
// version (0 when inserted, more when updated). Keys are the row as 8 big-endian bytes, padded with
// '0' to key_size (the form db_bench uses, so either program can read the other's database), a hash
// of it (random), or a line of a file. Immutable after construction; thread-safe.
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
  kSequential,  // rows inserted in key order
  kRandom,      // keys are hashes: random over the whole key space
  kPermuted,    // the keys of sequential, each once, in random order
  kFile,        // keys from a file, in its order
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
  // Throws Error (kUsage) for options that cannot be.
  explicit Dataset(const DatasetOptions& options);

  const DatasetOptions& options() const { return options_; }
  uint64_t rows() const { return options_.rows; }
  size_t max_key_size() const { return max_key_size_; }
  // Of all rows together, as they are loaded.
  uint64_t key_bytes() const { return key_bytes_; }
  uint64_t value_bytes() const { return options_.rows * options_.value_size; }

  // The row inserted as the i-th.
  uint64_t RowAt(uint64_t i) const { return permutation_ ? (*permutation_)(i) : i; }

  // Writes the row's key to buffer (max_key_size() bytes) and returns it.
  std::string_view Key(uint64_t row, char* buffer) const;
  // A key that no row has, near the row's own where key_size allows.
  std::string_view AbsentKey(uint64_t row, char* buffer) const;
  // The row of a key, which may be one that was inserted behind the data set's; nothing for the key of
  // no row.
  std::optional<uint64_t> RowOf(std::string_view key) const;
  // Key of the row's entry in secondary index 0 .. indexes-1: an attribute of 8 bytes and the
  // primary key. buffer holds max_key_size() + 8 bytes.
  std::string_view IndexKey(uint32_t index, uint64_t row, char* buffer) const;

  // Writes value_size bytes.
  void Value(uint64_t row, uint64_t version, char* buffer) const;
  // Whether these bytes are a value of this row, in any version.
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
  std::vector<uint64_t> sorted_;        // the rows of the file, by their keys
  std::shared_ptr<const char[]> pool_;  // bytes that values are cut from
};

inline constexpr char kMainTable[] = "default";
std::string IndexTable(uint32_t index);  // "index1", ...

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_DATASET_H_
