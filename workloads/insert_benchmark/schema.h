// The rows of the insert benchmark, each made from its number alone, and their encoding.
//
// The schema is that of the public insert benchmark (github.com/mdcallag/mytools, bench/ibench).
// Each client has a table, or all clients share one, with rows
//
//   transactionid, dateandtime, cashregisterid, customerid, productid, price, data
//
// clustered by transactionid, and up to three secondary indexes, which cover the range queries:
//
//   0 market    productid, customerid, price          inserts anywhere in the index
//   1 register  cashregisterid, customerid, price     inserts anywhere in the index
//   2 pdc       price, dateandtime, customerid        inserts at one position for each price
//
// Numbers are big-endian, so that keys sort as their columns do. An index key ends with the
// transactionid; its value is empty. Unlike in the original, row n of a client is the same in every
// run with the same seed: dateandtime is a clock that ticks after every kRowsPerTick rows of a
// client, not the machine's clock. So each row and each index entry can be checked.
//
//   IbSchema schema({.seed = 42, .clients = 4});
//   schema.PrepareData();
//   uint64_t id = schema.IdOf(client, n);
//   size_t size = schema.Value(client, n, buffer);
//   size_t key = IbSchema::IndexKey(0, id, {buffer, size}, key_buffer);
//
// Immutable after PrepareData, and then thread-safe.
#ifndef TESTBED_WORKLOADS_INSERT_BENCHMARK_SCHEMA_H_
#define TESTBED_WORKLOADS_INSERT_BENCHMARK_SCHEMA_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engines/engine.h"

namespace testbed {

// Encode and decode big-endian numbers of `bytes` bytes.
void IbPut(uint64_t number, size_t bytes, char* to);
uint64_t IbGet(const char* from, size_t bytes);

class IbSchema {
 public:
  static constexpr uint32_t kMaxIndexes = 3;
  static constexpr size_t kKeySize = 8;            // transactionid
  static constexpr size_t kFixedSize = 5 + 4 * 4;  // bytes of a value before column data
  static constexpr size_t kIndexKeySizes[kMaxIndexes] = {20, 20, 21}, kMaxIndexKeySize = 21;
  static constexpr uint32_t kRowsPerTick = 1000;
  static constexpr uint32_t kCashRegisters = 1000, kCustomers = 100000, kProducts = 10000,
                            kPrices = 500;

  struct Options {
    uint64_t seed = 42;
    uint32_t clients = 1;
    bool shared = false;  // whether all clients use one table
    uint32_t indexes = 3;
    uint32_t data_min = 10, data_max = 20;  // length of column data
    // Three quarters of this percentage of the column data are random letters; the rest is one
    // letter, repeated.
    uint32_t random_pct = 50;
    friend bool operator==(const Options&, const Options&) = default;
  };
  explicit IbSchema(const Options& options) : options_(options) {}
  const Options& options() const { return options_; }
  size_t max_value_size() const { return kFixedSize + options_.data_max; }

  // Makes the text from which column data is cut. Must be called before Value and Check.
  void PrepareData();

  // Returns the transactionid of row n (from 0) of a client. In a shared table the clients' ids
  // alternate.
  uint64_t IdOf(uint32_t client, uint64_t n) const {
    return options_.shared ? n * options_.clients + client + 1 : n + 1;
  }
  // Returns the number n of the row with this transactionid.
  uint64_t NumberOf(uint64_t id) const {
    return options_.shared ? (id - 1) / options_.clients : id - 1;
  }
  // Returns the client to which the row belongs, in a table that client `owner` uses.
  uint32_t ClientOf(uint64_t id, uint32_t owner) const {
    return options_.shared ? static_cast<uint32_t>((id - 1) % options_.clients) : owner;
  }

  static void Key(uint64_t id, char* to) { IbPut(id, kKeySize, to); }
  // Writes the value of row n to `to`, at most max_value_size() bytes, and returns its size.
  size_t Value(uint32_t client, uint64_t n, char* to) const;
  // Returns whether `value` is the value of row n. `room` has space for max_value_size() bytes.
  bool Check(uint32_t client, uint64_t n, std::string_view value, char* room) const;

  // Returns the parts of a row's value that form an index key, in front of the transactionid.
  static const std::vector<IndexPart>& IndexParts(uint32_t index);
  // Writes the index key of the row with this id and value to `to`, and returns the key's size.
  static size_t IndexKey(uint32_t index, uint64_t id, std::string_view value, char* to);
  // Returns the transactionid at the end of an index key.
  static uint64_t IdOfIndexKey(std::string_view key) {
    return IbGet(key.data() + key.size() - kKeySize, kKeySize);
  }

 private:
  const Options options_;
  std::string text_;
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_INSERT_BENCHMARK_SCHEMA_H_
