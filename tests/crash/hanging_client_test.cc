// Tests that `testbed crashtest` tells of a client that hangs in a commit: the crash would hide it.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include "tests/crash/engine_without_rows.h"
#include "tools/crashtest/crashtest.h"
#include "tools/options.h"

namespace testbed {
namespace {

constexpr int kCommitsBeforeTheHang = 5;

void CommitUntilItHangs() {
  static int commits = 0;  // in the child that writes
  if (++commits <= kCommitsBeforeTheHang) return;
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

TEST(HangingClientTest, FailsTheRoundBeforeACleanClose) {
  AddEngineWithoutRows("hanging", [] {}, CommitUntilItHangs);
  std::string dir = std::filesystem::current_path() / "hanging_client_test_XXXXXX";
  ASSERT_NE(::mkdtemp(dir.data()), nullptr);
  CrashtestOptions options;
  options.run = ParseRunOptions({"--engine", "hanging", "--io", "buffered", "--durability", "sync",
                                 "--rows", "1", "--dir", dir, "--quiet"});
  options.run.Resolve();
  options.kills = 1;
  options.writers = 1;
  options.longest_ms = 1;
  options.least_commits = kCommitsBeforeTheHang;
  options.commits_wait_ms = 300;
  options.run.data.seed = SeedOfFirstCrash(90, 75);
  const CrashtestResult result = RunCrashtest(options);
  ASSERT_EQ(result.failures.size(), 1u);
  EXPECT_NE(result.failures[0].find("did not end its commits within 300 ms"), std::string::npos)
      << result.failures[0];
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace testbed
