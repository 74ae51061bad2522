// kill -9 at random moments: what WiredTiger acknowledged as durable must be there afterwards.
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>

#include "device/error.h"
#include "tests/crash/killed_engine.h"

#ifdef TESTBED_HAVE_WIREDTIGER

namespace testbed {
namespace {

class WiredtigerCrashTest : public testing::TestWithParam<IoMode> {
 protected:
  void SetUp() override {
    wiredtiger_.options.io = GetParam();
    wiredtiger_.options.cache_bytes = 2 << 20;
    wiredtiger_.options.extra["checkpoint_log_bytes"] = "1M";
    wiredtiger_.options.extra["log_file_max"] = "512k";
    wiredtiger_.longest_value = 700;
    try {
      wiredtiger_.Open();
    } catch (const Error& e) {
      if (e.kind() != Error::kUsage) throw;
      GTEST_SKIP() << e.what();
    }
  }
  // Returns the rows that are there in the end.
  uint64_t KillAndLook(int rounds) {
    std::mt19937_64 random(301);
    uint64_t rows = 0;
    for (int round = 0; round < rounds && !HasFailure(); ++round) {
      wiredtiger_.RunAndKill(std::chrono::microseconds(random() % 150'000));
      rows = wiredtiger_.ExpectWhole();
    }
    return rows;
  }

  KilledEngine wiredtiger_{"wiredtiger"};
};

TEST_P(WiredtigerCrashTest, AcknowledgedSyncCommitsSurviveAKill) {
  wiredtiger_.options.durability = Durability::kSync;
  EXPECT_GT(KillAndLook(8), 100u);
}

TEST_P(WiredtigerCrashTest, LazyCommitsSurviveAKillAfterTheInterval) {
  wiredtiger_.options.durability = Durability::kLazy;
  wiredtiger_.options.lazy_interval_ms = 50;
  // The interval, and time for the sync itself on a slow device.
  wiredtiger_.durable_after = std::chrono::milliseconds(50 + 500);
  EXPECT_GT(KillAndLook(4), 100u);
}

INSTANTIATE_TEST_SUITE_P(Modes, WiredtigerCrashTest,
                         testing::Values(IoMode::kDirect, IoMode::kBuffered, IoMode::kMmap),
                         [](const auto& info) { return std::string(IoModeName(info.param)); });

}  // namespace
}  // namespace testbed

#endif  // TESTBED_HAVE_WIREDTIGER
