// Tests that `testbed crashtest` calls nothing a loss that was never promised: a round that it does
// not count kills the clients, too. And that it does not pass when its rounds have tested nothing.
#include <gtest/gtest.h>

#include <string>

#include "tests/own_dir.h"
#include "tools/crashtest/crashtest.h"
#include "tools/crashtest/crashtest_checks.h"
#include "tools/options.h"

namespace testbed {
namespace {

// No round has enough commits. Those of its last moments are in memory alone when it ends, as the
// lazy interval is long.
TEST(VoidRoundTest, LosesNoLazyCommitThatWasPromised) {
  const OwnDir dir("void_round_test");
  CrashtestOptions options;
  options.run = ParseRunOptions({"--engine", "btree", "--durability", "lazy", "--lazy-interval",
                                 "20000", "--engine-option", "log_segment=1M", "--rows", "1",
                                 "--dir", dir.path(), "--quiet"});
  options.run.Resolve();
  options.kills = 30;
  options.longest_ms = 20;
  options.least_commits = 1'000'000'000;
  options.commits_wait_ms = 200;
  const CrashtestResult result = RunCrashtest(options);
  EXPECT_EQ(result.void_rounds, 5u);
  ASSERT_EQ(result.failures.size(), 1u);
  EXPECT_NE(result.failures[0].find("tests nothing"), std::string::npos) << result.failures[0];
}

TEST(VoidRoundTest, ATestWhoseRoundsHaveTestedNothingFails) {
  CrashtestOptions options;
  options.disk_errors = 3;
  CrashtestResult result;
  FailIfNothingWasTested(options, &result);
  ASSERT_EQ(result.failures.size(), 1u);
  EXPECT_NE(result.failures[0].find("refused no write in 3 rounds"), std::string::npos);
  result = CrashtestResult();
  result.disk_errors = 1;
  result.file_systems_lost = 2;
  FailIfNothingWasTested(options, &result);
  EXPECT_TRUE(result.failures.empty()) << result.failures[0];
  options.disk_cuts = 2;
  result.file_systems_lost = 5;
  FailIfNothingWasTested(options, &result);
  ASSERT_EQ(result.failures.size(), 1u);
  EXPECT_NE(result.failures[0].find("none of 5 crashes left a file system"), std::string::npos);
  result = CrashtestResult();
  result.stopped = true;
  FailIfNothingWasTested(options, &result);
  EXPECT_TRUE(result.failures.empty()) << "there were no such rounds yet";
  result.stopped = false;
  FailIfNothingWasTested(CrashtestOptions(), &result);
  EXPECT_TRUE(result.failures.empty());
}

}  // namespace
}  // namespace testbed
