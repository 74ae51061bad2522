// Tests the words about a run that ended because the kernel ended a process of it.
#include "tools/run/run_process.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace testbed {
namespace {

// waitpid gives the signal in the low bits, and an exit code in the byte above them.
TEST(EndedByKernelTest, TheSignalIsThatOfTheRunsOwnProcess) {
  EXPECT_EQ(EndedByKernelText(SIGKILL), "the kernel ended the run (signal 9)");
  EXPECT_EQ(EndedByKernelText(SIGABRT),
            "the kernel ended a process of the run (the run then ended by signal 6, Aborted)");
  EXPECT_EQ(EndedByKernelText(3 << 8),
            "the kernel ended a process of the run (the run then ended with exit code 3)");
}

// A run was told to give a smaller --cache-pct although its engine has no cache, or although its
// --cache-size decides.
TEST(MoreMemoryTextTest, OnlyWhatHasAnEffectIsAdvised) {
  RunOptions options;
  RunPlan plan;
  plan.engine_dir = "/proc";  // no tmpfs
  options.engine_name = "btree";
  EXPECT_EQ(MoreMemoryText(options, plan), "give a larger --ram or a smaller --cache-pct");
  options.cache_bytes = 64 << 20;
  EXPECT_EQ(MoreMemoryText(options, plan), "give a larger --ram or a smaller --cache-size");
  options.cache_bytes.reset();
  options.engine_name = "mmapv1";
  EXPECT_EQ(MoreMemoryText(options, plan), "give a larger --ram");
}

}  // namespace
}  // namespace testbed
