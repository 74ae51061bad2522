// kill -9 at random moments: what LMDB acknowledged must be there afterwards, whole. At each
// durability: what was written is in the page cache, which outlives the process.
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>

#include "tests/crash/killed_engine.h"

#ifdef TESTBED_HAVE_LMDB

namespace testbed {
namespace {

struct Way {
  Durability durability;
  bool writemap;
};

class LmdbCrashTest : public testing::TestWithParam<Way> {};

TEST_P(LmdbCrashTest, AcknowledgedCommitsSurviveAKill) {
  KilledEngine lmdb("lmdb");
  lmdb.options.durability = GetParam().durability;
  lmdb.options.extra["map_size"] = "4G";
  lmdb.options.extra["writemap"] = GetParam().writemap ? "on" : "off";
  lmdb.longest_value = 3000;
  std::mt19937_64 random(301);
  uint64_t rows = 0;  // rounds go on until there are some, however slow the disk is
  for (int round = 0; (round < 8 || rows <= 100) && round < 200 && !HasFailure(); ++round) {
    lmdb.RunAndKill(std::chrono::microseconds(random() % 150'000));
    rows = lmdb.ExpectWhole();
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
