// KeyCopies has copies of the keys of one call, for an engine that looks them up together: the keys
// may be bytes that the call replaces, or want the prefix of their table before them.
//
//   KeyCopies<std::string_view> copies;   // or another class of a pointer and a size
//   copies.Take(keys);                    // the keys, as the caller of MultiGet has given them
//   Use(copies.keys());
//
// Not thread-safe. It keeps its memory for the next call.
#ifndef TESTBED_ENGINES_KEY_COPIES_H_
#define TESTBED_ENGINES_KEY_COPIES_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace testbed {

template <typename Key>
class KeyCopies {
 public:
  // Replaces the copies by those of `keys`, each with `prefix` before it. Neither may be among the
  // bytes of the copies.
  void Take(std::span<const std::string_view> keys, std::string_view prefix = {}) {
    size_t bytes = keys.size() * prefix.size();
    for (const std::string_view key : keys) bytes += key.size();
    bytes_.clear();
    bytes_.reserve(bytes);  // so that no append moves the keys before it
    keys_.clear();
    for (const std::string_view key : keys) {
      const char* const begin = bytes_.data() + bytes_.size();
      bytes_.append(prefix).append(key);
      keys_.push_back(Key{begin, prefix.size() + key.size()});
    }
  }
  // Returns the copies, in the order of the keys. Valid until the next Take.
  const std::vector<Key>& keys() const { return keys_; }

 private:
  std::string bytes_;
  std::vector<Key> keys_;  // views of bytes_
};

}  // namespace testbed

#endif  // TESTBED_ENGINES_KEY_COPIES_H_
