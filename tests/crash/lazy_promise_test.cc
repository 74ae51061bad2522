// Tests that `testbed crashtest` asks for the lazy commits that a checkpoint has made durable,
// however young they are.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>

#include "tests/crash/engine_without_rows.h"
#include "tests/own_dir.h"
#include "tools/crashtest/crashtest.h"
#include "tools/options.h"

namespace testbed {
namespace {

// The commits that the round needs before its crash. Their age alone promises them.
constexpr uint64_t kOldCommits = 5;

// The commits after the old ones take a while each.
void CommitSlowly() {
  static uint64_t commits = 0;  // in the child that writes
  if (++commits > kOldCommits) std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

TEST(LazyPromiseTest, ACheckpointPromisesTheCommitsBeforeIt) {
  AddEngineWithoutRows("lazy-loser", [] {}, CommitSlowly);
  const OwnDir dir("lazy_promise_test");
  CrashtestOptions options;
  options.run =
      ParseRunOptions({"--engine", "lazy-loser", "--io", "buffered", "--durability", "lazy",
                       "--lazy-interval", "10", "--rows", "1", "--dir", dir.path(), "--quiet"});
  options.run.Resolve();
  options.kills = 1;
  options.writers = 1;
  options.longest_ms = 1;
  options.least_commits = kOldCommits;
  options.run.data.seed = SeedOfFirstCrash(75, 50);  // during checkpoints
  const CrashtestResult result = RunCrashtest(options);
  ASSERT_EQ(result.failures.size(), 1u);
  const std::string& failure = result.failures[0];
  const std::string begin = "during checkpoints: transaction ";
  const size_t at = failure.find(begin);
  ASSERT_NE(at, std::string::npos) << failure;
  EXPECT_GT(std::stoull(failure.substr(at + begin.size())), 2 * kOldCommits) << failure;
}

}  // namespace
}  // namespace testbed
