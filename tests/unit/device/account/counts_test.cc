// Tests the sums and differences of counts, of which the cost of a phase is one. No two counts are
// equal here, so that one that is left out, or taken for another, shows.
#include "device/account/counts.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

#include "device/account/operations.h"

namespace testbed {
namespace {

constexpr auto kLog = static_cast<size_t>(FileKind::kLog);
constexpr auto kData = static_cast<size_t>(FileKind::kData);

BlockCounts Blocks(uint64_t n) {
  return {.reads = n,
          .read_bytes = 10 * n,
          .writes = 100 * n,
          .write_bytes = 1000 * n,
          .flushes = 7 * n,
          .readahead = 3 * n};
}

FileCounts Calls(uint64_t n) {
  return {
      .reads = n, .read_bytes = 10 * n, .writes = 100 * n, .write_bytes = 1000 * n, .syncs = 7 * n};
}

LedgerCounts Counts(uint64_t n) {
  LedgerCounts counts;
  LedgerCounts::Op& op = counts.ops[kCheckpoint.id];
  op.operations = 2 * n;
  op.file_reads[1] = 3 * n;
  op.kernel_reads[kBlockBuckets - 1] = 5 * n;
  op.file[kLog] = Calls(n);
  op.file[kData] = Calls(11 * n);
  op.kernel[kLog] = Blocks(n);
  op.kernel[kData] = Blocks(13 * n);
  op.wire = {.round_trips = n, .sent_bytes = 10 * n, .received_bytes = 100 * n};
  counts.foreign.push_back({"kworker", FileKind::kData, Blocks(17 * n)});
  counts.foreign.push_back({"kworker", FileKind::kLog, Blocks(19 * n)});
  counts.foreign.push_back({"jbd2", FileKind::kData, Blocks(23 * n)});
  return counts;
}

void ExpectCalls(const FileCounts& found, uint64_t n) {
  EXPECT_EQ(found.reads, n);
  EXPECT_EQ(found.read_bytes, 10 * n);
  EXPECT_EQ(found.writes, 100 * n);
  EXPECT_EQ(found.write_bytes, 1000 * n);
  EXPECT_EQ(found.syncs, 7 * n);
}

TEST(CountsTest, ADifferenceLeavesOutAllThatWasBefore) {
  const LedgerCounts cost = Counts(3) - Counts(1), expected = Counts(2);
  const LedgerCounts::Op& op = cost.ops[kCheckpoint.id];
  const LedgerCounts::Op& right = expected.ops[kCheckpoint.id];
  EXPECT_EQ(op.operations, right.operations);
  EXPECT_EQ(op.file_reads, right.file_reads);
  EXPECT_EQ(op.kernel_reads, right.kernel_reads);
  ExpectCalls(op.file[kLog], 2);
  ExpectCalls(op.file[kData], 22);
  EXPECT_EQ(op.kernel[kLog], Blocks(2));
  EXPECT_EQ(op.kernel[kData], Blocks(26));
  EXPECT_EQ(op.wire, right.wire);
  ASSERT_EQ(cost.foreign.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(cost.foreign[i].counts, expected.foreign[i].counts) << i;
}

TEST(CountsTest, OfOtherThreadsOnlyThoseThatCausedSomethingAreLeft) {
  LedgerCounts after = Counts(1);
  after.foreign[1].counts.flushes += 1;
  after.foreign.push_back({"sshd", FileKind::kOtherFile, Blocks(4)});
  const LedgerCounts cost = after - Counts(1);
  ASSERT_EQ(cost.foreign.size(), 2u);
  EXPECT_EQ(cost.foreign[0].kind, FileKind::kLog);
  EXPECT_EQ(cost.foreign[0].counts, BlockCounts{.flushes = 1});
  EXPECT_EQ(cost.foreign[1].thread, "sshd");
  EXPECT_EQ(cost.foreign[1].counts, Blocks(4));
}

TEST(CountsTest, ATotalHasAllKindsOperationsAndThreads) {
  LedgerCounts counts = Counts(1);
  counts.ops[kUnscoped.id].kernel[kLog] = Blocks(29);
  const LedgerCounts::Op& op = counts.ops[kCheckpoint.id];
  ExpectCalls(op.FileTotal(), 12);
  EXPECT_EQ(op.KernelTotal(), Blocks(14));
  EXPECT_EQ(counts.KernelTotal(), Blocks(14 + 29 + 17 + 19 + 23));
  WireCounts wire = op.wire;
  wire += Counts(2).ops[kCheckpoint.id].wire;
  EXPECT_EQ(wire, Counts(3).ops[kCheckpoint.id].wire);
}

TEST(CountsTest, OfTheForeignThreadsOthersHaveNoFileOfTheDatabase) {
  LedgerCounts counts = Counts(1);
  EXPECT_EQ(counts.OtherPrograms(), BlockCounts{});
  counts.foreign.push_back({"cp", FileKind::kOtherFile, Blocks(3)});
  counts.foreign.push_back({"sshd", FileKind::kOtherFile, Blocks(4)});
  counts.ops[kCheckpoint.id].kernel[static_cast<size_t>(FileKind::kOtherFile)] = Blocks(5);
  EXPECT_EQ(counts.OtherPrograms(), Blocks(7));
}

}  // namespace
}  // namespace testbed
