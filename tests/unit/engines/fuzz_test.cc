// Runs each fuzz target for a short time on random inputs. TESTBED_FUZZ_SECONDS sets the time
// (default 2), TESTBED_FUZZ_SEED the seed (default 1).
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <random>
#include <string>

#include "engines/btree/page/node.h"
#include "tests/fuzz/fuzz_targets.h"

namespace testbed::btree {
namespace {

double Setting(const char* name, double otherwise) {
  const char* set = ::getenv(name);
  return set != nullptr ? std::atof(set) : otherwise;
}

class FuzzTest : public testing::Test {
 protected:
  // Calls `round` until the time is over, at least once.
  template <typename Round>
  void Rounds(Round&& round) {
    const auto end = std::chrono::steady_clock::now() +
                     std::chrono::duration<double>(Setting("TESTBED_FUZZ_SECONDS", 2));
    do round();
    while (std::chrono::steady_clock::now() < end);
  }
  std::string RandomBytes(size_t most) {
    std::string bytes(random_() % most, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random_());
    return bytes;
  }
  std::mt19937_64 random_{static_cast<uint64_t>(Setting("TESTBED_FUZZ_SEED", 1))};
};

// The inputs are real pages with changed bytes, which get further than random bytes.
TEST_F(FuzzTest, Page) {
  constexpr uint32_t kPageSize = 4096;
  std::string page(kPageSize, '\0');
  Rounds([&] {
    Node node(page.data(), kPageSize);
    node.Init(7, 3, random_() % 3 == 0 ? PageType::kInner : PageType::kLeaf, 0, "b", "c",
              random_() % 2 == 0);
    for (uint32_t i = 0; i < 40 && node.leaf(); ++i) {
      bool found;
      const std::string key = "b" + RandomBytes(10);
      const uint32_t at = node.LowerBound(key, &found);
      if (!found) node.InsertLeaf(at, key, {RandomBytes(60), false});
    }
    for (uint64_t changes = random_() % 3; changes > 0; --changes) {
      page[random_() % (random_() % 2 == 0 ? 300 : kPageSize)] = static_cast<char>(random_());
    }
    FuzzPage(std::string(1, '\1') + "b" + page);
    FuzzPage(RandomBytes(kPageSize));
  });
}

TEST_F(FuzzTest, Replay) {
  Rounds([&] { FuzzReplay(RandomBytes(400)); });
}

TEST_F(FuzzTest, Operations) {
  Rounds([&] { FuzzOperations(RandomBytes(3000)); });
}

TEST_F(FuzzTest, Fractal) {
  Rounds([&] { fractal::FuzzFractal(RandomBytes(600)); });
}

TEST_F(FuzzTest, Mmapv1) {
  Rounds([&] { mmapv1::FuzzMmapv1(RandomBytes(200)); });
}

// Each of these inputs once crashed its target.
TEST_F(FuzzTest, WhatWasFound) {
  using namespace std::string_literals;
  FuzzReplay("\x01\0\0\0\0\0\xe2\xfe"s);  // an inner page was cut before its first child
  // The end of an extent overflowed 64 bits.
  fractal::FuzzFractal(std::string_view(
      "\076\000\000\000\000\000\000\000\000\003\000\000\000\000\000\000\000\140\100\000"
      "\010\000\000\000\021\000\000\000\001\377\377\377\377\377\377\377\377\377\377\076"
      "\001\000\000\000\000\000\000\000\021\021\021\012\000\000\000\000\000\000\000\377"
      "\377\377\377\377\377\000\003\001\000\000\000\000\000\000\140\377\377\377\377\377"
      "\265\055\035\035\021\012\000\000\000\000\000\000\000\377\377\377\377\377\377\377"
      "\377\377\377\377\377\377\377\377\377\377\265\265\035\035\063\035\035\035\035\035"
      "\276\377\000\000\360\041\000",
      127));
  // A row's record was in a file that did not exist.
  mmapv1::FuzzMmapv1("\230\136\377\377\377\377\012\230"s);
}

}  // namespace
}  // namespace testbed::btree
