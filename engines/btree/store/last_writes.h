// LastWrites tells which writes of a log recovery can leave out because a later write of the same
// row follows, which alone decides what the row is. So recovery needs no pages for old versions of
// rows, on a disk that may have none.
//
//   LastWrites last(bytes);  // the length of all operations in the log
//   for (const auto& [table, key] : writes) last.Note(table, key);
//   for (const auto& [table, key] : writes) {
//     if (last.IsLast(table, key)) Run(table, key);
//   }
//
// Its memory is bounded by 16 MiB, however long the log is. It knows nearly all rows of a log of up
// to 16 MiB, and about a million rows of a longer one. Every write of a row that it does not know
// counts as the last one. It takes two rows with the same hash for one; the hash has 64 bits beside
// those of the row's place, and a random seed.
#ifndef TESTBED_ENGINES_BTREE_STORE_LAST_WRITES_H_
#define TESTBED_ENGINES_BTREE_STORE_LAST_WRITES_H_

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

#include "device/os/random_id.h"

namespace testbed::btree {

class LastWrites {
 public:
  explicit LastWrites(uint64_t bytes)
      : rows_(std::bit_ceil(std::clamp<uint64_t>(bytes / kBytesOfAWrite, kProbes, kMostRows))) {}

  // Notes a write. The caller calls it for each write of the log in turn.
  void Note(uint32_t table, std::string_view key) {
    ++noted_;
    if (Row* row = Find(table, key, true)) row->last = noted_;
  }
  // Returns false when a later write of the row was noted; sometimes returns true all the same. The
  // caller then calls it for each write of the log in the same order.
  bool IsLast(uint32_t table, std::string_view key) {
    ++asked_;
    const Row* row = Find(table, key, false);
    return row == nullptr || row->last <= asked_;
  }

 private:
  static constexpr uint64_t kBytesOfAWrite = 16;  // fewer than any write has
  static constexpr uint64_t kMostRows = 1 << 20;
  static constexpr uint64_t kProbes = 16;
  struct Row {
    uint64_t hash = 0;
    uint64_t last = 0;  // number of the row's last write, from 1 on; 0: the place is free
  };

  // Returns the row's place; null when it has none. With `make`, gives the row a free place if one
  // is near. No place becomes free again, so a row that got no place never gets one.
  Row* Find(uint32_t table, std::string_view key, bool make) {
    const XXH128_hash_t hash = XXH3_128bits_withSeed(key.data(), key.size(), seed_ + table);
    for (uint64_t i = 0; i < kProbes; ++i) {
      Row& row = rows_[(hash.low64 + i) & (rows_.size() - 1)];
      if (row.last != 0 && row.hash == hash.high64) return &row;
      if (row.last != 0) continue;
      if (!make) return nullptr;
      row.hash = hash.high64;
      return &row;
    }
    return nullptr;
  }

  const uint64_t seed_ = RandomId();
  std::vector<Row> rows_;
  uint64_t noted_ = 0, asked_ = 0;
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_STORE_LAST_WRITES_H_
