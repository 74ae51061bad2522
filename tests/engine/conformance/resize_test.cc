// Tests changes of the size of the engine's cache while the engine works, as --cache-pct auto makes
// them.
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
 public:
  static bool IsFor(const EngineCase& c) {
    return FindEngine(c.engine).capabilities.resizable_cache;
  }

 protected:
  void SetUp() override {
    EngineTest::SetUp();
    if (IsSkipped()) return;
    options_.cache_bytes = 24 << 20;
    Open();
  }
  uint64_t CacheBytes() const { return engine_->Counters().cache_bytes.value_or(0); }
  void ReadAll(Session* session) {
    std::string_view value;
    for (uint64_t row = 0; row < rows_; ++row) {
      ASSERT_TRUE(session->Get(table_, RowKey(row), &value)) << row;
      ASSERT_EQ(value, RowValue(row, value_size_)) << row;
    }
  }

  const uint64_t rows_ = 20000 / RowsInOne();
  const size_t value_size_ = 400 * RowsInOne();
};
TESTBED_FOR_EVERY_ENGINE(ResizeTest);

TEST_P(ResizeTest, ASmallerCacheHoldsLessAndALargerOneMoreAgain) {
  Load(rows_, value_size_);
  engine_->Settle();
  ReadAll(session_.get());
  // Mapped, an engine may read in place and need no cache.
  const bool fills = GetParam().io != IoMode::kMmap;
  if (fills) {
    EXPECT_GT(CacheBytes(), 6u << 20);
  }
  ASSERT_TRUE(engine_->ResizeCache(4 << 20));
  // An engine may evict while operations go on.
  constexpr uint64_t kSmall = (4u << 20) * 11 / 10;
  ReadAll(session_.get());
  for (int pass = 1; pass < 10 && CacheBytes() > kSmall; ++pass) ReadAll(session_.get());
  EXPECT_LE(CacheBytes(), kSmall);
  ASSERT_TRUE(engine_->ResizeCache(16 << 20));
  ReadAll(session_.get());
  if (fills) {
    EXPECT_GT(CacheBytes(), 6u << 20);
  }
  EXPECT_LE(CacheBytes(), (16u << 20) * 11 / 10);
}

// Each thread writes the rows of its parity, a new version each time, and finds its own last one
// whenever it reads. A row that a resize throws away unwritten comes back in an older version.
TEST_P(ResizeTest, WhileSessionsReadAndWriteNothingIsLost) {
  Load(rows_, value_size_);
  std::atomic<uint64_t> writes{0};
  std::vector<uint32_t> versions(rows_, 0);  // each written by one thread
  const auto value_of = [&](uint64_t row) {
    return RowValue(row + rows_ * versions[row], value_size_);
  };
  std::vector<std::jthread> threads;  // jthreads, so that they end when the test throws, too
  for (uint64_t t = 0; t < 2; ++t) {
    threads.emplace_back([&, t](const std::stop_token& stop) {
      const auto session = engine_->NewSession();
      std::mt19937_64 random(t);
      std::string_view value;
      while (!stop.stop_requested()) {
        const uint64_t row = random() % (rows_ / 2) * 2 + t;
        if (random() % 4 == 0) {
          ++versions[row];
          session->Put(table_, RowKey(row), value_of(row));
          writes.fetch_add(1);
        } else {
          ASSERT_TRUE(session->Get(table_, RowKey(row), &value)) << row;
          ASSERT_EQ(value, value_of(row)) << row;
        }
      }
    });
  }
  for (int i = 0; i < 6; ++i) {
    const uint64_t before = writes.load();
    EXPECT_TRUE(engine_->ResizeCache(i % 2 == 0 ? 4 << 20 : 24 << 20));
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (writes.load() < before + 500 && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_GE(writes.load(), before + 500) << "the sessions stand still";
  }
  threads.clear();
  std::string_view value;
  for (uint64_t row = 0; row < rows_; ++row) {
    ASSERT_TRUE(session_->Get(table_, RowKey(row), &value)) << row;
    ASSERT_EQ(value, value_of(row)) << row;
  }
}

}  // namespace
}  // namespace testbed
