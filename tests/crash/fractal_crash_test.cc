// kill -9 at random moments of a fractal tree that flushes, splits, evicts and checkpoints all the
// time: what it acknowledged must be there afterwards, whole, and its files sound.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <random>
#include <string>

#include "device/error.h"
#include "engines/registry.h"
#include "tests/crash/killed_child.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

std::string Key(uint64_t i) { return "key" + std::to_string(i * 2654435761u % 1000003u); }
std::string Value(uint64_t i) {
  return "value of " + std::to_string(i) + std::string(i % 1500, static_cast<char>('a' + i % 26));
}

class FractalCrashTest : public testing::TestWithParam<Durability> {
 protected:
  FractalCrashTest() : options_(DefaultEngineOptions(FindEngine("fractal"))) {
    std::string pattern = fs::current_path() / "fractal_crash_XXXXXX";
    dir_ = mkdtemp(pattern.data());
    options_.durability = GetParam();
    options_.page_size = 4096;
    options_.cache_bytes = 2 << 20;
    options_.compression = "lz4";
    options_.extra = {{"node_size", "64k"},
                      {"fanout", "4"},
                      {"checkpoint_period", "15"},
                      {"cleaner_period", "10"},
                      {"log_segment", "1M"}};
  }
  ~FractalCrashTest() override {
    std::error_code ignored;
    fs::remove_all(dir_, ignored);
  }

  // Inserts from row `from` on, two rows in two tables, a counter and the erasure of an older row a
  // transaction, and acknowledges the number of rows after each commit.
  void InsertUntilKilled(uint64_t from, const Acknowledge& acknowledge) {
    auto engine = OpenEngine("fractal", dir_, options_);
    const TableId even = engine->OpenTable("even"), odd = engine->OpenTable("odd");
    const TableId counter = engine->OpenTable("counter");
    auto session = engine->NewSession();
    for (uint64_t i = from;; i += 2) {
      session->Begin();
      session->Put(even, Key(i), Value(i));
      session->Put(odd, Key(i + 1), Value(i + 1));
      session->Put(counter, "rows", std::to_string(i + 2));
      if (i % 6 == 0) session->Erase(i / 2 % 2 == 0 ? even : odd, Key(i / 2));
      session->Commit();
      if (!acknowledge(i + 2)) return;
    }
  }
  // Whether the transactions up to `rows` have erased row i.
  static bool Erased(uint64_t i, uint64_t rows) { return i % 3 == 0 && 2 * i + 2 <= rows; }

  std::string dir_;
  EngineOptions options_;
};

TEST_P(FractalCrashTest, AcknowledgedCommitsSurviveAKill) {
  std::mt19937_64 random(301);
  uint64_t rows = 0;
  for (int round = 0; round < 10; ++round) {
    const uint64_t from = rows;
    const uint64_t acknowledged =
        RunAndKill(from, std::chrono::microseconds(random() % 150'000),
                   [&](const Acknowledge& a) { InsertUntilKilled(from, a); });
    const Inspection found = FindEngine("fractal").check(dir_, InspectOptions());
    for (const Fault& fault : found.faults.kept) ADD_FAILURE() << fault.Text();
    auto engine = OpenEngine("fractal", dir_, options_);
    const TableId even = engine->OpenTable("even"), odd = engine->OpenTable("odd");
    auto session = engine->NewSession();
    std::string_view value;
    ASSERT_TRUE(session->Get(engine->OpenTable("counter"), "rows", &value));
    rows = std::stoull(std::string(value));
    if (GetParam() == Durability::kSync) {
      ASSERT_GE(rows, acknowledged);  // else what was in memory only is lost
    }
    ASSERT_LE(rows, acknowledged + 2);
    for (uint64_t i = 0; i < rows; ++i) {
      const bool erased = Erased(i, rows);
      ASSERT_EQ(session->Get(i % 2 == 0 ? even : odd, Key(i), &value), !erased)
          << "row " << i << " of " << rows;
      if (!erased) {
        ASSERT_EQ(value, Value(i));
      }
    }
    ASSERT_FALSE(session->Get(even, Key(rows), &value));
  }
  EXPECT_GT(rows, 100u);
}

INSTANTIATE_TEST_SUITE_P(Ways, FractalCrashTest,
                         testing::Values(Durability::kSync, Durability::kLazy, Durability::kNone),
                         [](const auto& info) { return std::string(DurabilityName(info.param)); });

}  // namespace
}  // namespace testbed
