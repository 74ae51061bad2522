#include "tools/memory_watch.h"

#include <gtest/gtest.h>

#include <atomic>

namespace testbed {
namespace {

using std::chrono::milliseconds;

TEST(MemoryWatchTest, TellsMeanAndMostOfThePhaseNotItsEnd) {
  std::atomic<uint64_t> calls = 0;
  // Grows to 500, and all is free again at the end.
  std::atomic<bool> ended = false;
  MemoryWatch watch(
      [&] {
        const uint64_t call = ++calls;
        return ended ? uint64_t{0} : std::min<uint64_t>(call, 5) * 100;
      },
      milliseconds(1));
  while (calls < 10) std::this_thread::sleep_for(milliseconds(1));
  ended = true;
  const MemoryWatch::Held held = watch.Stop();
  EXPECT_EQ(held.most, 500u);
  EXPECT_GE(held.samples, 11u);
  EXPECT_GT(held.mean, 0u);
  EXPECT_LT(held.mean, 500u);
  EXPECT_EQ(watch.Stop().samples, held.samples) << "a second stop takes no sample";
}

TEST(MemoryWatchTest, APhaseShorterThanTheIntervalHasItsEnd) {
  MemoryWatch watch([] { return uint64_t{7}; }, milliseconds(100000));
  const MemoryWatch::Held held = watch.Stop();
  EXPECT_EQ(held.samples, 1u);
  EXPECT_EQ(held.mean, 7u);
}

TEST(MemoryWatchTest, WithoutABudgetNothingIsWatched) {
  MemoryWatch watch(nullptr);
  EXPECT_EQ(watch.Stop().samples, 0u);
}

}  // namespace
}  // namespace testbed
