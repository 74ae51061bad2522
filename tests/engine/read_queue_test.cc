// Tests many point reads in flight on one thread: they must find what single reads find.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "device/account/ledger.h"
#include "device/file/file_faults.h"
#include "device/file/read_ring.h"
#include "tests/engine/engine_test.h"
#include "tests/every_way.h"

namespace testbed {
namespace {

class ReadQueueTest : public EngineTest {
 public:
  static bool IsFor(const EngineCase& c) {
    return c.io != IoMode::kMmap && FindEngine(c.engine).capabilities.reads_in_flight;
  }

 protected:
  static constexpr uint64_t kRows = 20000;
  static constexpr size_t kValue = 300;
  static constexpr uint32_t kDepth = 64;

  void SetUp() override {
    EngineTest::SetUp();
    if (std::string why; !ReadRing::Available(&why)) GTEST_SKIP() << why;
    // The cache is far smaller than the data, and has only a few pages more than the queue has
    // slots.
    options_.cache_bytes = std::max<uint64_t>(1 << 20, info().capabilities.min_cache_bytes);
    Open();
  }
  // Looks up the rows with many reads in flight, which end in any order. Expects that each row has
  // the value that `value_of` returns.
  void ReadAll(const std::vector<uint64_t>& rows,
               const std::function<std::string(uint64_t)>& value_of) {
    const std::unique_ptr<ReadQueue> queue = session_->NewReadQueue(kDepth);
    ASSERT_NE(queue, nullptr);
    std::vector<std::string> keys(kDepth);
    std::vector<uint64_t> row_of(kDepth);
    size_t next = 0, ended = 0;
    const auto start = [&](uint32_t slot) {
      row_of[slot] = rows[next++];
      keys[slot] = RowKey(row_of[slot]);
      queue->Start(slot, table_, keys[slot], nullptr);
    };
    while (next < std::min<size_t>(kDepth, rows.size())) start(static_cast<uint32_t>(next));
    while (ended < rows.size()) {
      bool found;
      std::string_view value;
      const uint32_t slot = queue->Finish(&found, &value);
      ++ended;
      const std::string expected = value_of(row_of[slot]);
      ASSERT_EQ(found ? value : kAbsent, expected) << row_of[slot];
      if (next < rows.size()) start(slot);
    }
  }
  // Looks up the rows by calls of MultiGet, and expects of each the value of the load.
  void MultiGetAll(const std::vector<uint64_t>& rows) {
    constexpr size_t kKeys = 16;
    std::vector<FoundRow> found;
    for (size_t first = 0; first + kKeys <= rows.size(); first += kKeys) {
      std::vector<std::string> keys;
      for (size_t i = first; i < first + kKeys; ++i) keys.push_back(RowKey(rows[i]));
      const std::vector<std::string_view> views(keys.begin(), keys.end());
      session_->MultiGet(table_, views, &found);
      for (size_t i = 0; i < kKeys; ++i) {
        ASSERT_TRUE(found[i].found) << rows[first + i];
        ASSERT_EQ(found[i].value, RowValue(rows[first + i], kValue));
      }
    }
  }
  static std::vector<uint64_t> RandomRows(size_t count, uint64_t below) {
    std::mt19937_64 random(7);
    std::vector<uint64_t> rows(count);
    for (uint64_t& row : rows) row = random() % below;
    return rows;
  }
};

TESTBED_FOR_EVERY_ENGINE(ReadQueueTest);

TEST_P(ReadQueueTest, FindsWhatIsThereAndNothingElse) {
  Load(kRows, kValue);
  engine_->Settle();
  const uint64_t reads = engine_->Counters().block_reads.value_or(0);
  ReadAll(RandomRows(12000, 2 * kRows),
          [](uint64_t row) { return row < kRows ? RowValue(row, kValue) : kAbsent; });
  EXPECT_GT(engine_->Counters().block_reads.value_or(0), reads + 4000) << "the cache is small";
}

TEST_P(ReadQueueTest, ValuesLongerThanAPage) {
  constexpr size_t kLong = 70000;
  Load(100, kLong);
  ReadAll(RandomRows(500, 150),
          [](uint64_t row) { return row < 100 ? RowValue(row, kLong) : kAbsent; });
}

TEST_P(ReadQueueTest, SeesTheSessionsOwnWrites) {
  Load(1000, kValue);
  session_->Begin();
  session_->Erase(table_, RowKey(3));
  Put(RowKey(4), "new");
  Put(RowKey(1005), "more");
  ReadAll(RandomRows(3000, 1100), [](uint64_t row) -> std::string {
    if (row == 4) return "new";
    if (row == 1005) return "more";
    return row < 1000 && row != 3 ? RowValue(row, kValue) : kAbsent;
  });
  session_->Rollback();
}

TEST_P(ReadQueueTest, EachReadIsChargedToItsOwnOperation) {
  Load(kRows, kValue);
  engine_->Settle();
  const OpKind ops[] = {DefineOp("queue-even", Ground::kForeground),
                        DefineOp("queue-odd", Ground::kForeground)};
  const std::unique_ptr<ReadQueue> queue = session_->NewReadQueue(kDepth);
  const LedgerCounts before = Ledger::Get().Counts();
  const uint64_t reads_before = *engine_->Counters().block_reads;
  std::vector<std::string> keys(kDepth);
  std::vector<IoTask> tasks(kDepth);
  for (uint64_t round = 0; round < 50; ++round) {
    for (uint32_t i = 0; i < kDepth; ++i) {
      tasks[i].Begin(ops[i % 2]);
      // The odd slots read the same row each time, which is soon in the cache.
      keys[i] = RowKey(i % 2 == 0 ? (round * kDepth + i) * 6151 % kRows : 77);
      queue->Start(i, table_, keys[i], &tasks[i]);
    }
    for (uint32_t i = 0; i < kDepth; ++i) {
      bool found;
      std::string_view value;
      const uint32_t slot = queue->Finish(&found, &value);
      ASSERT_TRUE(found);
      tasks[slot].End();
    }
  }
  const LedgerCounts cost = Ledger::Get().Counts() - before;
  const LedgerCounts::Op& even = cost.ops[ops[0].id];
  const LedgerCounts::Op& odd = cost.ops[ops[1].id];
  EXPECT_EQ(even.operations, 50 * kDepth / 2);
  EXPECT_EQ(odd.operations, 50 * kDepth / 2);
  EXPECT_GT(even.FileTotal().reads, 1000u);
  EXPECT_LT(odd.FileTotal().reads, even.FileTotal().reads / 4);
  EXPECT_EQ(even.FileTotal().reads + odd.FileTotal().reads,
            *engine_->Counters().block_reads - reads_before);
  uint64_t by_histogram = 0;
  for (size_t i = 0; i < kBlockBuckets; ++i) by_histogram += i * even.file_reads[i];
  EXPECT_EQ(by_histogram, even.FileTotal().reads);
}

TEST_P(ReadQueueTest, BesideWritersWhoChangeTheTree) {
  Load(kRows, kValue);
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    const auto session = engine_->NewSession();
    for (uint64_t i = 0; !stop; ++i) {
      // Rows beyond those that are read come and go, so that leaves are split and merged.
      session->Begin();
      for (uint64_t row = 0; row < 200; ++row) {
        const uint64_t other = kRows + (i % 20) * 200 + row;
        if (i / 20 % 2 == 0) {
          session->Put(table_, RowKey(other), RowValue(other, kValue));
        } else {
          session->Erase(table_, RowKey(other));
        }
        session->Put(table_, RowKey(row * 97 % kRows), RowValue(row * 97 % kRows, kValue));
      }
      session->Commit();
    }
  });
  // Each row that is read costs what the writer does meanwhile.
  const size_t rows = EveryWay() ? 30000 : 4000;
  ReadAll(RandomRows(rows, kRows), [](uint64_t row) { return RowValue(row, kValue); });
  MultiGetAll(RandomRows(rows / 2, kRows));
  MultiGetAll(std::vector<uint64_t>(rows / 2, 97));  // a row that is cached and written anew
  stop = true;
  writer.join();
}

