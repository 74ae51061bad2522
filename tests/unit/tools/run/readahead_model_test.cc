#include "tools/run/readahead_model.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

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

constexpr uint64_t kPage = ReadaheadModel::kPage;

// Returns the windows, in pages, that the model reads for sequential reads of `pages` each from a
// file's first page on.
std::vector<uint64_t> Windows(uint64_t read_ahead_bytes, uint64_t pages, int reads) {
  ReadaheadModel model({.read_ahead_bytes = read_ahead_bytes});
  std::vector<uint64_t> windows;
  for (int i = 0; i < reads; ++i) {
    model.ResetTotals();
    model.Read(1, static_cast<uint64_t>(i) * pages * kPage, pages * kPage);
    windows.push_back(model.totals().read_bytes / kPage);
  }
  std::erase(windows, 0u);
  return windows;
}

// Makes `misses` faults, each on a page that is far from the others.
void MissInMapping(ReadaheadModel* model, uint64_t misses) {
  for (uint64_t i = 0; i < misses; ++i) model->Touch(1, (1000 + 100 * i) * kPage, 1);
}

// Returns the pages that a fault reads on a page that is far from all others.
uint64_t PagesOfMiss(ReadaheadModel* model) {
  model->ResetTotals();
  model->Touch(1, (uint64_t{10} << 20) * kPage, 1);
  return model->totals().read_bytes / kPage;
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

// Once, each read at a smaller offset than the last one was taken for sequential: every second one
// of random reads.
TEST(ReadaheadModelTest, AReadBeforeTheLastOneGetsNoReadahead) {
  ReadaheadModel model({.read_ahead_bytes = 128 << 10});
  model.Read(1, 4096 * 1000, 8192);
  model.Read(1, 4096 * 500, 8192);
  EXPECT_EQ(model.totals().reads, 2u);
  EXPECT_EQ(model.totals().read_bytes, 2u * 8192);
  model.Read(1, 4096 * 502, 8192);
  EXPECT_GT(model.totals().read_bytes, 3u * 8192) << "this one follows the last one";
}

TEST(ReadaheadModelTest, ASequentialReaderGetsGrowingWindows) {
  ReadaheadModel model({.read_ahead_bytes = 128 << 10});
  for (int i = 0; i < 256; ++i) model.Read(1, static_cast<uint64_t>(i) * 4096, 4096);
  EXPECT_GE(model.totals().read_bytes, 256u * 4096);
  EXPECT_LT(model.totals().reads, 16u);
}

// get_init_ra_size and get_next_ra_size of the kernel change the factor at a 32nd, a sixteenth and
// a quarter of the largest window, which has 128 pages here.
TEST(ReadaheadModelTest, WindowsGrowAsTheKernelsDo) {
  using Pages = std::vector<uint64_t>;
  EXPECT_EQ(Windows(512 << 10, 1, 60), (Pages{4, 16, 32, 64, 128}));
  EXPECT_EQ(Windows(512 << 10, 2, 16), (Pages{8, 16, 32, 64}));
  EXPECT_EQ(Windows(512 << 10, 4, 16), (Pages{16, 32, 64, 128}));
  EXPECT_EQ(Windows(512 << 10, 5, 9), (Pages{16, 32, 64}));
  EXPECT_EQ(Windows(512 << 10, 32, 3), (Pages{64, 128, 128}));
  EXPECT_EQ(Windows(512 << 10, 33, 4), (Pages{128, 128, 128}));
  EXPECT_EQ(Windows(128 << 10, 1, 30), (Pages{4, 8, 16, 32, 32}));
}

TEST(ReadaheadModelTest, ARandomReadOfTheWholeWindowIsRandomStill) {
  ReadaheadModel model({.read_ahead_bytes = 32 << 10});
  model.Read(1, 1000 * kPage, 8 * kPage);
  EXPECT_EQ(model.totals().reads, 1u);
  EXPECT_EQ(model.totals().read_bytes, 8 * kPage);
  ReadaheadModel longer({.read_ahead_bytes = 32 << 10});
  longer.Read(1, 1000 * kPage, 9 * kPage);
  EXPECT_EQ(longer.totals().reads, 2u);
  EXPECT_EQ(longer.totals().read_bytes, 24 * kPage);
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

// The window begins half of its length before the page, and its last quarter begins the next one.
TEST(ReadaheadModelTest, AMappingIsReadOnBothSidesOfTheFault) {
  ReadaheadModel model({.read_ahead_bytes = 16 << 10});
  model.Touch(1, 1000 * kPage, 1);
  for (const uint64_t near : {998, 999}) model.Touch(1, near * kPage, 1);
  EXPECT_EQ(model.totals().read_bytes, 4 * kPage);
  model.Touch(1, 1001 * kPage, 1);
  EXPECT_EQ(model.totals().reads, 2u) << "the next window";
  EXPECT_EQ(model.totals().read_bytes, 8 * kPage);
  model.Touch(1, 997 * kPage, 1);
  EXPECT_EQ(model.totals().reads, 3u);
  ReadaheadModel first({.read_ahead_bytes = 16 << 10});
  first.Touch(1, kPage, 1);
  EXPECT_EQ(first.totals().read_bytes, 4 * kPage) << "no page is before the first one";
}

TEST(ReadaheadModelTest, AHundredMissesMoreThanHitsTurnReadAroundOff) {
  ReadaheadModel model({.read_ahead_bytes = 16 << 10});
  MissInMapping(&model, 101);
  EXPECT_EQ(model.totals().read_bytes, (100 * 4 + 1) * kPage);
  model.Touch(1, 999 * kPage, 1);  // a hit of the first window
  EXPECT_EQ(PagesOfMiss(&model), 1u);
  ReadaheadModel again({.read_ahead_bytes = 16 << 10});
  MissInMapping(&again, 101);
  for (const uint64_t hit : {999, 998}) again.Touch(1, hit * kPage, 1);
  EXPECT_EQ(PagesOfMiss(&again), 4u);
}

TEST(ReadaheadModelTest, AtMostAThousandMissesAreRemembered) {
  const std::pair<uint64_t, uint64_t> kPagesAfterHits[] = {{900, 1}, {902, 4}};
  for (const auto& [hits, pages] : kPagesAfterHits) {
    ReadaheadModel model({.read_ahead_bytes = 16 << 10});
    MissInMapping(&model, 1500);
    model.Read(1, 900000 * kPage, 2000 * kPage);
    for (uint64_t i = 0; i < hits; ++i) model.Touch(1, (900000 + i) * kPage, 1);
    EXPECT_EQ(PagesOfMiss(&model), pages) << hits;
  }
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
  model.Read(1, 5000 * kPage, 4 * kPage);
  EXPECT_EQ(model.totals().reads, 2u) << "a read is one request";
  EXPECT_EQ(model.totals().read_bytes, 5 * kPage);
}

}  // namespace
}  // namespace testbed
