// What a transaction has written and not committed: the last write of each row, in key order.
//
// Its memory comes from a pool of its own and is used again by the next transaction, so that in the
// steady state nothing is allocated.
#ifndef TESTBED_ENGINES_BTREE_WRITE_SET_H_
#define TESTBED_ENGINES_BTREE_WRITE_SET_H_

#include <cstdint>
#include <map>
#include <memory_resource>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engines/btree/redo.h"

namespace testbed::btree {

class WriteSet {
 public:
  struct Key {
    uint32_t table;
    std::pmr::string key;
  };
  struct KeyView {
    uint32_t table;
    std::string_view key;
  };
  struct Write {
    bool erase = false;
    std::pmr::string value;
  };
  struct Less {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      if (a.table != b.table) return a.table < b.table;
      return std::string_view(a.key) < std::string_view(b.key);
    }
  };
  using Map = std::pmr::map<Key, Write, Less>;

  bool empty() const { return map_.empty(); }
  const Map& map() const { return map_; }

  void Set(uint32_t table, std::string_view key, bool erase, std::string_view value) {
    auto at = map_.lower_bound(KeyView{table, key});
    if (at == map_.end() || at->first.table != table || at->first.key != key) {
      at = map_.emplace_hint(at, Key{table, std::pmr::string(key, &memory_)},
                             Write{erase, std::pmr::string(value, &memory_)});
      return;
    }
    at->second.erase = erase;
    at->second.value.assign(value);
  }

  const Write* Find(uint32_t table, std::string_view key) const {
    const auto at = map_.find(KeyView{table, key});
    return at == map_.end() ? nullptr : &at->second;
  }

  void Clear() { map_.clear(); }

  void ToOperations(std::vector<RowOp>* operations) const {
    operations->clear();
    for (const auto& [key, write] : map_) {
      operations->push_back({write.erase, key.table, key.key, write.value});
    }
  }

 private:
  std::pmr::unsynchronized_pool_resource memory_;
  Map map_{&memory_};
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_WRITE_SET_H_