TEST_P(ReadQueueTest, ADestroyedPageIsAnErrorAndLeavesTheRestUsable) {
  if (!info().capabilities.checksums) GTEST_SKIP() << info().name << " has no checksums";
  Load(kRows, kValue);
  engine_->Settle();
  Close();
  for (const std::string& path : FilesOfKind(dir_, FileKind::kData)) {
    // Every second page of a used part of the file is damaged.
    const uint64_t size = std::filesystem::file_size(path);
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    for (uint64_t page = size / 4 / options_.page_size; page < size / 2 / options_.page_size;
         page += 2) {
      file.seekp(static_cast<std::streamoff>(page * options_.page_size + options_.page_size / 2));
      file.write("destroyed", 9);
    }
  }
  Open();
  int errors = 0;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const std::string error = [&]() -> std::string {
      try {
        ReadAll(RandomRows(2000, kRows), [](uint64_t row) { return RowValue(row, kValue); });
      } catch (const Error& e) {
        EXPECT_EQ(e.kind(), Error::kCorruption) << e.what();
        return e.what();
      }
      return "";
    }();
    errors += !error.empty();
  }
  EXPECT_GT(errors, 0);
  // No page may stay latched: single reads must work, or name the damaged page.
  int good = 0;
  for (uint64_t row = 0; row < kRows; row += 50) {
    try {
      good += Get(RowKey(row)) == RowValue(row, kValue);
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::kCorruption) << e.what();
    }
  }
  EXPECT_GT(good, 100);
}

