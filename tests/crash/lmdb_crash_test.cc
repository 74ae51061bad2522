// kill -9 at random moments: what LMDB acknowledged must be there afterwards, whole. At each
// durability: what was written is in the page cache, which outlives the process.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "device/error.h"
#include "engines/registry.h"
#include "tests/crash/killed_child.h"

#ifdef TESTBED_HAVE_LMDB

namespace testbed {
namespace {

namespace fs = std::filesystem;

std::string Key(uint64_t i) { return "key" + std::to_string(i * 2654435761u % 1000003u); }
std::string Value(uint64_t i) {
  return "value of " + std::to_string(i) + std::string(i % 3000, static_cast<char>('a' + i % 26));
}

struct Way {
  Durability durability;
  bool writemap;
};

class LmdbCrashTest : public testing::TestWithParam<Way> {
 protected:
  LmdbCrashTest() : options_(DefaultEngineOptions(FindEngine("lmdb"))) {
    std::string pattern = fs::current_path() / "lmdb_crash_XXXXXX";
    dir_ = mkdtemp(pattern.data());
    options_.durability = GetParam().durability;
    options_.extra["map_size"] = "4G";
    options_.extra["writemap"] = GetParam().writemap ? "on" : "off";
  }
  ~LmdbCrashTest() override {
    std::error_code ignored;
    fs::remove_all(dir_, ignored);
  }

  // Inserts from row `from` on, two rows, a counter and the erasure of an older row a transaction,
  // and acknowledges the number of rows after each commit.
  void InsertUntilKilled(uint64_t from, const Acknowledge& acknowledge) {
    auto engine = OpenEngine("lmdb", dir_, options_);
    const TableId table = engine->OpenTable("t"), counter = engine->OpenTable("counter");
    auto session = engine->NewSession();
    for (uint64_t i = from;; i += 2) {
      session->Begin();
      session->Put(table, Key(i), Value(i));
      session->Put(table, Key(i + 1), Value(i + 1));
      session->Put(counter, "rows", std::to_string(i + 2));
      if (i % 6 == 0) session->Erase(table, Key(i / 2));
      session->Commit();
      if (!acknowledge(i + 2)) return;
    }
  }
  // Whether the transactions up to `rows` have erased row i.
  static bool Erased(uint64_t i, uint64_t rows) { return i % 3 == 0 && 2 * i + 2 <= rows; }

  uint64_t RunAndKill(uint64_t from, std::chrono::microseconds after_first) {
    return testbed::RunAndKill(from, after_first, [&](const Acknowledge& acknowledge) {
      InsertUntilKilled(from, acknowledge);
    });
  }

  std::string dir_;
  EngineOptions options_;
};

TEST_P(LmdbCrashTest, AcknowledgedCommitsSurviveAKill) {
  std::mt19937_64 random(301);
  uint64_t rows = 0;
  for (int round = 0; round < 8; ++round) {
    const uint64_t acknowledged = RunAndKill(rows, std::chrono::microseconds(random() % 150'000));
    auto engine = OpenEngine("lmdb", dir_, options_);
    const TableId table = engine->OpenTable("t"), counter = engine->OpenTable("counter");
    auto session = engine->NewSession();
    std::string_view value;
    ASSERT_TRUE(session->Get(counter, "rows", &value));
    // Whole transactions, all that were acknowledged, and at most the one under way beside them.
    rows = std::stoull(std::string(value));
    ASSERT_GE(rows, acknowledged);
    ASSERT_LE(rows, acknowledged + 2);
    uint64_t there = 0;
    for (uint64_t i = 0; i < rows; ++i) {
      const bool erased = Erased(i, rows);
      ASSERT_EQ(session->Get(table, Key(i), &value), !erased) << "row " << i << " of " << rows;
      if (erased) continue;
      ASSERT_EQ(value, Value(i));
      ++there;
    }
    ASSERT_FALSE(session->Get(table, Key(rows), &value));
    auto cursor = session->NewCursor(table);
    uint64_t walked = 0;
    for (bool on = cursor->First(); on; on = cursor->Next()) ++walked;
    ASSERT_EQ(walked, there);
  }
  EXPECT_GT(rows, 100u);
}

INSTANTIATE_TEST_SUITE_P(Ways, LmdbCrashTest,
                         testing::Values(Way{Durability::kSync, false},
                                         Way{Durability::kLazy, false},
                                         Way{Durability::kNone, false},
                                         Way{Durability::kSync, true}),
                         [](const auto& info) {
                           return std::string(DurabilityName(info.param.durability)) +
                                  (info.param.writemap ? "_writemap" : "");
                         });

}  // namespace
}  // namespace testbed

#endif  // TESTBED_HAVE_LMDB
