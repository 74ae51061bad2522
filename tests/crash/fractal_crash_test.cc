// kill -9 at random moments of a fractal tree that flushes, splits, evicts and checkpoints all the
// time: what it acknowledged must be there afterwards, whole, and its files sound.
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>

#include "tests/crash/killed_engine.h"

namespace testbed {
namespace {

class FractalCrashTest : public testing::TestWithParam<Durability> {};

TEST_P(FractalCrashTest, AcknowledgedCommitsSurviveAKill) {
  KilledEngine fractal("fractal");
  fractal.options.durability = GetParam();
  fractal.options.page_size = 4096;
  fractal.options.cache_bytes = 2 << 20;
  fractal.options.compression = "lz4";
  fractal.options.extra = {{"node_size", "64k"},
                           {"fanout", "4"},
                           {"checkpoint_period", "15"},
                           {"cleaner_period", "10"},
                           {"log_segment", "1M"}};
  // Without sync what is in the log's buffer alone is lost.
  if (GetParam() != Durability::kSync) fractal.durable_after.reset();
  std::mt19937_64 random(301);
  uint64_t rows = 0;  // rounds go on until there are some, however slow the disk is
  for (int round = 0; (round < 10 || rows <= 100) && round < 200 && !HasFailure(); ++round) {
    fractal.RunAndKill(std::chrono::microseconds(random() % 150'000));
    fractal.ExpectSound("before recovery");
    rows = fractal.ExpectWhole();
    fractal.ExpectSound("after recovery");
  }
  EXPECT_GT(rows, 100u);
}

INSTANTIATE_TEST_SUITE_P(Ways, FractalCrashTest,
                         testing::Values(Durability::kSync, Durability::kLazy, Durability::kNone),
                         [](const auto& info) { return std::string(DurabilityName(info.param)); });

}  // namespace
}  // namespace testbed