// Values longer than a page make each look-up wait until the thread may do reads of its own.
TEST_P(ReadQueueTest, EachSlotHasItsTurn) {
  constexpr size_t kLong = 70000;
  constexpr uint32_t kSlots = 8;
  Load(100, kLong);
  const std::unique_ptr<ReadQueue> queue = session_->NewReadQueue(kSlots);
  std::vector<std::string> keys(kSlots);
  std::vector<int> answers(kSlots);
  uint64_t next = 0;
  const auto start = [&](uint32_t slot) {
    keys[slot] = RowKey(next++ % 100);
    queue->Start(slot, table_, keys[slot], nullptr);
  };
  for (uint32_t slot = 0; slot < kSlots; ++slot) start(slot);
  for (int answer = 0; answer < 400; ++answer) {
    bool found;
    std::string_view value;
    const uint32_t slot = queue->Finish(&found, &value);
    ASSERT_TRUE(found);
    ++answers[slot];
    start(slot);
  }
  for (const int of_slot : answers) EXPECT_GT(of_slot, 20);
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    bool found;
    std::string_view value;
    queue->Finish(&found, &value);
  }
}

// A slot whose look-ups find their pages in the pool must not keep the answer of another one, whose
// read has ended, waiting until it misses as well.
TEST_P(ReadQueueTest, HitsDoNotHoldBackAReadThatHasEnded) {
  Load(kRows, kValue);
  engine_->Settle();
  const std::unique_ptr<ReadQueue> queue = session_->NewReadQueue(2);
  const std::string hot = RowKey(0);
  bool found;
  std::string_view value;
  int read_from_disk = 0;
  for (uint64_t cold = kRows / 2; cold < kRows && read_from_disk < 20; cold += 97) {
    const std::string key = RowKey(cold);
    const uint64_t reads = *engine_->Counters().block_reads;
    queue->Start(0, table_, key, nullptr);
    read_from_disk += *engine_->Counters().block_reads > reads;
    queue->Start(1, table_, hot, nullptr);
    bool ended = false;
    for (int hits = 0; hits < 1'000'000 && !ended; ++hits) {
      ended = queue->Finish(&found, &value) == 0;
      ASSERT_TRUE(found);
      if (!ended) queue->Start(1, table_, hot, nullptr);
    }
    ASSERT_TRUE(ended) << cold;
    queue->Finish(&found, &value);
  }
  EXPECT_EQ(read_from_disk, 20);
}

