// Tests the line of progress of a backup and of a compaction: its figures, and when it is shown.
#include "tools/maintenance/copy_progress.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

namespace testbed {
namespace {

using std::chrono::milliseconds;

constexpr uint64_t kMillion = 1000000;

TEST(CopyProgressTest, TellsTheBytesTheRateAndTheTimeLeft) {
  EXPECT_EQ(CopyProgressText(10, 2500 * kMillion, 10000 * kMillion),
            "10 s, 2,500 of 10,000 MB read, 250 MB/s, 25 %, 30 s left");
}

// The opening of a database may take a while, in which it reads its log alone.
TEST(CopyProgressTest, BeforeTheFirstByteNoTimeIsKnown) {
  EXPECT_EQ(CopyProgressText(10, 0, 10 * kMillion), "10 s, 0 of 10 MB read");
  EXPECT_EQ(CopyProgressText(10, 0, 0), "10 s, 0 of 0 MB read");
}

TEST(CopyProgressTest, WhereMoreIsReadThanWasExpectedNothingIsLeft) {
  EXPECT_EQ(CopyProgressText(10, 20 * kMillion, 10 * kMillion),
            "10 s, 20 of 20 MB read, 2 MB/s, 100 %, 0 s left");
}

TEST(CopyProgressTest, LinesAreShownInTheCourse) {
  std::atomic<int> calls = 0;
  testing::internal::CaptureStderr();
  {
    const CopyProgress progress(
        "backup d", 10 * kMillion, {.quiet = false, .line_seconds = 0.01},
        [&calls]() -> uint64_t {
          ++calls;
          return 5 * kMillion;
        },
        milliseconds(1));
    for (int i = 0; i < 60000 && calls < 3; ++i) std::this_thread::sleep_for(milliseconds(1));
  }
  const std::string shown = testing::internal::GetCapturedStderr();
  EXPECT_EQ(shown.find("backup d: "), 0u) << shown;
  EXPECT_NE(shown.find(" s, 5 of 10 MB read, "), std::string::npos) << shown;
  EXPECT_NE(shown.find(" MB/s, 50 %, "), std::string::npos) << shown;
}

TEST(CopyProgressTest, QuietAsksForNothing) {
  std::atomic<int> calls = 0;
  {
    const CopyProgress progress(
        "backup d", 10 * kMillion, {.quiet = true},
        [&calls]() -> uint64_t { return static_cast<uint64_t>(++calls); }, milliseconds(1));
    std::this_thread::sleep_for(milliseconds(20));
  }
  EXPECT_EQ(calls.load(), 0);
}

}  // namespace
}  // namespace testbed
