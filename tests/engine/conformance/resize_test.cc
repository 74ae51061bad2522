// The engine's cache changes its size while the engine works, as --cache-pct auto has it.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/engine/engine_test.h"

namespace testbed {
namespace {

class ResizeTest : public EngineTest {
 protected:
  static constexpr uint64_t kRows = 20000;
  static constexpr size_t kValue = 400;

  void SetUp() override {
    EngineTest::SetUp();
    if (!info().capabilities.resizable_cache) GTEST_SKIP() << info().name << " cannot";
    options_.cache_bytes = 24 << 20;
    Open();
  }
  uint64_t CacheBytes() const { return engine_->Counters().cache_bytes.value_or(0); }
  void ReadAll(Session* session) {
    std::string_view value;
    for (uint64_t row = 0; row < kRows; ++row) {
      ASSERT_TRUE(session->Get(table_, RowKey(row), &value)) << row;
      ASSERT_EQ(value, RowValue(row, kValue)) << row;
    }
  }
};
TESTBED_FOR_EVERY_ENGINE(ResizeTest);

TEST_P(ResizeTest, ASmallerCacheHoldsLessAndALargerOneMoreAgain) {
  Load(kRows, kValue);
  engine_->Settle();
  ReadAll(session_.get());
  // Mapped, an engine may read in place and need no cache.
  const bool fills = GetParam().io != IoMode::kMmap;
  if (fills) {
    EXPECT_GT(CacheBytes(), 6u << 20);
  }
  ASSERT_TRUE(engine_->ResizeCache(4 << 20));
  // An engine may evict while operations go on.
  ReadAll(session_.get());
  EXPECT_LE(CacheBytes(), (4u << 20) * 11 / 10);
  ASSERT_TRUE(engine_->ResizeCache(16 << 20));
  ReadAll(session_.get());
  if (fills) {
    EXPECT_GT(CacheBytes(), 6u << 20);
  }
  EXPECT_LE(CacheBytes(), (16u << 20) * 11 / 10);
}

TEST_P(ResizeTest, WhileSessionsReadAndWriteNothingIsLost) {
  Load(kRows, kValue);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      const auto session = engine_->NewSession();
      std::mt19937_64 random(t);
      std::string_view value;
      while (!stop) {
        const uint64_t row = random() % kRows;
        if (random() % 4 == 0) {
          session->Put(table_, RowKey(row), RowValue(row, kValue));
        } else {
          ASSERT_TRUE(session->Get(table_, RowKey(row), &value)) << row;
          ASSERT_EQ(value, RowValue(row, kValue)) << row;
        }
      }
    });
  }
  for (int i = 0; i < 6; ++i) {
    EXPECT_TRUE(engine_->ResizeCache(i % 2 == 0 ? 4 << 20 : 24 << 20));
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  ReadAll(session_.get());
}

}  // namespace
}  // namespace testbed