// Reads that are in flight when another one fails have latched their pages, and their answers must
// not be taken for those of the next call.
TEST_P(ReadQueueTest, AMultiGetThatFailsLeavesTheSessionUsable) {
  Load(kRows, kValue);
  engine_->Settle();
  const auto multi_get = [&](uint64_t first) {
    std::vector<std::string> keys;
    for (uint64_t i = 0; i < 30; ++i) keys.push_back(RowKey((first + i * 631) % kRows));
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    std::vector<FoundRow> rows;
    session_->MultiGet(table_, views, &rows);
    for (uint64_t i = 0; i < rows.size(); ++i) {
      ASSERT_EQ(rows[i].value, RowValue((first + i * 631) % kRows, kValue)) << first << " " << i;
    }
  };
  int failed = 0;
  for (uint64_t fault = 0; fault < 60; fault += 4) {
    FileFaults::Set(fault, fault + 1, EIO);
    try {
      multi_get(fault * 97);
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::kIo) << e.what();
      ++failed;
    }
    FileFaults::Clear();
    ASSERT_NO_FATAL_FAILURE(multi_get(fault * 97 + 300));
    for (uint64_t i = 0; i < 30; ++i) {
      const uint64_t row = (fault * 97 + i * 631) % kRows;
      ASSERT_EQ(Get(RowKey(row)), RowValue(row, kValue));
    }
  }
  EXPECT_GT(failed, 5);
}

// Lets the process open no more files while it lives.
class NoMoreFiles {
 public:
  NoMoreFiles() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const int lowest_free = ::dup(STDERR_FILENO);
    ::close(lowest_free);
    rlimit now = before_;
    now.rlim_cur = static_cast<rlim_t>(lowest_free);
    ::setrlimit(RLIMIT_NOFILE, &now);
  }
  ~NoMoreFiles() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoMoreFiles(const NoMoreFiles&) = delete;
  NoMoreFiles& operator=(const NoMoreFiles&) = delete;

 private:
  rlimit before_ = {};
};

// A call for more keys makes a larger queue, for which the kernel may have no descriptor. Later
// calls must not take the smaller queue for the larger one.
TEST_P(ReadQueueTest, AMultiGetThatGetsNoLargerQueueReadsRowByRow) {
  Load(kRows, kValue);
  engine_->Settle();
  const auto multi_get = [&](uint64_t first, uint64_t n) {
    std::vector<std::string> keys;
    for (uint64_t i = 0; i < n; ++i) keys.push_back(RowKey((first + i * 97) % kRows));
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    std::vector<FoundRow> rows;
    session_->MultiGet(table_, views, &rows);
    for (uint64_t i = 0; i < n; ++i) {
      ASSERT_EQ(rows[i].value, RowValue((first + i * 97) % kRows, kValue)) << first << " " << i;
    }
  };
  ASSERT_NO_FATAL_FAILURE(multi_get(0, 10));
  {
    const NoMoreFiles no_more;
    for (const uint64_t first : {10, 20, 30}) ASSERT_NO_FATAL_FAILURE(multi_get(first, 200));
  }
  ASSERT_NO_FATAL_FAILURE(multi_get(40, 200));
}

class MultiGetTest : public AnyIoModeTest {
 protected:
  // Expects that TakeEach passes on the rows that MultiGet finds, in the order of the keys.
  void ExpectTakeEachFindsTheSame(const std::vector<std::string_view>& keys) {
    std::vector<FoundRow> rows;
    session_->MultiGet(table_, keys, &rows);
    std::vector<std::string> found;
    for (const FoundRow& row : rows) found.push_back(row.found ? std::string(row.value) : kAbsent);
    size_t taken = 0;
    session_->TakeEach(table_, keys, [&](size_t i, const FoundRow& row) {
      ASSERT_EQ(i, taken++);
      ASSERT_EQ(row.found ? row.value : kAbsent, found[i]) << keys[i];
    });
    EXPECT_EQ(taken, keys.size());
  }
};
TESTBED_FOR_EVERY_ENGINE(MultiGetTest);

