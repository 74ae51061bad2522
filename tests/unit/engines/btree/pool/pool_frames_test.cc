// Tests how many frames the pool has memory for, and how long a thread waits for a frame.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device/error.h"
#include "device/file/file.h"
#include "device/file/read_ring.h"
#include "device/log/log.h"
#include "engines/btree/pool/pool.h"
#include "tests/refused_call.h"

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

// A caller that goes on after the error expects the size that the pool had.
TEST(PoolFramesTest, AResizeThatFindsTooManyPagesInUseLeavesTheSize) {
  constexpr uint32_t kBytes = 4096, kSmall = Pool::kMinFrames, kFrames = 3 * kSmall;
  std::string dir = std::filesystem::current_path() / "btree_pool_frames_test_XXXXXX";
  ASSERT_NE(mkdtemp(dir.data()), nullptr);
  {
    FileOptions options;
    options.create = FileOptions::kMustCreate;
    PageFile file(File::Open(dir + "/data", options), nullptr, kBytes);
    RedoLog log;
    const uint64_t full = Pool::BytesFor(kFrames, kBytes, kFrames + 1);
    const uint64_t small = Pool::BytesFor(kSmall, kBytes, kFrames + 1);
    Pool pool(&file, &log, full);
    pool.SetPatience(std::chrono::milliseconds(50));
    PoolClient client(&pool);
    const auto bring_in = [&](PageId id) {
      ExclusiveGuard guard = pool.WriteNew(&client, id);
      Header(guard.page())->id = id;
      return guard;
    };
    {
      std::vector<ExclusiveGuard> in_use;
      in_use.push_back(bring_in(kFrames));
      for (PageId id = 1; id <= kSmall; ++id) in_use.push_back(bring_in(id));
      EXPECT_THROW(pool.Resize(small), Error);
      EXPECT_EQ(pool.bytes(), full);
      EXPECT_EQ(pool.frames(), kFrames);
    }
    for (PageId id = 1; id <= kFrames; ++id) bring_in(id);
    for (PageId id = 1; id <= kFrames; ++id) EXPECT_TRUE(pool.Contains(id)) << id;
    pool.Resize(small);
    EXPECT_EQ(pool.bytes(), small);
    EXPECT_EQ(pool.frames(), kSmall);
  }
  std::filesystem::remove_all(dir);
}

// Makes a file of free pages with the numbers 0 to `last`.
void MakeFreePages(const std::string& path, PageId last, uint32_t bytes) {
  FileOptions options;
  options.create = FileOptions::kMustCreate;
  const auto file = File::Open(path, options);
  AlignedBuffer page(bytes);
  for (PageId id = 0; id <= last; ++id) {
    std::memset(page.data(), 0, bytes);
    Header(page.data())->id = id;
    Header(page.data())->type = PageType::kFree;
    StampPage(page.data(), bytes);
    file->Write(uint64_t{id} * bytes, page.data(), bytes);
  }
  file->Sync();
}

// The kernel may write into the frame of a read for which nobody could wait. So the page is read
// into another frame; its latch kept all threads waiting for ever. Frames that are out of use do
// not keep the pool from evicting others, which are asked for often here.
TEST(PoolFramesTest, AReadThatTheKernelRefusesToWaitForLeavesItsPageUnlatched) {
  if (!ReadRing::Available()) GTEST_SKIP() << "the kernel gives no io_uring";
  constexpr uint32_t kBytes = 4096, kPages = 8, kAllPages = 128;
  constexpr int kLatched = 1, kOther = 2, kNoneToWaitFor = 3, kStuck = 4;
  std::string dir = std::filesystem::current_path() / "btree_pool_frames_test_XXXXXX";
  ASSERT_NE(mkdtemp(dir.data()), nullptr);
  MakeFreePages(dir + "/data", kAllPages, kBytes);
  // A wait is a call that submits nothing.
  const auto fetch = [&] {
    FileOptions options;
    options.mode = IoMode::kDirect;
    std::unique_ptr<File> data;
    try {
      data = File::Open(dir + "/data", options);
    } catch (const Error&) {
      return kNoneToWaitFor;  // the file system has no direct IO
    }
    PageFile file(std::move(data), nullptr, kBytes);
    RedoLog log;
    Pool pool(&file, &log, Pool::BytesFor(Pool::kMinFrames + 2 * kPages, kBytes, kAllPages + 1));
    pool.SetPatience(std::chrono::milliseconds(200));
    PoolClient client(&pool);
    ReadRing ring(kPages);
    std::vector<PageId> ids(kPages);
    std::iota(ids.begin(), ids.end(), PageId{1});
    try {
      pool.Fetch(&client, &ring, ids);
      return kNoneToWaitFor;
    } catch (const Error&) {
      // The kernel refused to wait.
    }
    for (const PageId id : ids) {
      OptimisticGuard here;
      Pool::MissingPage missing;
      const Pool::Look look = pool.TryOptimistic(id, &here, &missing);
      if (look == Pool::Look::kBusy) return kLatched;
      if (look == Pool::Look::kMissing) pool.EndRead(missing, false);
      if (Header(pool.Read(&client, id).page())->id != id) return kOther;
    }
    try {
      for (PageId id = kPages + 1; id <= kAllPages; ++id) {
        for (int visit = 0; visit < 4; ++visit) {
          if (Header(pool.Read(&client, id).page())->id != id) return kOther;
        }
      }
    } catch (const Error&) {
      return kStuck;
    }
    return 0;
  };
  const int code = ExitCodeWithout(SYS_io_uring_enter, EINVAL, fetch, /*most=*/0);
  std::filesystem::remove_all(dir);
  if (code == kCannotRefuse) GTEST_SKIP() << kNoFilters;
  if (code == kNoneToWaitFor) GTEST_SKIP() << "reads are not in flight here";
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace testbed::btree
