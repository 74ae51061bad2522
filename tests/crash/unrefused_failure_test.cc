// Tests that `testbed crashtest` tells of a client that fails in a round of disk errors, when the
// disk has refused no write: the test did not cause it.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "device/error.h"
#include "device/machine/fault_disk.h"
#include "device/machine/scratch.h"
#include "tests/crash/engine_without_rows.h"
#include "tools/crashtest/crashtest.h"

namespace testbed {
namespace {

// Fails after a while.
void CommitForAWhile() {
  static int commits = 0;  // in the child that writes
  if (++commits > 200) throw Error(Error::kRun, "it broke");
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST(UnrefusedFailureTest, IsAFailureOfTheEngine) {
  std::string why;
  if (!ScratchDevice::Available(&why) || !FaultDisk::Available(&why)) GTEST_SKIP() << why;
  // Its only file is empty, so there is no write which the disk could refuse.
  AddEngineWithoutRows("brittle", [] {}, CommitForAWhile);
  CrashtestOptions options = ShortCrashtest("brittle", {"--scratch", "64M"});
  options.kills = 0;
  options.disk_errors = 1;
  // A clean close would end the client before it fails.
  options.run.data.seed = SeedOfFirstCrash(75);
  const CrashtestResult result = RunCrashtest(options);
  ASSERT_EQ(result.failures.size(), 1u);
  EXPECT_NE(result.failures[0].find("a client failed, and no fault was injected: it broke"),
            std::string::npos)
      << result.failures[0];
  EXPECT_EQ(result.disk_errors, 0u);
}

}  // namespace
}  // namespace testbed
