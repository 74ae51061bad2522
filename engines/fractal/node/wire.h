// These functions write numbers and strings as bytes, little-endian and unaligned. A WireReader
// reads them, and never reads behind the end of its bytes.
#ifndef TESTBED_ENGINES_FRACTAL_NODE_WIRE_H_
#define TESTBED_ENGINES_FRACTAL_NODE_WIRE_H_

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace testbed::fractal {

static_assert(std::endian::native == std::endian::little);

template <typename T>
T Load(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <typename T>
void Append(T value, std::string* to) {
  to->append(reinterpret_cast<const char*>(&value), sizeof value);
}

// A WireReader takes fields off the front of the bytes. After a field that the bytes do not have,
// ok() is false, and all further fields are zero or empty.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : bytes_(bytes) {}
  bool ok() const { return ok_; }
  bool done() const { return ok_ && bytes_.empty(); }
  size_t left() const { return bytes_.size(); }

  template <typename T>
  T Take() {
    const std::string_view bytes = Bytes(sizeof(T));
    return bytes.size() == sizeof(T) ? Load<T>(bytes.data()) : T{};
  }
  std::string_view Bytes(size_t n) {
    if (n > bytes_.size()) {
      ok_ = false;
      bytes_ = {};
      return {};
    }
    const std::string_view taken = bytes_.substr(0, n);
    bytes_.remove_prefix(n);
    return taken;
  }

 private:
  std::string_view bytes_;
  bool ok_ = true;
};

}  // namespace testbed::fractal

#endif  // TESTBED_ENGINES_FRACTAL_NODE_WIRE_H_
