// A WriteBuffer holds copies of the writes of an open transaction, in order, for a replay.
//
// Not thread-safe. When Add finds no memory, the buffer may hold a part of the write, and must not
// be replayed.
#ifndef TESTBED_ENGINES_WIREDTIGER_WRITE_BUFFER_H_
#define TESTBED_ENGINES_WIREDTIGER_WRITE_BUFFER_H_

#include <cstddef>
#include <string_view>
#include <vector>

#include "engines/engine.h"

namespace testbed::wiredtiger {

class WriteBuffer {
 public:
  struct Write {
    TableId table;
    bool erase;
    std::string_view key, value;
  };
  void Clear() {
    heads_.clear();
    bytes_.clear();
  }
  void Add(const Write& write) {
    heads_.push_back(
        {write.table, write.erase, bytes_.size(), write.key.size(), write.value.size()});
    bytes_.insert(bytes_.end(), write.key.begin(), write.key.end());
    bytes_.insert(bytes_.end(), write.value.begin(), write.value.end());
  }
  size_t size() const { return heads_.size(); }
  size_t bytes() const { return bytes_.size(); }
  // Returns a write. Its bytes stay valid until the next Clear or Add.
  Write at(size_t i) const {
    const Head& head = heads_[i];
    const char* key = bytes_.data() + head.key_at;
    return {head.table, head.erase, std::string_view(key, head.key_size),
            std::string_view(key + head.key_size, head.value_size)};
  }

 private:
  struct Head {
    TableId table;
    bool erase;
    size_t key_at, key_size, value_size;
  };
  std::vector<Head> heads_;
  std::vector<char> bytes_;
};

}  // namespace testbed::wiredtiger

#endif  // TESTBED_ENGINES_WIREDTIGER_WRITE_BUFFER_H_
