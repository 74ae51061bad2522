// A fuzz target takes any bytes, and ends the process when something is wrong that no bytes may
// cause. A target joins by a file fuzz_NAME.cc in this folder:
//
//   TESTBED_FUZZ_TARGET(name) {
//     FuzzInput input(bytes);
//     ...
//     Require(holds, "what should have held");
//   }
//
// and by seeds in corpus/NAME/, inputs that get far into the code. Targets are built in two ways:
//
// - Into testbed_unit_tests (tests/unit/fuzz_test.cc), which gives each target its seeds, and for a
//   moment changed seeds and random bytes.
// - With -DTESTBED_FUZZ=ON and clang, each as a program of libFuzzer (LLVM documentation,
//   "libFuzzer"), which searches for inputs that reach new code:
//
//     cmake --preset fuzz && cmake --build --preset fuzz --target testbed_fuzz_operations
//     target=build/fuzz/tests/testbed_fuzz_operations
//     mkdir -p found && $target -max_total_time=1800 found tests/fuzz/corpus/operations
#ifndef TESTBED_TESTS_FUZZ_FUZZ_TARGET_H_
#define TESTBED_TESTS_FUZZ_FUZZ_TARGET_H_

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace testbed {

struct FuzzTarget {
  const char* name;
  void (*run)(std::string_view bytes);
};

// Returns the targets that are linked into the program.
inline std::vector<FuzzTarget>& FuzzTargets() {
  static std::vector<FuzzTarget> targets;
  return targets;
}

struct FuzzTargetRegistration {
  FuzzTargetRegistration(const char* name, void (*run)(std::string_view bytes)) {
    FuzzTargets().push_back({name, run});
  }
};

// Defines the target `name`: the block that follows has its input in `bytes`.
#define TESTBED_FUZZ_TARGET(name)                                                        \
  static void Fuzz_##name(std::string_view bytes);                                       \
  static const ::testbed::FuzzTargetRegistration fuzz_target_##name(#name, Fuzz_##name); \
  static void Fuzz_##name(std::string_view bytes)

inline void Require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz target: %s\n", what.c_str());
  std::abort();
}

// Takes an input apart. Everything is zero when the input is used up.
class FuzzInput {
 public:
  explicit FuzzInput(std::string_view bytes) : bytes_(bytes) {}
  bool empty() const { return bytes_.empty(); }
  uint8_t Byte() {
    if (bytes_.empty()) return 0;
    const auto byte = static_cast<uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
    return byte;
  }
  uint32_t Below(uint32_t n) {
    uint32_t value = Byte();
    if (n > 256) value = value << 8 | Byte();
    if (n > 65536) value = value << 8 | Byte();
    return value % n;
  }
  // Returns the next n bytes, or those that are left.
  std::string_view Bytes(size_t n) {
    const std::string_view taken = bytes_.substr(0, n);
    bytes_.remove_prefix(taken.size());
    return taken;
  }
  std::string_view Rest() { return Bytes(bytes_.size()); }

 private:
  std::string_view bytes_;
};

}  // namespace testbed

#endif  // TESTBED_TESTS_FUZZ_FUZZ_TARGET_H_
