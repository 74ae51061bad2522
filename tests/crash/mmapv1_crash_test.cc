// kill -9 at random moments: what mmapv1 acknowledged with j:1 must be there afterwards, whole, and
// `check` must find nothing wrong, before recovery and after it. With j:0 whole transactions are
// there up to one that is not older than the interval.
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>

#include "tests/crash/killed_engine.h"

namespace testbed {
namespace {

// A busy machine may run the commit thread late. That it runs in time is not for a test to tell.
constexpr uint32_t kSlack = 300;

struct Way {
  Durability durability;
  const char* generation;
};

class Mmapv1CrashTest : public testing::TestWithParam<Way> {};

TEST_P(Mmapv1CrashTest, AcknowledgedCommitsSurviveAKill) {
  KilledEngine mmapv1("mmapv1");
  EngineOptions& options = mmapv1.options;
  options.durability = GetParam().durability;
  options.lazy_interval_ms = 40;
  options.extra = {{"generation", GetParam().generation},
                   {"small_files", "on"},
                   {"first_file_size", "1M"},
                   {"journal_file_size", "1M"},
                   {"sync_delay", "0.05"}};
  if (options.durability == Durability::kSync) options.extra["journal_commit_interval"] = "4";
  if (options.durability == Durability::kLazy) {
    mmapv1.durable_after = std::chrono::milliseconds(options.lazy_interval_ms + kSlack);
  }
  mmapv1.longest_value = 3000;
  std::mt19937_64 random(301);
  uint64_t rows = 0;  // rounds go on until there are some, however slow the disk is
  for (int round = 0; (round < 8 || rows <= 50) && round < 200 && !HasFailure(); ++round) {
    mmapv1.RunAndKill(std::chrono::microseconds(random() % 200'000));
    mmapv1.ExpectSound("before recovery");
    rows = mmapv1.ExpectWhole();
    mmapv1.ExpectSound("after recovery");
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
