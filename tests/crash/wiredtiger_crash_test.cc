// kill -9 at random moments: what WiredTiger acknowledged as durable must be there afterwards.
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <thread>

#include "device/error.h"
#include "engines/registry.h"
#include "tests/crash/killed_child.h"

#ifdef TESTBED_HAVE_WIREDTIGER

namespace testbed {
namespace {

namespace fs = std::filesystem;

std::string Key(uint64_t i) { return "key" + std::to_string(i * 2654435761u % 1000003u); }
std::string Value(uint64_t i) {
  return "value of " + std::to_string(i) + std::string(i % 700, static_cast<char>('a' + i % 26));
}

class WiredtigerCrashTest : public testing::TestWithParam<IoMode> {
 protected:
  WiredtigerCrashTest() {
    // Not under /tmp, which may be a tmpfs without direct IO.
    std::string pattern = fs::current_path() / "wiredtiger_crash_XXXXXX";
    dir_ = mkdtemp(pattern.data());
    options_.io = GetParam();
    options_.cache_bytes = 2 << 20;
    options_.extra["checkpoint_log_bytes"] = "1M";
    options_.extra["log_file_max"] = "512k";
  }
  ~WiredtigerCrashTest() override {
    std::error_code ignored;
    fs::remove_all(dir_, ignored);
  }

  // Inserts from row `from` on, two rows and a counter a transaction, and acknowledges the
  // number of rows after each commit.
  void InsertUntilKilled(uint64_t from, const Acknowledge& acknowledge) {
    auto engine = OpenEngine("wiredtiger", dir_, options_);
    const TableId table = engine->OpenTable("t"), counter = engine->OpenTable("counter");
    auto session = engine->NewSession();
    for (uint64_t i = from;; i += 2) {
      session->Begin();
      session->Put(table, Key(i), Value(i));
      session->Put(table, Key(i + 1), Value(i + 1));
      session->Put(counter, "rows", std::to_string(i + 2));
      session->Commit();
      if (!acknowledge(i + 2)) return;
    }
  }

  uint64_t RunAndKill(uint64_t from, std::chrono::microseconds after_first) {
    return testbed::RunAndKill(from, after_first, [&](const Acknowledge& acknowledge) {
      InsertUntilKilled(from, acknowledge);
    });
  }

  std::string dir_;
  EngineOptions options_;
};

TEST_P(WiredtigerCrashTest, AcknowledgedSyncCommitsSurviveAKill) {
  options_.durability = Durability::kSync;
  try {
    OpenEngine("wiredtiger", dir_, options_);
  } catch (const Error& e) {
    if (e.kind() != Error::kUsage) throw;
    GTEST_SKIP() << e.what();
  }
  std::mt19937_64 random(301);
  uint64_t rows = 0;
  for (int round = 0; round < 8; ++round) {
    const uint64_t acknowledged = RunAndKill(rows, std::chrono::microseconds(random() % 150'000));
    auto engine = OpenEngine("wiredtiger", dir_, options_);
    const TableId table = engine->OpenTable("t"), counter = engine->OpenTable("counter");
    auto session = engine->NewSession();
    std::string_view value;
    ASSERT_TRUE(session->Get(counter, "rows", &value));
    // Whole transactions, all that were acknowledged, and at most the one under way beside them.
    rows = std::stoull(std::string(value));
    ASSERT_GE(rows, acknowledged);
    ASSERT_LE(rows, acknowledged + 2);
    for (uint64_t i = 0; i < rows; ++i) {
      ASSERT_TRUE(session->Get(table, Key(i), &value)) << "row " << i << " of " << rows;
      ASSERT_EQ(value, Value(i));
    }
    ASSERT_FALSE(session->Get(table, Key(rows), &value));
  }
  EXPECT_GT(rows, 100u);
}

TEST_P(WiredtigerCrashTest, LazyCommitsSurviveAKillAfterTheInterval) {
  options_.durability = Durability::kLazy;
  options_.lazy_interval_ms = 50;
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      auto engine = OpenEngine("wiredtiger", dir_, options_);
      const TableId table = engine->OpenTable("t");
      auto session = engine->NewSession();
      for (int i = 0; i < 100; ++i) session->Put(table, Key(i), Value(i));
      if (::write(pipe[1], "x", 1) == 1) ::pause();
    } catch (const Error& error) {
      fprintf(stderr, "%s\n", error.what());
    }
    ::_exit(1);
  }
  char x;
  const bool done = ::read(pipe[0], &x, 1) == 1;
  // The interval, and time for the sync itself on a slow device.
  std::this_thread::sleep_for(std::chrono::milliseconds(50 + 500));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(pipe[0]);
  ::close(pipe[1]);
  if (!done && GetParam() == IoMode::kDirect) {
    GTEST_SKIP() << "no direct IO on the file system of " << dir_;
  }
  ASSERT_TRUE(done);
  auto engine = OpenEngine("wiredtiger", dir_, options_);
  const TableId table = engine->OpenTable("t");
  auto session = engine->NewSession();
  std::string_view value;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(session->Get(table, Key(i), &value)) << i;
    EXPECT_EQ(value, Value(i));
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, WiredtigerCrashTest,
                         testing::Values(IoMode::kDirect, IoMode::kBuffered, IoMode::kMmap),
                         [](const auto& info) { return std::string(IoModeName(info.param)); });

}  // namespace
}  // namespace testbed

#endif  // TESTBED_HAVE_WIREDTIGER
