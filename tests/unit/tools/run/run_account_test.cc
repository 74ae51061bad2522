// Tests which levels a run reads at each depth of its account.
#include "tools/run/run_account.h"

#include <gtest/gtest.h>

#include "device/account/block_device.h"
#include "device/account/ledger.h"

namespace testbed {
namespace {

// Once, the statistics were read each second, and --live and --metrics showed them.
TEST(RunAccountTest, BelowTheDepthOfTheDeviceItsStatisticsAreNotRead) {
  RunOptions options;
  options.engine_name = "btree";
  RunPlan plan;
  plan.engine_dir = ".";
  for (const AccountDepth depth : {AccountDepth::kOff, AccountDepth::kFile}) {
    options.account = depth;
    const RunAccount account(options, plan);
    EXPECT_EQ(account.device(), nullptr);
    EXPECT_FALSE(account.Levels().device);
  }
  Ledger::Get().Configure(AccountDepth::kFile, nullptr);
  if (!BlockDevice::Find(plan.engine_dir)) GTEST_SKIP() << "this directory is on no block device";
}

}  // namespace
}  // namespace testbed
