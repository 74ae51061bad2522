#include "tools/run/memory_watch.h"

#include <gtest/gtest.h>

#include <atomic>

namespace testbed {
namespace {

using std::chrono::milliseconds;

TEST(MemoryWatchTest, TellsMeanAndMostOfThePhaseNotItsEnd) {
  std::atomic<uint64_t> calls = 0;
  // The charge grows to 500, and all memory is free again at the end.
  std::atomic<bool> ended = false;
  MemoryWatch watch(
      [&] {
        const uint64_t call = ++calls;
        return ended ? MemoryWatch::Sample{}
                     : MemoryWatch::Sample{std::min<uint64_t>(call, 5) * 100, 60};
      },
      milliseconds(1));
  while (calls < 10) std::this_thread::sleep_for(milliseconds(1));
  ended = true;
  const MemoryWatch::Held held = watch.Stop();
  EXPECT_EQ(held.charged_most, 500u);
  EXPECT_EQ(held.own_most, 440u);
  EXPECT_GE(held.samples, 11u);
  EXPECT_GT(held.charged_mean, 0u);
  EXPECT_LT(held.charged_mean, 500u);
  EXPECT_LT(held.own_mean, 440u);
  EXPECT_GT(held.page_cache_mean, 0u);
  EXPECT_LT(held.page_cache_mean, 60u);
  EXPECT_EQ(watch.Stop().samples, held.samples) << "a second stop takes no sample";
}

TEST(MemoryWatchTest, APhaseShorterThanTheIntervalHasItsEnd) {
  MemoryWatch watch([] { return MemoryWatch::Sample{7, 3}; }, milliseconds(100000));
  const MemoryWatch::Held held = watch.Stop();
  EXPECT_EQ(held.samples, 1u);
  EXPECT_EQ(held.charged_mean, 7u);
  EXPECT_EQ(held.own_mean, 4u);
}

// Log files leave pages in the page cache, which are of no use to an engine with direct IO.
TEST(MemoryWatchTest, WithDirectIoThePageCacheIsNotHeld) {
  MemoryWatch watch([] { return MemoryWatch::Sample{100, 30}; }, milliseconds(100000));
  const MemoryWatch::Held held = watch.Stop();
  const nlohmann::json direct = HeldJson(held, false), buffered = HeldJson(held, true);
  EXPECT_EQ(direct["held_mean"], 70);
  EXPECT_EQ(direct["held_most"], 70);
  EXPECT_EQ(buffered["held_mean"], 100);
  EXPECT_EQ(buffered["held_most"], 100);
  for (const nlohmann::json& either : {direct, buffered}) {
    EXPECT_EQ(either["own_mean"], 70);
    EXPECT_EQ(either["own_most"], 70);
    EXPECT_EQ(either["page_cache_mean"], 30);
  }
}

// The watch reads the page cache after the charge. The page cache may have grown in between, and
// must not make the difference negative.
TEST(MemoryWatchTest, ThereIsNotLessThanNothing) {
  EXPECT_EQ((MemoryWatch::Sample{10, 20}.own()), 0u);
}

TEST(MemoryWatchTest, ShortMemoryIsRelievedAndOnlyThat) {
  const auto relieved = [](MemoryWatch::Sample sample) {
    int times = 0;
    MemoryWatch watch([=] { return sample; }, milliseconds(100000), [&] { ++times; });
    const MemoryWatch::Held held = watch.Stop();
    EXPECT_EQ(held.shortages, static_cast<uint64_t>(times));
    return times;
  };
  EXPECT_EQ(relieved({1000, 0, 1000}), 1);
  EXPECT_EQ(relieved({975, 0, 1000}), 1);
  EXPECT_EQ(relieved({965, 0, 1000}), 0);
  EXPECT_EQ(relieved({1000, 50, 1000}), 0) << "the kernel takes page cache back by itself";
  EXPECT_EQ(relieved({1000, 0, 0}), 0) << "no limit is known";
}

TEST(MemoryWatchTest, WithoutABudgetNothingIsWatched) {
  MemoryWatch watch(nullptr);
  EXPECT_EQ(watch.Stop().samples, 0u);
}

}  // namespace
}  // namespace testbed
