// Tests what a session of fractal leaves to the next one when a sync fails. Even a session without
// commits moves messages down and writes nodes. The next session must not reuse the blocks as long
// as the page cache may differ from the device. A header whose sync failed can be read, and a power
// cut may lose it.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "device/error.h"
#include "engines/fractal/store.h"
#include "tests/unit/engines/failing_disk/failing_disk.h"

namespace testbed::fractal {
namespace {

namespace fs = std::filesystem;

class FractalIdleTest : public testing::Test {
 protected:
  FractalIdleTest() {
    std::string pattern = fs::current_path() / "fractal_idle_XXXXXX";
    base_ = ::mkdtemp(pattern.data());
    dir_ = base_ + "/disk";
    fs::create_directory(dir_);
    options_.page_size = 4096;
    options_.node_size = 64 << 10;
    options_.fanout = 2;
    options_.cache_bytes = 1 << 20;
    options_.durability = Durability::kSync;
    options_.cleaner_period_ms = 0;
    options_.log.segment_bytes = 128 << 10;
  }
  ~FractalIdleTest() override { fs::remove_all(base_); }

  void Commit(int first, int commits) {
    const auto store = Store::Open(dir_ + "/db", options_);
    const uint32_t table = store->OpenTable("t")->table();
    StoreClient client(store.get());
    for (int n = first; n < first + commits; ++n) {
      const std::string key = Key(n), value = Value(n);
      const std::vector<RowWrite> rows = {{false, table, key, value}};
      client.Commit(rows);
    }
  }
  // Returns how many of the rows 0 to `rows` - 1 a copy of the device lacks after the power cut.
  int LostAfterCut(const FailingDisk& disk, int rows) {
    const std::string cut = base_ + "/cut";
    disk.CopyTo(cut);
    options_.create = false;
    const auto store = Store::Open(cut + "/db", options_);
    StoreClient client(store.get());
    std::string value;
    int lost = 0;
    for (int n = 0; n < rows; ++n) {
      lost += !client.Get(store->OpenTable("t"), Key(n), &value) || value != Value(n);
    }
    return lost;
  }
  static std::string Key(int n) { return "key" + std::to_string(n * 7919 % 100003); }
  static std::string Value(int n) { return std::to_string(n) + std::string(300, 'v'); }

  std::string base_, dir_;
  StoreOptions options_;
};

TEST_F(FractalIdleTest, BlocksThatTheDeviceRefusedAreNotUsedAgain) {
  FailingDisk disk(dir_);
  Commit(0, 900);
  options_.cleaner_period_ms = 1;
  options_.cleaner_nodes = 100;
  {
    const auto store = Store::Open(dir_ + "/db", options_);
    for (int i = 0; i < 5000 && store->tree_counters().cleaner_flushes.load() < 3; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    disk.Fail({DiskCall::kSync, 0, EIO, true});
    EXPECT_THROW(store->Checkpoint(), Error);
  }
  disk.Heal();
  options_.cleaner_period_ms = 0;
  Commit(900, 900);
  disk.Cut(1);
  EXPECT_EQ(LostAfterCut(disk, 1800), 0);
}

// By direct IO the next session reads the header that was written last, though its sync failed.
TEST_F(FractalIdleTest, AHeaderWhoseSyncFailedIsWrittenAgain) {
  options_.io = IoMode::kDirect;
  options_.log.mode = IoMode::kDirect;
  int failed = 0;
  for (uint64_t call = 1; call < 4; ++call) {
    for (uint64_t calls = 6; calls < 90; calls += 5) {
      SCOPED_TRACE("call " + std::to_string(call) + ", cut after " + std::to_string(calls));
      fs::remove_all(dir_);
      fs::create_directory(dir_);
      options_.create = true;
      FailingDisk disk(dir_);
      Commit(0, 60);
      {
        const auto store = Store::Open(dir_ + "/db", options_);
        StoreClient client(store.get());
        const uint32_t table = store->OpenTable("t")->table();
        const std::string key = Key(60), value = Value(60);
        const std::vector<RowWrite> rows = {{false, table, key, value}};
        client.Commit(rows);
        disk.Fail({DiskCall::kSync, call});
        try {
          store->Checkpoint();
        } catch (const Error&) {
          ++failed;
        }
      }
      disk.Heal();
      disk.CutAfter(calls, call + 1);
      try {
        Commit(61, 2);
      } catch (const Error&) {
        EXPECT_TRUE(disk.is_cut());
      }
      disk.Cut(1);
      EXPECT_EQ(LostAfterCut(disk, 61), 0);
    }
  }
  EXPECT_GT(failed, 15);
}

}  // namespace
}  // namespace testbed::fractal
