// Numbers and strings as a trace has them (docs/trace-format.md): a number is 7 bits a byte, the
// lowest first, the top bit set in all bytes but the last (LEB128); a string is its length as such
// a number, then its bytes. The numbers in the heads and the tail of a file are little-endian and
// of fixed size.
#ifndef TESTBED_WORKLOADS_TRACE_ENCODING_H_
#define TESTBED_WORKLOADS_TRACE_ENCODING_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace testbed {

inline constexpr size_t kMostNumberBytes = 10;

// Writes the number to `to`, which has room for kMostNumberBytes, and returns the byte behind it.
inline char* PutNumber(char* to, uint64_t number) {
  while (number >= 0x80) {
    *to++ = static_cast<char>(number | 0x80);
    number >>= 7;
  }
  *to++ = static_cast<char>(number);
  return to;
}

template <typename Fixed>
void AppendFixed(std::string* out, Fixed value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <typename Fixed>
Fixed FixedAt(const char* at) {
  Fixed value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// Decodes bytes that may be damaged. After the first call that found too few bytes, or a number
// that is too long, `good` returns false and each call returns 0 or an empty string.
class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : at_(bytes.data()), end_(at_ + bytes.size()) {}
  bool good() const { return good_; }
  bool empty() const { return at_ == end_; }

  uint8_t Byte() {
    if (at_ == end_) return Fail();
    return static_cast<uint8_t>(*at_++);
  }
  uint64_t Number() {
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const uint8_t byte = Byte();
      number |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return good_ ? number : 0;
    }
    return Fail();
  }
  std::string_view String() {
    const uint64_t size = Number();
    if (size > static_cast<uint64_t>(end_ - at_)) Fail();
    if (!good_) return {};
    at_ += size;
    return {at_ - size, size};
  }

 private:
  uint8_t Fail() {
    good_ = false;
    at_ = end_;
    return 0;
  }

  const char* at_;
  const char* const end_;
  bool good_ = true;
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_TRACE_ENCODING_H_
