// The entry of a libFuzzer program, which is linked with one target.
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  testbed::FuzzTargets().at(0).run({reinterpret_cast<const char*>(data), size});
  return 0;
}
