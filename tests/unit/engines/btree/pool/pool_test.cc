// Tests the pool: its counters, which pages it keeps and evicts, and that threads see whole pages.
#include "engines/btree/pool/pool.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "device/error.h"
#include "device/machine/host_activity.h"
#include "engines/btree/tree/overflow.h"
#include "tests/unit/engines/failing_disk/failing_disk.h"

namespace testbed::btree {
namespace {

constexpr uint32_t kPoolPageSize = 4096;

class PoolTest : public testing::TestWithParam<IoMode> {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::current_path() / "btree_pool_test_XXXXXX";
    dir_ = mkdtemp(pattern.data());
  }
  void TearDown() override {
    pool_.reset();
    file_.reset();
    std::filesystem::remove_all(dir_);
  }

  // Makes a pool, and a file of pages 1 to `pages`. The first word after the header of a page is
  // its number.
  void Open(uint32_t pages, uint32_t frames) {
    FileOptions options;
    options.create = FileOptions::kTruncate;
    {
      auto file = File::Open(dir_ + "/data", options);
      AlignedBuffer page(kPoolPageSize);
      for (PageId id = 0; id <= pages; ++id) {
        std::memset(page.data(), 0, kPoolPageSize);
        Header(page.data())->id = id;
        Header(page.data())->type = PageType::kFree;
        *Word(page.data()) = id;
        StampPage(page.data(), kPoolPageSize);
        file->Write(static_cast<uint64_t>(id) * kPoolPageSize, page.data(), kPoolPageSize);
      }
    }
    options.create = FileOptions::kMustExist;
    options.mode = GetParam();
    std::unique_ptr<File> data;
    try {
      data = File::Open(dir_ + "/data", options);
    } catch (const Error& e) {
      GTEST_SKIP() << e.what();
    }
    FileOptions doublewrite;
    doublewrite.kind = FileKind::kDoublewrite;
    doublewrite.create = FileOptions::kTruncate;
    file_ = std::make_unique<PageFile>(
        std::move(data), File::Open(dir_ + "/doublewrite", doublewrite), kPoolPageSize);
    pool_ = std::make_unique<Pool>(file_.get(), &log_,
                                   Pool::BytesFor(frames, kPoolPageSize, pages + 1));
  }

  static uint64_t* Word(char* page) {
    return reinterpret_cast<uint64_t*>(page + sizeof(PageHeader));
  }
  static uint64_t WordOf(const char* page) {
    return *reinterpret_cast<const uint64_t*>(page + sizeof(PageHeader));
  }
  void Change(PoolClient* client, PageId id, uint64_t add) {
    ExclusiveGuard guard = pool_->Write(client, id);
    *Word(guard.page()) += add;
    const LogRange range = log_.Append("change");
    guard.MarkDirty(range.begin, range.end);
  }

  uint64_t FileReads() const {
    LedgerCounts counts = Ledger::Get().Counts();
    uint64_t reads = 0;
    for (const auto& op : counts.ops) {
      reads += op.file[static_cast<size_t>(FileKind::kData)].reads;
    }
    return reads;
  }

