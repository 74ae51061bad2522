// libFuzzer's entry (LLVM documentation, "libFuzzer"); TESTBED_FUZZ_TARGET names the target.
#include "tests/fuzz/fuzz_targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  testbed::TESTBED_FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}
