// What a transaction has written and not committed: the last write of each row, in the order of the
// first writes, and by key for its own reads.
//
// Memory is kept for the next transaction, so that in the steady state little is allocated.
#ifndef TESTBED_ENGINES_MMAPV1_WRITE_SET_H_
#define TESTBED_ENGINES_MMAPV1_WRITE_SET_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <memory_resource>
#include <string_view>
#include <utility>
#include <vector>

#include "engines/engine.h"

namespace testbed::mmapv1 {

struct RowWrite {
  TableId table = 0;
  bool erase = false;
  std::string_view key, value;
};

class WriteSet {
 public:
  bool empty() const { return rows_.empty(); }
  const std::vector<RowWrite>& rows() const { return rows_; }

  // Copies key and value, which may be those of a row of the set.
  void Set(TableId table, std::string_view key, bool erase, std::string_view value) {
    const auto [at, is_new] = by_key_.try_emplace({table, key}, rows_.size());
    if (!is_new) {
      RowWrite& row = rows_[at->second];
      row.erase = erase;
      if (value.size() > row.value.size()) {
        row.value = Copy(value);
        return;
      }
      // In place, so that a row may be written any number of times. It may be its own old value.
      char* const to = const_cast<char*>(row.value.data());
      if (!value.empty()) std::memmove(to, value.data(), value.size());
      row.value = {to, value.size()};
      return;
    }
    // The map must not keep the caller's bytes.
    auto node = by_key_.extract(at);
    node.key().second = Copy(key);
    rows_.push_back({table, erase, node.key().second, Copy(value)});
    by_key_.insert(std::move(node));
  }

  // The last write of the row; null when it has none. Valid until the next Set or Clear.
  const RowWrite* Find(TableId table, std::string_view key) const {
    const auto at = by_key_.find({table, key});
    return at == by_key_.end() ? nullptr : &rows_[at->second];
  }
  // The first write of a row of the table at or after the key, or after it.
  const RowWrite* After(TableId table, std::string_view key, bool beyond) const {
    const auto at = beyond ? by_key_.upper_bound({table, key}) : by_key_.lower_bound({table, key});
    return at == by_key_.end() || at->first.first != table ? nullptr : &rows_[at->second];
  }
  // The last one at or before the key, or before it; or of the whole table.
  const RowWrite* Before(TableId table, std::string_view key, bool beyond) const {
    return Previous(table,
                    beyond ? by_key_.lower_bound({table, key}) : by_key_.upper_bound({table, key}));
  }
  const RowWrite* Last(TableId table) const {
    return Previous(table, by_key_.lower_bound({table + 1, {}}));
  }

  void Clear() {
    by_key_.clear();
    rows_.clear();
    bytes_.release();
  }

 private:
  using Index = std::pmr::map<std::pair<TableId, std::string_view>, size_t>;

  const RowWrite* Previous(TableId table, Index::const_iterator at) const {
    if (at == by_key_.begin() || std::prev(at)->first.first != table) return nullptr;
    return &rows_[std::prev(at)->second];
  }
  std::string_view Copy(std::string_view bytes) {
    if (bytes.empty()) return {};
    char* to = static_cast<char*>(bytes_.allocate(bytes.size(), 1));
    bytes.copy(to, bytes.size());
    return {to, bytes.size()};
  }

  std::vector<RowWrite> rows_;
  std::pmr::unsynchronized_pool_resource nodes_;
  static constexpr size_t kKept = 64 << 10;
  std::unique_ptr<char[]> kept_ = std::make_unique_for_overwrite<char[]>(kKept);
  std::pmr::monotonic_buffer_resource bytes_{kept_.get(), kKept};
  Index by_key_{&nodes_};
};

}  // namespace testbed::mmapv1

#endif  // TESTBED_ENGINES_MMAPV1_WRITE_SET_H_
