#include "workloads/measure/log_estimate.h"

#include <gtest/gtest.h>

#include "workloads/random.h"

namespace testbed {
namespace {

TEST(LogEstimateTest, ThePublishedCountersMeanMoreThanTwiceTheReportedBytes) {
  const LogWriteEstimate redo = EstimateLogWrites(656878594048, 370923966);
  EXPECT_NEAR(redo.bytes_per_sync, 1771, 0.5);
  EXPECT_EQ(redo.alignment, 512);  // the redo log is written in blocks of 512 bytes
  EXPECT_NEAR(redo.least_bytes / redo.bytes, 2.313, 0.001);
  EXPECT_NEAR(redo.expected_bytes / redo.bytes, 3.024, 0.001);
  const LogWriteEstimate binlog = EstimateLogWrites(699055440580, 385104140);
  EXPECT_NEAR(binlog.bytes_per_sync, 1815, 0.5);
  EXPECT_EQ(binlog.alignment, 1);
  EXPECT_NEAR(binlog.least_bytes / binlog.bytes, 2.256, 0.001);
  EXPECT_NEAR(binlog.expected_bytes / binlog.bytes, 3.256, 0.001);
}

TEST(LogEstimateTest, LargerPagesCostMoreAndPaddedWritesCostWhatTheySay) {
  EXPECT_GT(EstimateLogWrites(300 * 500, 500, 8192).expected_bytes, 500.0 * 8192);
  const LogWriteEstimate padded = EstimateLogWrites(500 * 4096, 500);
  EXPECT_EQ(padded.least_bytes, 500 * 4096);
  EXPECT_EQ(padded.expected_bytes, 500 * 4096);
}

TEST(LogEstimateTest, NothingWrittenIsNothingAndNoSyncIsOneWrite) {
  EXPECT_EQ(EstimateLogWrites(0, 0).expected_bytes, 0);
  EXPECT_EQ(EstimateLogWrites(100, 0).least_bytes, 4096);
}

// The test appends records of random sizes, and counts the pages that a sync after each would
// write.
TEST(LogEstimateTest, AgreesWithPagesCountedOneByOneWhateverTheSizes) {
  Random random(3);
  for (const uint64_t largest : {100, 1000, 4000, 30000}) {
    for (const uint64_t unit : {1, 512}) {
      uint64_t at = 0, pages = 0;
      const uint64_t syncs = 20000;
      for (uint64_t i = 0; i < syncs; ++i) {
        const uint64_t n = (1 + random.Below(largest)) / unit * unit + unit;
        pages += (at + n - 1) / 4096 - at / 4096 + 1;
        at += n;
      }
      if (at % 4096 == 0) at -= unit;
      const LogWriteEstimate e = EstimateLogWrites(at, syncs);
      EXPECT_EQ(e.alignment, unit);
      const double written = static_cast<double>(pages) * 4096;
      EXPECT_NEAR(e.expected_bytes / written, 1, 0.02) << largest << " " << unit;
      EXPECT_LE(e.least_bytes, written);
    }
  }
}

}  // namespace
}  // namespace testbed