TEST_P(MultiGetTest, FindsWhatSingleGetsFind) {
  constexpr uint64_t kRows = 3000;
  constexpr size_t kValue = 300;
  options_.cache_bytes = std::max<uint64_t>(1 << 20, info().capabilities.min_cache_bytes);
  Open();
  Load(kRows, kValue);
  engine_->Settle();
  session_->Begin();
  Put(RowKey(5), "changed");
  session_->Erase(table_, RowKey(6));
  std::mt19937_64 random(3);
  std::vector<FoundRow> rows;
  for (const size_t n : {size_t{1}, size_t{2}, size_t{100}, size_t{1500}}) {
    std::vector<uint64_t> wanted;
    for (size_t i = 0; i < n; ++i) wanted.push_back(i < 3 ? 5 + i : random() % (kRows + 500));
    if (n > 50) wanted[40] = wanted[41];  // the same twice
    std::vector<std::string> keys;
    for (const uint64_t row : wanted) keys.push_back(RowKey(row));
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    session_->MultiGet(table_, views, &rows);
    ASSERT_EQ(rows.size(), n);
    for (size_t i = 0; i < n; ++i) {
      const uint64_t row = wanted[i];
      const std::string expected = row == 5 ? "changed" : RowValue(row, kValue);
      ASSERT_EQ(rows[i].found, row < kRows && row != 6) << row;
      if (rows[i].found) {
        ASSERT_EQ(rows[i].value, expected) << row;
      }
    }
    ASSERT_NO_FATAL_FAILURE(ExpectTakeEachFindsTheSame(views));
  }
  info().capabilities.transactions ? session_->Rollback() : session_->Commit();
  session_->MultiGet(table_, {}, &rows);
  EXPECT_TRUE(rows.empty());
  ExpectTakeEachFindsTheSame({});
}

// Calls for more and more rows, of which some are in blocks that the last call has pinned and
// others were written since.
TEST_P(MultiGetTest, CallsGrowAndShrink) {
  constexpr uint64_t kRows = 1000;
  Open();
  Load(kRows, 200);
  engine_->Settle();
  for (uint64_t row = 0; row < kRows; row += 3) Put(RowKey(row), RowValue(row + 1, 200));
  std::vector<FoundRow> rows;
  for (const size_t n : {1, 2, 5, 3, 40, 1, 70, 200, 2, 400}) {
    std::vector<std::string> keys;
    for (size_t i = 0; i < n; ++i) keys.push_back(RowKey((i * 37 + n) % kRows));
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    session_->MultiGet(table_, views, &rows);
    ASSERT_EQ(rows.size(), n);
    for (size_t i = 0; i < n; ++i) {
      const uint64_t row = (i * 37 + n) % kRows;
      ASSERT_TRUE(rows[i].found) << row;
      ASSERT_EQ(rows[i].value, RowValue(row % 3 == 0 ? row + 1 : row, 200)) << row;
    }
    ASSERT_NO_FATAL_FAILURE(ExpectTakeEachFindsTheSame(views));
  }
}

TEST_P(MultiGetTest, ValuesStayUntilTheNextCallWhateverOthersWrite) {
  constexpr uint64_t kRows = 2000;
  constexpr size_t kValue = 300;
  options_.cache_bytes = std::max<uint64_t>(1 << 20, info().capabilities.min_cache_bytes);
  Open();
  Load(kRows, kValue);
  std::vector<std::string> keys;
  for (uint64_t row = 0; row < 100; ++row) keys.push_back(RowKey(row * 20));
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  std::vector<FoundRow> rows;
  session_->MultiGet(table_, views, &rows);
  std::thread([&] {
    const std::unique_ptr<Session> other = engine_->NewSession();
    for (int round = 0; round < 3; ++round) {
      for (uint64_t row = 0; row < kRows; ++row) {
        other->Put(table_, RowKey(row), std::string(kValue, static_cast<char>('a' + round)));
      }
    }
  }).join();
  ASSERT_EQ(rows.size(), keys.size());
  for (uint64_t i = 0; i < rows.size(); ++i) {
    ASSERT_TRUE(rows[i].found);
    EXPECT_EQ(rows[i].value, RowValue(i * 20, kValue));
  }
  session_->MultiGet(table_, views, &rows);
  for (const FoundRow& row : rows) EXPECT_EQ(row.value, std::string(kValue, 'c'));
}

}  // namespace
}  // namespace testbed
