// kill -9 at random moments: what mmapv1 acknowledged with j:1 must be there afterwards, whole, and
// `check` must find nothing wrong, before recovery and after it. With j:0 whole transactions are
// there up to one that is not older than the interval.
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

namespace testbed {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// A busy machine may run the commit thread late. That it runs in time is not for a test to tell.
constexpr uint32_t kSlack = 300;

std::string Key(uint64_t i) { return "key" + std::to_string(i * 2654435761u % 1000003u); }
std::string Value(uint64_t i) {
  return "value of " + std::to_string(i) + std::string(i % 3000, static_cast<char>('a' + i % 26));
}

struct Way {
  Durability durability;
  const char* generation;
};

class Mmapv1CrashTest : public testing::TestWithParam<Way> {
 protected:
  Mmapv1CrashTest() : options_(DefaultEngineOptions(FindEngine("mmapv1"))) {
    std::string pattern = fs::current_path() / "mmapv1_crash_XXXXXX";
    dir_ = mkdtemp(pattern.data());
    options_.durability = GetParam().durability;
    options_.lazy_interval_ms = 40;
    options_.extra = {{"generation", GetParam().generation},
                      {"small_files", "on"},
                      {"first_file_size", "1M"},
                      {"journal_file_size", "1M"},
                      {"sync_delay", "0.05"}};
    if (GetParam().durability == Durability::kSync) options_.extra["journal_commit_interval"] = "4";
  }
  ~Mmapv1CrashTest() override {
    std::error_code ignored;
    fs::remove_all(dir_, ignored);
  }

  // Inserts from row `from` on, two rows, a counter and the erasure of an older row a transaction,
  // and acknowledges the number of rows after each commit; with j:0 once they must be durable.
  void InsertUntilKilled(uint64_t from, const Acknowledge& acknowledge) {
    auto engine = OpenEngine("mmapv1", dir_, options_);
    const TableId table = engine->OpenTable("t"), counter = engine->OpenTable("counter");
    auto session = engine->NewSession();
    std::vector<std::pair<Clock::time_point, uint64_t>> waiting;
    const auto interval = std::chrono::milliseconds(
        GetParam().durability == Durability::kLazy ? options_.lazy_interval_ms + kSlack : 0);
    for (uint64_t i = from;; i += 2) {
      session->Begin();
      session->Put(table, Key(i), Value(i));
      session->Put(table, Key(i + 1), Value(i + 1));
      session->Put(counter, "rows", std::to_string(i + 2));
      if (i % 6 == 0) session->Erase(table, Key(i / 2));
      session->Commit();
      waiting.emplace_back(Clock::now(), i + 2);
      size_t due = 0;
      while (due < waiting.size() && waiting[due].first + interval <= Clock::now()) ++due;
      if (due > 0 && !acknowledge(waiting[due - 1].second)) return;
      waiting.erase(waiting.begin(), waiting.begin() + static_cast<ptrdiff_t>(due));
      if (interval.count() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  // Whether the transactions up to `rows` have erased row i.
  static bool Erased(uint64_t i, uint64_t rows) { return i % 3 == 0 && 2 * i + 2 <= rows; }

  void ExpectSound(const std::string& when) const {
    const Inspection result = FindEngine("mmapv1").check(dir_, {});
    EXPECT_EQ(result.faults.count, 0u) << when << ": " << result.faults.kept.front().Text();
  }

  std::string dir_;
  EngineOptions options_;
};

TEST_P(Mmapv1CrashTest, AcknowledgedCommitsSurviveAKill) {
  std::mt19937_64 random(301);
  uint64_t rows = 0;
  for (int round = 0; round < 8; ++round) {
    const uint64_t acknowledged =
        RunAndKill(rows, std::chrono::microseconds(random() % 200'000),
                   [&](const Acknowledge& acknowledge) { InsertUntilKilled(rows, acknowledge); });
    ExpectSound("before recovery");
    auto engine = OpenEngine("mmapv1", dir_, options_);
    const TableId table = engine->OpenTable("t"), counter = engine->OpenTable("counter");
    auto session = engine->NewSession();
    std::string_view value;
    ASSERT_TRUE(session->Get(counter, "rows", &value));
    rows = std::stoull(std::string(value));
    ASSERT_GE(rows, acknowledged);
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
    cursor.reset();
    session.reset();
    engine.reset();
    ExpectSound("after recovery");
  }
  EXPECT_GT(rows, 50u);
}

INSTANTIATE_TEST_SUITE_P(Ways, Mmapv1CrashTest,
                         testing::Values(Way{Durability::kSync, "2.6"},
                                         Way{Durability::kSync, "2.4"},
                                         Way{Durability::kLazy, "2.6"}),
                         [](const auto& info) {
                           return std::string(DurabilityName(info.param.durability)) +
                                  (info.param.generation[2] == '4' ? "_24" : "_26");
                         });

}  // namespace
}  // namespace testbed
