// Tests that `testbed crashtest` tells the user's stop from a failure of the engine: a child that
// is forked after the stop inherits it, and an engine that waits for its server then ends.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>

#include "device/error.h"
#include "device/os/signal_guard.h"
#include "tests/crash/engine_without_rows.h"
#include "tests/own_dir.h"
#include "tools/crashtest/crashtest.h"

namespace testbed {
namespace {

// The moment at which a child asks the whole test to stop, as Ctrl-C would.
enum class StopAt : uint8_t { kNever, kOpening, kCommit };
StopAt stop_at = StopAt::kNever;

void OpenUnlessStopped() {
  if (stop_at == StopAt::kOpening) ::kill(::getppid(), SIGTERM);
  if (stop_at == StopAt::kOpening || StopRequested()) throw Stopped("while its server started");
}

void CommitUntilStopped() {
  static bool asked = false;  // in the child that writes
  if (stop_at == StopAt::kCommit && !std::exchange(asked, true)) ::kill(::getppid(), SIGTERM);
  if (stop_at == StopAt::kNever) throw Error(Error::kRun, "it broke");
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

// Makes two kills of the engine, of which the user's stop leaves none. The first comes while the
// clients write.
CrashtestResult StoppedAt(StopAt at) {
  static const bool added =
      (AddEngineWithoutRows("stopping", OpenUnlessStopped, CommitUntilStopped), true);
  EXPECT_TRUE(added);
  stop_at = at;
  const SignalGuard signals;
  const OwnDir dir("stopped_round_test");
  CrashtestOptions options = ShortCrashtest("stopping", {"--dir", dir.path()});
  options.kills = 2;
  options.commits_wait_ms = 2000;
  options.run.data.seed = SeedOfFirstCrash(50);
  return RunCrashtest(options);
}

TEST(StoppedRoundTest, IsNoFailureAndCountsForNothing) {
  for (const StopAt at : {StopAt::kOpening, StopAt::kCommit}) {
    const CrashtestResult result = StoppedAt(at);
    EXPECT_TRUE(result.stopped);
    EXPECT_TRUE(result.failures.empty()) << result.failures[0];
    EXPECT_EQ(result.kills, 0u);
  }
}

TEST(StoppedRoundTest, AFailureWithoutAStopIsOne) {
  const CrashtestResult result = StoppedAt(StopAt::kNever);
  EXPECT_FALSE(result.stopped);
  ASSERT_EQ(result.failures.size(), 1u);
  EXPECT_NE(result.failures[0].find("it broke"), std::string::npos) << result.failures[0];
}

}  // namespace
}  // namespace testbed