  std::string dir_;
  RedoLog log_;
  std::unique_ptr<PageFile> file_;
  std::unique_ptr<Pool> pool_;
};

TEST_P(PoolTest, EachMissIsOneReadAndHitsAreNone) {
  Open(400, 100);
  if (IsSkipped()) return;
  PoolClient client(pool_.get());
  std::mt19937 random(1);
  const uint64_t before = FileReads();
  for (int i = 0; i < 5000; ++i) {
    const PageId id = 1 + random() % 400;
    const SharedGuard guard = pool_->Read(&client, id);
    ASSERT_EQ(WordOf(guard.page()), id);
  }
  EXPECT_EQ(client.requests.Get(), 5000u);
  EXPECT_EQ(client.misses.Get(), FileReads() - before);
  if (GetParam() == IoMode::kMmap) {
    EXPECT_EQ(client.misses.Get(), 5000u) << "each read is in place, none is copied";
    EXPECT_EQ(pool_->Counters().evictions, 0u);
  } else {
    // Uniform reads miss (pages - frames) / pages of the time, after the pool is full.
    EXPECT_NEAR(static_cast<double>(client.misses.Get()), 5000 * 0.75, 5000 * 0.04);
    EXPECT_EQ(pool_->Counters().evictions, client.misses.Get() - 100);
  }
  const uint64_t misses = client.misses.Get();
  for (int i = 0; i < 100; ++i) pool_->Write(&client, 7);
  EXPECT_LE(client.misses.Get(), misses + 1) << "a page asked for again is in the pool";
}

// Recovery may keep back more pages than the pool has frames for.
TEST_P(PoolTest, PagesThatAreKeptBackAreNotWrittenBeforeTheyAreReleased) {
  constexpr PageId kKept = 50, kPages = 200;
  Open(kPages, 20);
  if (IsSkipped()) return;
  PoolClient client(pool_.get());
  for (PageId id = 1; id <= kKept; ++id) {
    pool_->KeepBack(pool_->Write(&client, id));
    Change(&client, id, 1000);
  }
  const auto expect_file = [&](PageId unchanged) {
    for (PageId id = kKept + 1; id <= kPages; ++id) Change(&client, id, 0);  // takes frames
    pool_->FlushBefore(kNoLsn);
    AlignedBuffer page(kPoolPageSize);
    for (PageId id = 1; id <= kKept; ++id) {
      file_->Read(id, page.data());
      ASSERT_EQ(WordOf(page.data()), id <= unchanged ? id : id + 1000);
    }
  };
  expect_file(kKept);
  for (PageId id = 1; id <= kKept; ++id) ASSERT_TRUE(pool_->Contains(id));
  pool_->ReleaseKept();
  expect_file(0);
  EXPECT_LE(pool_->MemoryBytes(), pool_->bytes()) << "their memory is given back";
}

TEST_P(PoolTest, DirtyPagesAreWrittenBeforeTheyLeave) {
  Open(500, 20);
  if (IsSkipped()) return;
  PoolClient client(pool_.get());
  std::mt19937 random(2);
  std::vector<uint64_t> expected(501);
  for (PageId id = 1; id <= 500; ++id) expected[id] = id;
  for (int i = 0; i < 4000; ++i) {
    const PageId id = 1 + random() % 500;
    if (i % 3 == 0) {
      ASSERT_EQ(WordOf(pool_->Read(&client, id).page()), expected[id]) << "page " << id;
    } else {
      Change(&client, id, 1000);
      expected[id] += 1000;
    }
  }
  EXPECT_GT(pool_->Counters().written, 500u);
  pool_->FlushBefore(log_.EndLsn());
  AlignedBuffer page(kPoolPageSize);
  for (PageId id = 1; id <= 500; ++id) {
    file_->Read(id, page.data());
    ASSERT_EQ(WordOf(page.data()), expected[id]) << "page " << id;
  }
}

// Inner nodes are clean and hot, and the leaves that writers bring in are dirty and cold. The hot
// pages must stay while the cold ones wait for the cleaner.
TEST_P(PoolTest, HotCleanPagesStayWhileColdDirtyOnesAreWritten) {
  constexpr uint32_t kPages = 6000, kHot = 30;
  if (GetParam() == IoMode::kMmap) GTEST_SKIP() << "looks at clean pages are no frames' affair";
  Open(kPages, 600);
  if (IsSkipped()) return;
  PoolClient client(pool_.get()), writer(pool_.get());
  std::mt19937 random(5);
  for (int i = 0; i < 30000; ++i) {
    for (int look = 0; look < 3; ++look) {
      (void)pool_->Read(&client, 1 + random() % kHot).page();
    }
    Change(&writer, 1 + kHot + random() % (kPages - kHot), 1);
  }
  EXPECT_GT(writer.misses.Get(), 20000u);
  EXPECT_LT(client.misses.Get(), 10 * kHot);
  RecordProperty("misses_of_hot_pages", static_cast<int>(client.misses.Get()));
}

// The kernel may drop a page that it failed to write back, and a reader in the mapping would not
// notice.
TEST_P(PoolTest, WhatNoSyncVouchesForIsNotReadInPlace) {
  if (GetParam() != IoMode::kMmap) GTEST_SKIP() << "reads in place are those of mmap mode";
  constexpr PageId kPages = 200;
  Open(kPages, 20);
  if (IsSkipped()) return;
  PoolClient client(pool_.get());
  // Each batch syncs the one before, and all pages of the last one may still be in the pool.
  int written = 0;
  uint64_t added = 0;
  for (int round = 0; round < 100 && written == 0; ++round) {
    for (PageId id = 1; id <= kPages; ++id) Change(&client, id, 1000);
    added += 1000;
    for (PageId id = 1; id <= kPages; ++id) {
      if (pool_->Contains(id)) continue;
      const bool unsynced = file_->WrittenSinceSync(id);
      if (unsynced) ++written;
      ASSERT_EQ(WordOf(pool_->Read(&client, id).page()), id + added);
      ASSERT_EQ(WordOf(pool_->Optimistic(&client, id).page()), id + added);
      EXPECT_EQ(pool_->Contains(id), unsynced) << "page " << id;
    }
  }
  EXPECT_GT(written, 0);
  pool_->FlushBefore(log_.EndLsn());
  file_->Sync();
  for (PageId id = 1; id <= kPages; ++id) {
    if (pool_->Contains(id)) continue;
    ASSERT_EQ(WordOf(pool_->Read(&client, id).page()), id + added);
    EXPECT_FALSE(pool_->Contains(id)) << "page " << id;
  }
}

TEST_P(PoolTest, FlushWritesOnlyWhatIsDirty) {
  Open(100, 64);
  if (IsSkipped()) return;
  PoolClient client(pool_.get());
  for (PageId id = 1; id <= 40; ++id) pool_->Read(&client, id);
  for (PageId id = 1; id <= 10; ++id) Change(&client, id, 1);
  pool_->FlushBefore(log_.EndLsn());
  EXPECT_EQ(pool_->Counters().written, 10u);
  pool_->FlushBefore(log_.EndLsn());
  EXPECT_EQ(pool_->Counters().written, 10u);
  const Lsn middle = log_.EndLsn();
  Change(&client, 3, 1);
  pool_->FlushBefore(middle);
  EXPECT_EQ(pool_->Counters().written, 10u) << "dirtied after the given position";
}

// The log may have the change from before for the last time: the page is written though it is free.
TEST_P(PoolTest, AFreedOverflowPageIsWrittenIfItWasDirtyBefore) {
  Open(100, 20);
  if (IsSkipped()) return;
  PoolClient client(pool_.get());
  const std::string value(100, 'v');
  for (const bool before : {true, false}) {
    SCOPED_TRACE(before);
    const PageId id = before ? 3 : 4;
    if (before) Change(&client, id, 1000);
    // The value's commit began before that change.
    RewriteOverflow(pool_.get(), &log_, &client, 1, {id, 1, value.size()}, value, 0);
    pool_->Discard(id, 1);
    const uint64_t written = pool_->Counters().written;
    pool_->FlushBefore(log_.EndLsn());
    EXPECT_EQ(pool_->Counters().written - written, before ? 1u : 0u);
  }
}

TEST_P(PoolTest, ABrokenPageIsAnErrorEachTimeAndHarmsNothingElse) {
  Open(100, 20);
  if (IsSkipped()) return;
  {
    FileOptions options;
    auto file = File::Open(dir_ + "/data", options);
    file->Write(42 * kPoolPageSize + 1000, "x", 1);
  }
  PoolClient client(pool_.get());
  for (int i = 0; i < 50; ++i) {
    try {
      if (i % 2 == 0) {
        pool_->Read(&client, 42);
      } else {
        pool_->Write(&client, 42);
      }
      FAIL() << "no error";
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::kCorruption);
      EXPECT_NE(std::string(e.what()).find("page 42 of file " + dir_ +
                                           "/data: its checksum does not match"),
                std::string::npos);
    }
    const PageId other = 1 + static_cast<PageId>(i) % 40;
    EXPECT_EQ(WordOf(pool_->Read(&client, other).page()), other);
  }
}

