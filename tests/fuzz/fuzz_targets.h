// What the fuzzers run: each takes any bytes, and ends the process when something is wrong that no
// bytes may cause. Built two ways: into testbed_unit_tests, which feeds them for a moment
// (tests/unit/engines/fuzz_test.cc), and with -DTESTBED_FUZZ=ON and clang as programs of libFuzzer:
//
//   cmake --preset fuzz && cmake --build --preset fuzz --target testbed_fuzz_operations
//   build/fuzz/tests/testbed_fuzz_operations -max_total_time=1800 -max_len=4096
#ifndef TESTBED_TESTS_FUZZ_FUZZ_TARGETS_H_
#define TESTBED_TESTS_FUZZ_FUZZ_TARGETS_H_

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace testbed {
namespace btree {

// A page of the data file: a node that passes Validate must do all that nodes do, and reads of any
// page stay inside it.
void FuzzPage(std::string_view bytes);

// Records of the log: replay takes or refuses each and leaves well-formed pages.
void FuzzReplay(std::string_view bytes);

// Operations on a database, crashes and reopenings among them, against a model.
void FuzzOperations(std::string_view bytes);

}  // namespace btree

namespace fractal {

// What the files hold behind right checksums - basements, buffers, nodes, the translation table,
// log records: each is refused, or is what it says.
void FuzzFractal(std::string_view bytes);

}  // namespace fractal

namespace mmapv1 {

// A database of which some bytes were changed, which nothing detects by itself, and replayed
// journal sections: checking it, reading it and writing to it end, and stay inside the files.
void FuzzMmapv1(std::string_view bytes);

}  // namespace mmapv1

inline void Require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz target: %s\n", what.c_str());
  std::abort();
}

// Takes an input apart; zeros when it is used up.
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
    return value % n;
  }
  std::string_view Bytes(size_t n) {
    const std::string_view taken = bytes_.substr(0, n);
    bytes_.remove_prefix(taken.size());
    return taken;
  }

 private:
  std::string_view bytes_;
};

}  // namespace testbed

#endif  // TESTBED_TESTS_FUZZ_FUZZ_TARGETS_H_
