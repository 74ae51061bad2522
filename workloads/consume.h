// What a client does with the keys and values that an operation gave it, as part of the operation.
//
// An engine may answer with a pointer into a mapping: nothing was read from the device by then. So
// an operation ends when its answer was used.
#ifndef TESTBED_WORKLOADS_CONSUME_H_
#define TESTBED_WORKLOADS_CONSUME_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace testbed {

enum class Consume : uint8_t {
  kTouch,  // reads a byte in each 64, and the last one
  kCopy,   // copies all into the client's own buffer
  kNone,   // takes the answer unseen
};
const char* ConsumeName(Consume consume);  // "touch", "copy", "none"

// One a client.
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
    // The compiler must believe that somebody uses what was seen.
    asm volatile("" : : "r"(seen));
  }
  void Copy(std::string_view bytes);

  Consume how_;
  std::string buffer_;
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_CONSUME_H_