// Threads read and change pages in a pool that is far too small. No thread may see half a change,
// and no change may be lost.
TEST_P(PoolTest, ThreadsSeeWholePagesAndLoseNoChange) {
  constexpr int kThreads = 8, kPages = 200, kChanges = 1500;
  constexpr uint64_t kStep = 1000;
  Open(kPages, 40);
  if (IsSkipped()) return;
  std::atomic<bool> stop{false};
  std::thread flusher([&] {
    while (!stop) pool_->FlushBefore(log_.EndLsn());
  });
  std::vector<std::thread> threads;
  std::atomic<uint64_t> changes{0};
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      PoolClient client(pool_.get());
      std::mt19937 random(t);
      for (int i = 0; i < kChanges; ++i) {
        const PageId id = 1 + random() % kPages;
        if (random() % 2 == 0) {
          ExclusiveGuard guard = pool_->Write(&client, id);
          // The last word follows the first, so that half a change shows.
          *Word(guard.page()) += kStep;
          std::memcpy(guard.page() + kPoolPageSize - 8, Word(guard.page()), 8);
          const LogRange range = log_.Append("change");
          guard.MarkDirty(range.begin, range.end);
          ++changes;
        } else {
          const SharedGuard guard = pool_->Read(&client, id);
          uint64_t last;
          std::memcpy(&last, guard.page() + kPoolPageSize - 8, 8);
          const uint64_t first = WordOf(guard.page());
          ASSERT_EQ(first % kStep, id);
          if (first != id) {
            ASSERT_EQ(first, last);
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  stop = true;
  flusher.join();
  pool_->FlushBefore(log_.EndLsn());
  uint64_t sum = 0;
  AlignedBuffer page(kPoolPageSize);
  for (PageId id = 1; id <= kPages; ++id) {
    file_->Read(id, page.data());
    sum += (WordOf(page.data()) - id) / kStep;
  }
  EXPECT_EQ(sum, changes);
}

// Threads read pages without latches. A read that the guard calls valid must have been of a whole
// page, and of the right one, although other pages often take its frame. The size of the pool
// changes all the time.
TEST_P(PoolTest, OptimisticReadsAreWholeWhenTheyAreValid) {
  constexpr int kReaders = 4, kPages = 200, kReads = 40000;
  constexpr uint64_t kStep = 1000;
  Open(kPages, 80);
  if (IsSkipped()) return;
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    PoolClient client(pool_.get());
    std::mt19937 random(99);
    for (int i = 0; !stop; ++i) {
      ExclusiveGuard guard = pool_->Write(&client, 1 + random() % kPages);
      *Word(guard.page()) += kStep;
      std::memcpy(guard.page() + kPoolPageSize - 8, Word(guard.page()), 8);
      const LogRange range = log_.Append("change");
      guard.MarkDirty(range.begin, range.end);
      guard.Release();
      if (i % 500 == 0) {
        pool_->Resize(Pool::BytesFor(i % 1000 == 0 ? 40 : 80, kPoolPageSize, kPages + 1));
      }
    }
  });
  std::atomic<uint64_t> valid{0};
  std::vector<std::thread> readers;
  for (int t = 0; t < kReaders; ++t) {
    readers.emplace_back([&, t] {
      PoolClient client(pool_.get());
      std::mt19937 random(t);
      for (int i = 0; i < kReads; ++i) {
        const PageId id = 1 + random() % kPages;
        const OptimisticGuard guard = pool_->Optimistic(&client, id);
        uint64_t last;
        std::memcpy(&last, guard.page() + kPoolPageSize - 8, 8);
        const uint64_t first = WordOf(guard.page());
        if (!guard.Valid()) continue;
        ++valid;
        ASSERT_EQ(first % kStep, id);
        if (first != id) {
          ASSERT_EQ(first, last);
        }
      }
    });
  }
  for (std::thread& thread : readers) thread.join();
  stop = true;
  writer.join();
  EXPECT_GT(valid.load(), uint64_t{kReaders} * kReads / 2);
}

TEST_P(PoolTest, AnOptimisticReadNoticesAChangeAndAnEviction) {
  Open(100, Pool::kMinFrames);
  if (IsSkipped()) return;
  if (kLatchedReads) GTEST_SKIP() << "optimistic guards hold latches in this build";
  PoolClient client(pool_.get());
  OptimisticGuard guard = pool_->Optimistic(&client, 7);
  EXPECT_TRUE(guard.Valid());
  pool_->Read(&client, 7);
  EXPECT_TRUE(guard.Valid()) << "a reader changes nothing";
  {
    const ExclusiveGuard page = pool_->Write(&client, 7);
    EXPECT_FALSE(guard.Valid()) << "while it may be changed";
  }
  EXPECT_FALSE(guard.Valid()) << "after it may have been changed";
  EXPECT_FALSE(pool_->Upgrade(&client, &guard));
  EXPECT_FALSE(pool_->Hold(&guard));
  guard = pool_->Optimistic(&client, 7);
  EXPECT_TRUE(pool_->Hold(&guard));
  EXPECT_TRUE(pool_->Upgrade(&client, &guard));
  guard = pool_->Optimistic(&client, 7);
  // The pages are read several times, since a scan that reads each once would not evict this page.
  for (PageId id = 20; id < 100; ++id) {
    for (int i = 0; i < 3; ++i) pool_->Write(&client, id);
  }
  EXPECT_FALSE(guard.Valid()) << "its frame is another page's";
}

// The dirty pages are few, and the replacement may name many clean ones before them.
TEST_P(PoolTest, TheFirstRetryWithSpaceSucceedsWhicheverPagesShouldLeaveNext) {
  if (GetParam() == IoMode::kMmap) GTEST_SKIP() << "reads need no frames";
  constexpr uint32_t kPages = 2000, kDirty = 40;
  Open(kPages, 200);
  if (IsSkipped()) return;
  FailingDisk disk(dir_);
  PoolClient client(pool_.get());
  std::mt19937 random(8);
  const auto read = [&] { pool_->Read(&client, 1 + kDirty + random() % (kPages - kDirty)); };
  const auto refused = [&] {
    try {
      pool_->RetryCleaning();
      return false;
    } catch (const Error& e) {
      return e.disk_is_full();
    }
  };
  for (int round = 0; round < 20; ++round) {
    SCOPED_TRACE(round);
    disk.Fail({DiskCall::kWrite, 0, ENOSPC, true, "/data"});
    for (PageId id = 1; id <= kDirty; ++id) Change(&client, id, 1);
    for (int i = 0; i < 10000 && !refused(); ++i) read();
    EXPECT_TRUE(refused());
    for (int i = 0; i < 20 * round; ++i) read();
    disk.Heal();
    EXPECT_NO_THROW(pool_->RetryCleaning());
    pool_->FlushBefore(log_.EndLsn());
  }
}

// Stops the thread that first touches a page of memory, until others have done something meanwhile.
class TouchedPage {
 public:
  explicit TouchedPage(const char* page) {
    page_ = const_cast<char*>(page);
    struct sigaction action = {};
    action.sa_handler = [](int) {
      ::mprotect(page_, kPoolPageSize, PROT_READ);
      touched_ = true;
      while (!done_) ::sched_yield();
    };
    ::sigaction(SIGSEGV, &action, &before_);
    ::mprotect(page_, kPoolPageSize, PROT_NONE);
  }
  ~TouchedPage() { ::sigaction(SIGSEGV, &before_, nullptr); }
  void AwaitTouch() {
    while (!touched_) ::sched_yield();
  }
  void LetGo() { done_ = true; }

 private:
  static inline char* page_ = nullptr;
  static inline std::atomic<bool> touched_{false}, done_{false};
  struct sigaction before_ = {};
};

// Another thread brings the page into the pool, changes it and is writing it to its place, while
// this one checks in that place what it took for the page.
TEST_P(PoolTest, APageThatChangesWhileItIsCheckedInPlaceIsNotBroken) {
  if (GetParam() != IoMode::kMmap) GTEST_SKIP() << "reads in place are those of mmap mode";
  if (kLatchedReads) GTEST_SKIP() << "reads hold the page";
  Open(100, 20);
  if (IsSkipped()) return;
  PoolClient client(pool_.get());
  TouchedPage page(file_->View(3, false));
  std::thread other([&] {
    PoolClient writer(pool_.get());
    page.AwaitTouch();
    Change(&writer, 3, 1000);
    std::fstream file(dir_ + "/data", std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(3 * kPoolPageSize + 1000);
    file.write("half", 4);
    file.close();
    page.LetGo();
  });
  EXPECT_NO_THROW(EXPECT_EQ(WordOf(pool_->Optimistic(&client, 3).page()), 1003u));
  other.join();
}

TEST_P(PoolTest, ResizeTakesFramesAwayAndGivesThemBack) {
  constexpr uint32_t kPages = 400;
  Open(kPages, 200);
  if (IsSkipped()) return;
  PoolClient client(pool_.get());
  for (PageId id = 1; id <= kPages; ++id) Change(&client, id, 1000);
  EXPECT_LE(pool_->MemoryBytes(), Pool::BytesFor(200, kPoolPageSize, kPages + 1));
  pool_->Resize(Pool::BytesFor(50, kPoolPageSize, kPages + 1));
  EXPECT_EQ(pool_->frames(), 50u);
  EXPECT_LE(pool_->MemoryBytes(), Pool::BytesFor(50, kPoolPageSize, kPages + 1));
  for (PageId id = 1; id <= kPages; ++id) {
    ASSERT_EQ(WordOf(pool_->Read(&client, id).page()), id + 1000) << "dirty pages were written";
  }
  pool_->Resize(Pool::BytesFor(kPages, kPoolPageSize, kPages + 1));
  for (PageId id = 1; id <= kPages; ++id) pool_->Write(&client, id);
  const uint64_t misses = client.misses.Get();
  for (PageId id = 1; id <= kPages; ++id) {
    ASSERT_EQ(WordOf(pool_->Read(&client, id).page()), id + 1000);
  }
  EXPECT_EQ(client.misses.Get(), misses) << "all fit now";
}

// No client may wait for the kernel to clear memory: some must be ready before it is needed, and
// not more than counts as the pool's.
TEST_P(PoolTest, MemoryIsReadyBeforeItIsNeeded) {
  constexpr uint32_t kPages = 100, kFrames = 32768, kAhead = kFrames / 16;
  const uint64_t before = ProcessResidentBytes();
  Open(kPages, kFrames);
  if (IsSkipped()) return;
  constexpr uint64_t kReady = (kAhead * kPoolPageSize) - (2 << 20);
  for (int i = 0; i < 1000 && pool_->MemoryBytes() < kReady; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_GE(pool_->MemoryBytes(), kReady);
  EXPECT_LE(pool_->MemoryBytes(), Pool::BytesFor(kAhead, kPoolPageSize, kPages + 1));
  EXPECT_GE(ProcessResidentBytes() - before, kReady);
  PoolClient client(pool_.get());
  for (PageId id = 1; id <= kPages; ++id) Change(&client, id, 1000);
  const uint64_t most = ProcessResidentBytes();
  pool_->Resize(Pool::BytesFor(50, kPoolPageSize, kPages + 1));
  EXPECT_LE(pool_->MemoryBytes(), Pool::BytesFor(50, kPoolPageSize, kPages + 1));
  EXPECT_LT(ProcessResidentBytes() + kReady / 2, most);
  for (PageId id = 1; id <= kPages; ++id) {
    ASSERT_EQ(WordOf(pool_->Read(&client, id).page()), id + 1000);
  }
}

TEST_P(PoolTest, AllFramesInUseIsAnErrorNotAHang) {
  Open(100, Pool::kMinFrames);
  if (IsSkipped()) return;
  if (GetParam() == IoMode::kMmap) GTEST_SKIP() << "reads need no frames";
  pool_->SetPatience(std::chrono::milliseconds(200));
  PoolClient client(pool_.get());
  std::vector<SharedGuard> guards;
  for (PageId id = 1; id <= Pool::kMinFrames; ++id) guards.push_back(pool_->Read(&client, id));
  try {
    pool_->Read(&client, 50);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("too small"), std::string::npos) << e.what();
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, PoolTest,
                         testing::Values(IoMode::kBuffered, IoMode::kDirect, IoMode::kMmap),
                         [](const auto& info) { return IoModeName(info.param); });

TEST(PoolSizeTest, NeverAboveTheSetting) {
  for (const uint32_t page_size : {4096u, 8192u, 65536u}) {
    for (const uint64_t bytes : {1ull << 20, 10ull << 20, 1ull << 30}) {
      const uint32_t frames = Pool::FramesFor(bytes, page_size);
      EXPECT_LE(frames * static_cast<uint64_t>(page_size), bytes);
      // The tables of the pool take no more than a few percent, even with the smallest pages.
      if (frames == 0) continue;
      EXPECT_GE(frames * static_cast<uint64_t>(page_size), bytes * 93 / 100 - page_size);
    }
    EXPECT_EQ(Pool::FramesFor(Pool::kMinFrames * page_size, page_size), 0u);
  }
}

}  // namespace
}  // namespace testbed::btree
