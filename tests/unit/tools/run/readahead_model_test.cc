#include "tools/run/readahead_model.h"

#include <gtest/gtest.h>

#include "workloads/random.h"

namespace testbed {
namespace {

// Returns the device reads per file read of `bytes`, at random unaligned offsets of a file that is
// hardly ever cached.
double ReadsPerMiss(uint64_t read_ahead_bytes, uint64_t bytes) {
  ReadaheadModel model({.read_ahead_bytes = read_ahead_bytes, .cache_bytes = 4 << 20});
  Random random(1);
  constexpr int kReads = 20000;
  for (int i = 0; i < kReads; ++i) {
    model.Read(1, (1 + random.Below(1ull << 30)) * 512, bytes);
  }
  return static_cast<double>(model.totals().reads) / kReads;
}

TEST(ReadaheadModelTest, WithoutReadaheadEachPageIsARead) {
  ReadaheadModel model({.read_ahead_bytes = 0});
  model.Read(1, 4096 * 100, 8 * 4096);
  EXPECT_EQ(model.totals().reads, 8u);
  EXPECT_EQ(model.totals().read_bytes, 8u * 4096);
  model.Read(1, 4096 * 100, 8 * 4096);
  EXPECT_EQ(model.totals().reads, 8u) << "cached";
  EXPECT_EQ(model.totals().calls, 2u);
  EXPECT_EQ(model.totals().missing, 1u);
}

TEST(ReadaheadModelTest, ARandomReadWithinTheWindowIsOneRequestOfItsOwnSize) {
  ReadaheadModel model({.read_ahead_bytes = 128 << 10});
  model.Read(1, 4096 * 1000, 8192);
  EXPECT_EQ(model.totals().reads, 1u);
  EXPECT_EQ(model.totals().read_bytes, 8192u);
}

TEST(ReadaheadModelTest, ASequentialReaderGetsGrowingWindows) {
  ReadaheadModel model({.read_ahead_bytes = 128 << 10});
  for (int i = 0; i < 256; ++i) model.Read(1, static_cast<uint64_t>(i) * 4096, 4096);
  EXPECT_GE(model.totals().read_bytes, 256u * 4096);
  EXPECT_LT(model.totals().reads, 16u);
}

TEST(ReadaheadModelTest, TheCacheForgetsTheLeastRecentlyUsed) {
  ReadaheadModel model({.read_ahead_bytes = 0, .cache_bytes = 2 * 4096});
  model.Read(1, 0, 4096);
  model.Read(1, 40960, 4096);
  model.Read(1, 0, 4096);      // hit
  model.Read(1, 81920, 4096);  // evicts 40960
  model.Read(1, 0, 4096);      // hit
  EXPECT_EQ(model.totals().reads, 3u);
  model.Read(1, 40960, 4096);
  EXPECT_EQ(model.totals().reads, 4u);
}

TEST(ReadaheadModelTest, ALongRequestIsSentInPartsOfTheDevicesSize) {
  ReadaheadModel model({.read_ahead_bytes = 128 << 10, .max_request_bytes = 8192});
  model.Read(1, 4096 * 1000, 5 * 4096);
  EXPECT_EQ(model.totals().reads, 3u);
}

// Finding C of 2014 is about TokuMX with read pages of 64k, which are unaligned and compressed to
// about 34 KB; 0.78 of the queries miss the cache. The table has the published reads per query for
// each read_ahead_kb.
TEST(ReadaheadModelTest, GivesThePublishedReadsPerQueryOfLargeCompressedPages) {
  const struct {
    uint64_t read_ahead_kb;
    double published;
  } kPublished[] = {{0, 7.161}, {4, 6.547}, {8, 3.833}, {16, 2.659}};
  for (const auto& p : kPublished) {
    const double reads = 0.78 * ReadsPerMiss(p.read_ahead_kb << 10, 34 << 10);
    EXPECT_NEAR(reads, p.published, 0.2 * p.published) << p.read_ahead_kb << "k";
  }
  // At 32k the model departs from the published 2.432, unless the device takes at most 32 KB at
  // once. A read of 34 KB exceeds the window, so the model reads two windows.
  EXPECT_LT(0.78 * ReadsPerMiss(32 << 10, 34 << 10), 0.8 * 2.432);
}

TEST(ReadaheadModelTest, AMappingIsReadAroundUntilItMissesTooOften) {
  ReadaheadModel model({.read_ahead_bytes = 16 << 10});
  model.Touch(1, 4096 * 1000, 100);
  EXPECT_EQ(model.totals().reads, 1u);
  EXPECT_EQ(model.totals().read_bytes, 16u << 10);
  for (uint64_t i = 1; i < 200; ++i) model.Touch(1, 4096 * (1000 + 100 * i), 100);
  model.ResetTotals();
  model.Touch(1, 4096 * 500000, 100);
  EXPECT_EQ(model.totals().read_bytes, 4096u) << "100 misses in a row turn it off";
}

TEST(ReadaheadModelTest, AMappedPageFaultsOnce) {
  ReadaheadModel model({.read_ahead_bytes = 4096});
  for (int i = 0; i < 10; ++i) model.Touch(1, 4096 * 1000, 8192);
  EXPECT_EQ(model.totals().reads, 2u);
  EXPECT_EQ(model.totals().read_bytes, 8192u);
}

TEST(ReadaheadModelTest, MadvRandomReadsOnlyWhatIsTouched) {
  ReadaheadModel model({.read_ahead_bytes = 64 << 10, .random = true});
  model.Touch(1, 4096 * 1000, 4096);
  EXPECT_EQ(model.totals().read_bytes, 4096u);
}

}  // namespace
}  // namespace testbed
