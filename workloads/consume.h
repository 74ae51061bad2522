// How a client uses the keys and values that an operation returned. Using them is part of the
// operation: an engine may return a pointer into a memory mapping, and then nothing has been read
// from the device yet. So an operation's time ends after its result was used.
#ifndef TESTBED_WORKLOADS_CONSUME_H_
#define TESTBED_WORKLOADS_CONSUME_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace testbed {

enum class Consume : uint8_t {
  kTouch,  // reads one byte in every 64, and the last byte
  kCopy,   // copies all bytes into the client's own buffer
  kNone,   // does not look at the result
};
const char* ConsumeName(Consume consume);  // "touch", "copy", "none"

// Applies a Consume mode to results. Not thread-safe: each client has its own Consumer, whose
// buffer keeps its capacity between copies.
class Consumer {
 public:
  explicit Consumer(Consume how = Consume::kNone) : how_(how) {}

  // Uses the bytes as the mode says.
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
    // This statement uses `seen` in a way that the compiler cannot see through, so that it does not
    // drop the loop.
    asm volatile("" : : "r"(seen));
  }
  void Copy(std::string_view bytes);

  Consume how_;
  std::string buffer_;
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_CONSUME_H_
