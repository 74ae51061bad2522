// Tests how many frames the pool has memory for, and how long a thread waits for a frame.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>

#include "device/file/file.h"
#include "device/log/log.h"
#include "engines/btree/pool/pool.h"

namespace testbed::btree {
namespace {

// Frames that were taken away come back before new ones are made. So the memory behind the last
// frame is not made ready: no frame of a pool of this size would use it.
TEST(PoolFramesTest, NoMemoryIsMadeReadyForFramesThatComeBack) {
  constexpr uint32_t kBytes = 4096, kFrames = 1536, kDirty = 40;
  std::string dir = std::filesystem::current_path() / "btree_pool_frames_test_XXXXXX";
  ASSERT_NE(mkdtemp(dir.data()), nullptr);
  {
    FileOptions options;
    options.create = FileOptions::kMustCreate;
    PageFile file(File::Open(dir + "/data", options), nullptr, kBytes);
    RedoLog log;
    const uint64_t full = Pool::BytesFor(kFrames, kBytes, kFrames + 1);
    Pool pool(&file, &log, full);
    PoolClient client(&pool);
    const auto bring_in = [&](PageId id, bool dirty) {
      ExclusiveGuard guard = pool.WriteNew(&client, id);
      Header(guard.page())->id = id;
      if (dirty) guard.MarkDirty(1, 2);
    };
    for (PageId id = 1; id <= kFrames; ++id) bring_in(id, id <= kDirty);
    pool.Resize(Pool::BytesFor(kFrames / 2, kBytes, kFrames + 1));
    pool.Resize(full);
    // The dirty pages came up for eviction. The next miss wakes the cleaner, which writes them and
    // then looks whether memory is to be made ready.
    bring_in(kDirty + 1, false);
    for (int i = 0; i < 60000 && pool.Counters().cleaned < kDirty; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ASSERT_EQ(pool.Counters().cleaned, kDirty);
    const uint64_t half = Pool::BytesFor(kFrames / 2 + 1, kBytes, kFrames + 1);
    for (int ms = 1; ms <= 64 && pool.MemoryBytes() <= half; ms *= 2) {
      std::this_thread::sleep_for(std::chrono::milliseconds(ms));
    }
    EXPECT_LE(pool.MemoryBytes(), half);
    for (PageId id = 1; id <= kFrames; ++id) bring_in(id, false);
    EXPECT_LE(pool.MemoryBytes(), full);
  }
  std::filesystem::remove_all(dir);
}

// All pages are dirty, and their write waits longer than the pool's patience: for the log here, as
// for a device that takes long.
TEST(PoolFramesTest, AThreadWaitsForAFrameAsLongAsPagesAreBeingWritten) {
  constexpr uint32_t kBytes = 4096, kFrames = Pool::kMinFrames;
  std::string dir = std::filesystem::current_path() / "btree_pool_frames_test_XXXXXX";
  ASSERT_NE(mkdtemp(dir.data()), nullptr);
  {
    FileOptions options;
    options.create = FileOptions::kMustCreate;
    PageFile file(File::Open(dir + "/data", options), nullptr, kBytes);
    LogOptions log_options;
    log_options.segment_bytes = 64 << 10;
    RedoLog log;
    log.Attach(Log::Open(dir, log_options));
    Pool pool(&file, &log, Pool::BytesFor(kFrames, kBytes, kFrames + 1));
    pool.SetPatience(std::chrono::milliseconds(200));
    PoolClient client(&pool);
    for (PageId id = 1; id <= kFrames; ++id) {
      ExclusiveGuard guard = pool.WriteNew(&client, id);
      Header(guard.page())->id = id;
      const LogRange range = log.Append("change");
      guard.MarkDirty(range.begin, range.end);
    }
    std::atomic<bool> held{false}, ended{false};
    std::thread holder([&] {
      // The log takes no other call while a record is being filled in.
      log.Append(1, [&](char* to) {
        *to = 'r';
        held = true;
        while (!ended && pool.Counters().frame_waits < 15) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
      });
    });
    while (!held) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_NO_THROW(pool.WriteNew(&client, kFrames + 1).Release());
    ended = true;
    holder.join();
    EXPECT_GE(pool.Counters().frame_waits, 15u);
  }
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace testbed::btree
