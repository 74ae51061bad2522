// A Consumer does, as part of an operation, what a client does with the keys and values that the
// operation gave it.
//
// An engine may answer with a pointer into a mapping, and then it has read nothing from the device
// yet. So an operation ends when its answer was used.
#ifndef TESTBED_WORKLOADS_CONSUME_H_
#define TESTBED_WORKLOADS_CONSUME_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace testbed {

enum class Consume : uint8_t {
  kTouch,  // reads one byte in each 64, and the last byte
  kCopy,   // copies all bytes into the client's own buffer
  kNone,   // does not look at the answer
};
const char* ConsumeName(Consume consume);  // "touch", "copy", "none"

// Uses answers. Not thread-safe: each client has one.
class Consumer {
 public:
  explicit Consumer(Consume how = Consume::kNone) : how_(how) {}

  void operator()(std::string_view bytes) {
    if (how_ == Consume::kTouch) {
      Touch(bytes);
    } else if (how_ == Consume::kCopy) {
      Copy(bytes);
    }
  }

 private:
  static void Touch(std::string_view bytes) {
    constexpr size_t kStride = 64;
    if (bytes.empty()) return;
    unsigned char seen = static_cast<unsigned char>(bytes.back());
    for (size_t i = 0; i < bytes.size(); i += kStride) {
      seen ^= static_cast<unsigned char>(bytes[i]);
    }
    // Lets the compiler believe that `seen` is used.
    asm volatile("" : : "r"(seen));
  }
  void Copy(std::string_view bytes);

  Consume how_;
  std::string buffer_;
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_CONSUME_H_
