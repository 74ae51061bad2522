#include "tools/output/standard_streams.h"

#include <gtest/gtest.h>

#include "device/error.h"
#include "device/os/signal_guard.h"

namespace testbed {
namespace {

TEST(JudgedOrFailedTest, OnlyAJudgementHasCodeOne) {
  EXPECT_EQ(JudgedOrFailed([] { return 1; }), 1);
  try {
    (void)JudgedOrFailed([]() -> int { throw Error(Error::kRun, "no memory"); });
    FAIL() << "it would end with 1";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::kUsage);
  }
  // A user who asked to stop gets exit code 130, and not 2.
  EXPECT_THROW((void)JudgedOrFailed([]() -> int { throw Stopped("before it was told"); }), Stopped);
}

}  // namespace
}  // namespace testbed
