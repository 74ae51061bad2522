#include "workloads/consume.h"

namespace testbed {

const char* ConsumeName(Consume consume) {
  static constexpr const char* kNames[] = {"touch", "copy", "none"};
  return kNames[static_cast<size_t>(consume)];
}

void Consumer::Copy(std::string_view bytes) {
  buffer_.assign(bytes);
  // This statement uses the buffer in a way that the compiler cannot see through, so that it does
  // not drop the copy.
  asm volatile("" : : "r"(buffer_.data()) : "memory");
}

}  // namespace testbed
