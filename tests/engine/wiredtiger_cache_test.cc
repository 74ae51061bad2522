// Tests what WiredTiger's cache holds, what its counters say of that, and when checkpoints are due.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include "device/account/ledger.h"
#include "engines/registry.h"
#include "tests/engine/engine_test.h"
#include "tests/engine/wiredtiger_database.h"

#ifdef TESTBED_HAVE_WIREDTIGER

namespace testbed {
namespace {

class WiredtigerCacheTest : public WiredtigerTest {
 protected:
  // Makes a database whose values are longer than half a page, and reads each row once.
  void OpenWithLargeValues() {
    options_.extra["checkpoint_interval_s"] = "0";
    options_.cache_bytes = 64 * kMiB;
    Open();
    Load(kRows, kValueSize);
    engine_->Settle();
    Open();
    ReadAll();
  }
  void ReadAll() {
    for (uint64_t row = 0; row < kRows; ++row) {
      ASSERT_EQ(Get(RowKey(row)), RowValue(row, kValueSize));
    }
  }
  static constexpr uint64_t kRows = 1000;
  static constexpr size_t kValueSize = 6000;
};

TEST_F(WiredtigerCacheTest, LargeValuesAreReadOnce) {
  OpenWithLargeValues();
  const EngineCounters before = engine_->Counters();
  ReadAll();
  EXPECT_EQ(*engine_->Counters().block_reads, *before.block_reads);
  EXPECT_EQ(Setting("table.leaf_value_max"), std::to_string(64 * kMiB));
}

TEST_F(WiredtigerCacheTest, TheSizeInForceIsThatOfTheLastChange) {
  Open();
  EXPECT_EQ(Setting("cache_size"), std::to_string(options_.cache_bytes));
  for (const uint64_t size : {8 * kMiB, 3 * kMiB}) {
    ASSERT_TRUE(engine_->ResizeCache(size));
    EXPECT_EQ(Setting("cache_size"), std::to_string(size));
  }
}

// WiredTiger refuses a cache that is smaller than a limit of connection_config in bytes.
TEST_F(WiredtigerCacheTest, ASizeThatIsRefusedLeavesTheOneBefore) {
  const auto in_force = [this] { return More("cache bytes configured"); };
  options_.cache_bytes = 16 * kMiB;
  Open();
  EXPECT_FALSE(engine_->ResizeCache(1));
  EXPECT_EQ(in_force(), 16 * kMiB);
  options_.extra["connection_config"] = "eviction_target=4MB,eviction_trigger=6MB";
  Open();
  EXPECT_TRUE(engine_->ResizeCache(12 * kMiB));
  EXPECT_EQ(in_force(), 12 * kMiB);
  EXPECT_FALSE(engine_->ResizeCache(5 * kMiB));
  EXPECT_EQ(in_force(), 12 * kMiB);
  EXPECT_EQ(Setting("cache_size"), std::to_string(12 * kMiB));
  Load(100, 1000);
  EXPECT_EQ(Get(RowKey(7)), RowValue(7, 1000));
}

// A cache that is made smaller is emptied, also where WiredTiger does not tell what it holds.
TEST_F(WiredtigerCacheTest, ASmallerCacheIsEmptiedWithoutStatistics) {
  const auto misses = [this] {
    uint64_t requests = 0, reads = 0;
    session_->BlockCounts(&requests, &reads);
    return reads;
  };
  options_.extra["statistics"] = "none";
  OpenWithLargeValues();
  const uint64_t filled = misses();
  ReadAll();
  EXPECT_EQ(misses(), filled) << "all rows are in the cache";
  ASSERT_TRUE(engine_->ResizeCache(options_.cache_bytes / 2));
  ReadAll();
  EXPECT_GT(misses() - filled, kRows / 2);
}

// A value that the cache has no room for is still read and written.
TEST_F(WiredtigerCacheTest, AValueMayBeLargerThanTheCache) {
  options_.cache_bytes = 2 * kMiB;
  Open();
  const std::string value = RowValue(1, 6 * kMiB);
  for (const char* key : {"a", "b", "c"}) session_->Put(table_, key, value);
  engine_->Settle();
  Open();
  for (const char* key : {"a", "b", "c", "a"}) EXPECT_TRUE(Get(key) == value) << key;
}

// WiredTiger counts the read of an overflow item as a page read, but not as one that was asked of
// the cache. Once, the hits fell in a phase of such reads.
TEST_F(WiredtigerCacheTest, ReadsOfOverflowItemsAreMissesOfTheCache) {
  options_.extra["leaf_value_max"] = "0";
  OpenWithLargeValues();
  options_.extra.erase("leaf_value_max");
  Open();
  EXPECT_EQ(Setting("table.leaf_value_max"), "0") << "a table keeps the value it was made with";
  ReadAll();
  const EngineCounters before = engine_->Counters();
  ReadAll();
  const EngineCounters after = engine_->Counters();
  const uint64_t hits = *after.block_hits - *before.block_hits;
  EXPECT_EQ(*after.block_reads - *before.block_reads, kRows);
  EXPECT_EQ(*after.block_requests - *before.block_requests - hits, kRows);
  EXPECT_GE(hits, kRows) << "the leaf of each row";
  EXPECT_LE(hits, 5 * kRows);
}

// A checkpoint that the run asks for bounds the log as well as one that was due.
TEST_F(WiredtigerCacheTest, ACheckpointRestartsTheDistanceToTheNext) {
  constexpr uint64_t kDistance = 8 * kMiB;
  options_.extra = {{"checkpoint_interval_s", "0"},
                    {"checkpoint_log_bytes", std::to_string(kDistance)}};
  options_.cache_bytes = 64 * kMiB;
  Open();
  uint64_t row = 0;
  const auto log_up_to = [&](uint64_t bytes) {
    const uint64_t begin = *engine_->Counters().log_written_bytes;
    while (*engine_->Counters().log_written_bytes - begin < bytes) {
      for (int i = 0; i < 20; ++i, ++row) session_->Put(table_, RowKey(row), RowValue(row, 2000));
    }
  };
  log_up_to(kDistance * 3 / 4);
  engine_->Checkpoint();
  const uint64_t taken = More("checkpoints");
  log_up_to(kDistance * 3 / 4);
  // The thread that takes checkpoints looks each 100 ms whether one is due.
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  EXPECT_EQ(More("checkpoints"), taken);
  log_up_to(kDistance / 2);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (More("checkpoints") == taken && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_GT(More("checkpoints"), taken);
}

// The distance to the next checkpoint is one of log records, so the zeros that WiredTiger writes
// into a log file ahead of them must not count.
TEST_F(WiredtigerCacheTest, ZerosThatFillLogFilesAreNotLog) {
  options_.cache_bytes = 64 * kMiB;
  uint64_t log[2] = {}, file_writes[2] = {};
  for (const bool fills : {false, true}) {
    Close();
    std::filesystem::remove_all(dir_);
    options_.extra = {{"checkpoint_interval_s", "0"},
                      {"log_file_max", "1M"},
                      {"log_zero_fill", fills ? "on" : "off"}};
    const LedgerCounts before = Ledger::Get().Counts();
    Open();
    Load(5000, 1000);
    engine_->Settle();
    log[fills] = *engine_->Counters().log_written_bytes;
    const LedgerCounts counts = Ledger::Get().Counts() - before;
    for (const LedgerCounts::Op& op : counts.ops) {
      file_writes[fills] += op.file[static_cast<size_t>(FileKind::kLog)].write_bytes;
    }
  }
  EXPECT_GT(log[0], 5000 * 1000u);
  EXPECT_NEAR(log[1], log[0], 0.1 * static_cast<double>(log[0]));
  EXPECT_GT(file_writes[1], file_writes[0] * 3 / 2) << "files were filled";
}

// WiredTiger takes less than memory_page_max where the cache is small, and says so nowhere.
TEST_F(WiredtigerCacheTest, ThePageInMemoryThatIsInForceIsTold) {
  const std::string name = "table.memory_page_max_in_force";
  options_.extra = {{"memory_page_max", "10M"}};
  Open();
  EXPECT_EQ(Setting(name), std::to_string(options_.cache_bytes * 20 / 100 / 10));
  EXPECT_EQ(Setting("table.memory_page_max"), std::to_string(10 * kMiB));
  options_.extra = {{"connection_config", "eviction_dirty_trigger=8,eviction_dirty_target=4"}};
  Open();
  EXPECT_EQ(Setting(name), std::to_string(options_.cache_bytes * 8 / 100 / 10));
  options_.extra = {{"log_file_max", "1M"}};
  options_.cache_bytes = 600 * kMiB;
  Open();
  EXPECT_EQ(Setting(name), std::to_string(10 * kMiB));
}

}  // namespace
}  // namespace testbed

#endif  // TESTBED_HAVE_WIREDTIGER
