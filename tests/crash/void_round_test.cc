// Tests that `testbed crashtest` calls nothing a loss that was never promised: a round that it does
// not count kills the clients, too.
#include <gtest/gtest.h>

#include <string>

#include "tests/own_dir.h"
#include "tools/crashtest/crashtest.h"
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

}  // namespace
}  // namespace testbed
