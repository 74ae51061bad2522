// Tests what is special to bf-tree: which rows a database has after a crash, what becomes of it
// after a write or a read has failed, and what it refuses because Bf-Tree cannot do it. The
// conformance suite tests its behaviour as an engine.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "device/error.h"
#include "device/file/file_faults.h"
#include "engines/registry.h"
#include "tests/engine/engine_test.h"
#include "tools/database/copy_tree.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

#ifdef __SANITIZE_ADDRESS__
constexpr bool kLeaksAreErrors = true;
#else
constexpr bool kLeaksAreErrors = false;
#endif
constexpr char kLeaks[] = "what the library holds after a failed read is not freed";

bool HasBfTree() {
  for (const EngineInfo& info : Engines()) {
    if (info.name == "bf-tree") return info.missing().empty();
  }
  return false;
}

class BfTreeTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasBfTree()) GTEST_SKIP() << "the library of bf-tree is not built";
    std::string pattern = fs::current_path() / "bf_tree_test_XXXXXX";
    dir_ = mkdtemp(pattern.data());
    options_ = DefaultEngineOptions(FindEngine("bf-tree"));
    options_.cache_bytes = 1 << 20;
  }
  ~BfTreeTest() override {
    FileFaults::Clear();
    Close();
    std::error_code ignored;
    if (!dir_.empty()) fs::remove_all(dir_, ignored);
  }
  void Open(const std::string& name = "db") {
    Close();
    engine_ = OpenEngine("bf-tree", dir_ + "/" + name, options_);
    table_ = engine_->OpenTable("t");
    session_ = engine_->NewSession();
  }
  void Close() {
    session_.reset();
    engine_.reset();
  }
  // Leaves in `copy` the files that a kill would leave now.
  void Kill(const std::string& copy) { CopyTree(dir_ + "/db", dir_ + "/" + copy); }
  bool IsThere(const std::string& file) { return fs::exists(dir_ + "/db/" + file); }

  void Load(uint64_t first, uint64_t end, uint64_t step = 1) {
    for (uint64_t row = first; row < end; row += step) {
      session_->Put(table_, RowKey(row), RowValue(row, 200));
    }
  }
  bool Has(uint64_t row) {
    std::string_view value;
    if (!session_->Get(table_, RowKey(row), &value)) return false;
    EXPECT_EQ(value, RowValue(row, 200)) << row;
    return true;
  }
  void ExpectRows(uint64_t there, uint64_t end) {
    for (uint64_t row = 0; row < end; ++row) ASSERT_EQ(Has(row), row < there) << row;
  }

  std::string dir_;
  EngineOptions options_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Session> session_;
  TableId table_ = 0;
};

// A snapshot of a page that is cached whole must not bring back the rows that were erased from it
// (engines/bf_tree/library/bf-tree.patch).
TEST_F(BfTreeTest, ErasedRowsStayErasedWhenTheirPageIsSplit) {
  constexpr uint64_t kRows = 4000;
  options_.extra["scan_promotion"] = "100";
  options_.cache_bytes = 16 << 20;
  Open();
  Load(0, kRows, 2);
  for (uint64_t row = 0; row < kRows; row += 4) session_->Erase(table_, RowKey(row));
  for (int pass = 0; pass < 2; ++pass) {  // the first merges records into pages
    const std::unique_ptr<Cursor> cursor = session_->NewCursor(table_);
    for (bool on = cursor->First(); on; on = cursor->Next()) {
    }
  }
  engine_->Checkpoint();
  Open();
  Load(1, kRows, 2);
  for (int pass = 0; pass < 2; ++pass) {
    for (uint64_t row = 0; row < kRows; ++row) ASSERT_EQ(Has(row), row % 4 != 0) << row;
    Open();
  }
}

TEST_F(BfTreeTest, ACrashLeavesTheRowsOfTheLastCheckpoint) {
  constexpr uint64_t kRows = 10000;  // twice the cache
  Open();
  Load(0, 100);
  Kill("new");
  EXPECT_NE(ErrorOf(Error::kCorruption, [&] { Open("new"); }).find("--fresh"), std::string::npos);
  Open();
  Load(0, kRows);
  engine_->Checkpoint();
  Load(kRows, 2 * kRows);
  Kill("written");
  Open("written");
  ExpectRows(kRows, 2 * kRows);
  Open();
  ExpectRows(2 * kRows, 2 * kRows);
  Close();
  EXPECT_TRUE(IsThere("bf-tree.snapshot"));
  EXPECT_FALSE(IsThere("bf-tree.leaves"));
}

// A tree that is opened has the snapshot for its pages. Without need for room in its cache it
// changes none.
TEST_F(BfTreeTest, ADatabaseThatIsOnlyReadKeepsItsSnapshot) {
  constexpr uint64_t kRows = 10000;
  Open();
  Load(0, kRows);
  options_.cache_bytes = 16 << 20;
  Open();
  ExpectRows(kRows, kRows);
  EXPECT_TRUE(IsThere("bf-tree.snapshot"));
  EXPECT_FALSE(IsThere("bf-tree.leaves"));
  Kill("read");
  options_.cache_bytes = 1 << 20;
  Open();
  Load(kRows, 2 * kRows);
  EXPECT_FALSE(IsThere("bf-tree.snapshot"));
  Kill("written");
  engine_->Checkpoint();
  EXPECT_TRUE(IsThere("bf-tree.snapshot"));
  EXPECT_TRUE(IsThere("bf-tree.leaves"));
  Open("read");
  ExpectRows(kRows, 2 * kRows);
  ErrorOf(Error::kCorruption, [&] { Open("written"); });
}

// A checkpoint makes a new snapshot, and then moves the pages and it to their names.
TEST_F(BfTreeTest, ACrashBetweenTheRenamesOfACheckpointLosesNothing) {
  Open();
  Load(0, 1000);
  Close();
  fs::rename(dir_ + "/db/bf-tree.snapshot", dir_ + "/db/bf-tree.new");
  CopyTree(dir_ + "/db", dir_ + "/pages");
  fs::copy_file(dir_ + "/db/bf-tree.new", dir_ + "/pages/bf-tree.leaves");
  Open();
  ExpectRows(1000, 1000);
  Open("pages");
  ExpectRows(1000, 1000);
  Close();
  // One that was not finished goes.
  CopyTree(dir_ + "/db", dir_ + "/unfinished");
  fs::copy_file(dir_ + "/db/bf-tree.snapshot", dir_ + "/unfinished/bf-tree.new_tmp");
  fs::resize_file(dir_ + "/unfinished/bf-tree.new_tmp", 10000);
  Open("unfinished");
  ExpectRows(1000, 1000);
  EXPECT_FALSE(fs::exists(dir_ + "/unfinished/bf-tree.new_tmp"));
}

TEST_F(BfTreeTest, ASnapshotThatWasCutIsRefused) {
  Open();
  Load(0, 1000);
  Close();
  fs::resize_file(dir_ + "/db/bf-tree.snapshot", 20000);
  EXPECT_NE(ErrorOf(Error::kCorruption, [&] { Open(); }).find(dir_), std::string::npos);
  fs::resize_file(dir_ + "/db/bf-tree.snapshot", 0);
  EXPECT_NE(ErrorOf(Error::kCorruption, [&] { Open(); }).find(dir_), std::string::npos);
}

// Bf-Tree itself would panic while it holds latches.
TEST_F(BfTreeTest, AfterAFailedWriteRowsAreReadAndNoneAreTaken) {
  constexpr uint64_t kRows = 10000;
  Open();
  Load(0, kRows);
  engine_->Checkpoint();
  FileFaults::Set(0, UINT64_MAX, ENOSPC);
  uint64_t row = kRows;
  const std::string sentence = ErrorOf(Error::kIo, [&] {
    for (; row < 10 * kRows; ++row) Load(row, row + 1);
  });
  EXPECT_NE(sentence.find("o space left"), std::string::npos) << sentence;
  FileFaults::Clear();
  ErrorOf(Error::kIo, [&] { Load(row, row + 1); });
  ErrorOf(Error::kIo, [&] { engine_->Checkpoint(); });
  for (uint64_t i = 0; i < row; ++i) ASSERT_TRUE(Has(i)) << i;
  Open();
  ExpectRows(kRows, row);
  Load(kRows, row);
  Open();
  ExpectRows(row, row);
}

// A checkpoint that fails leaves the one before it, and the database in use.
TEST_F(BfTreeTest, ACheckpointThatFailsIsMadeAgain) {
  constexpr uint64_t kRows = 10000;
  options_.cache_bytes = 16 << 20;
  Open();
  Load(0, kRows);
  engine_->Checkpoint();
  Load(kRows, kRows + 10);
  for (const uint64_t call : {0, 3, 20}) {
    SCOPED_TRACE(call);
    FileFaults::Set(call, UINT64_MAX, ENOSPC);
    ErrorOf(Error::kIo, [&] { engine_->Checkpoint(); });
    FileFaults::Clear();
    EXPECT_FALSE(IsThere("bf-tree.new"));
    Kill("failed" + std::to_string(call));
    ExpectRows(kRows + 10, kRows + 10);
  }
  engine_->Checkpoint();
  Kill("made");
  Open("failed3");
  ExpectRows(kRows, kRows + 10);
  Open("made");
  ExpectRows(kRows + 10, kRows + 10);
}

// One call of an eviction fails, a read or a write. Other threads wait for the room in the cache
// that the eviction would have made, and must not do so for ever.
TEST_F(BfTreeTest, AFailedReadEndsTheUseOfTheDatabaseByAllThreads) {
  if (kLeaksAreErrors) GTEST_SKIP() << kLeaks;
  constexpr uint64_t kRows = 20000;
  Open();
  Load(0, kRows);
  Close();
  for (uint64_t round = 0; round < 6; ++round) {
    Kill("round");
    Open("round");
    std::atomic<int> refused{0};
    const auto use = [&](uint64_t row) {
      const std::unique_ptr<Session> session = engine_->NewSession();
      try {
        for (int i = 0; i < 1'000'000; ++i, row += 7919) {
          session->Put(table_, RowKey(row % kRows), RowValue(row % kRows, 200));
        }
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), Error::kIo) << error.what();
        ++refused;
      }
    };
    FileFaults::Set(1000 + 137 * round, 1001 + 137 * round, EIO);
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < 3; ++t) threads.emplace_back(use, t * 5000);
    for (std::thread& thread : threads) thread.join();
    FileFaults::Clear();
    EXPECT_EQ(refused, 3);
    Close();
    fs::remove_all(dir_ + "/round");
  }
}

TEST_F(BfTreeTest, AFailedReadOfADatabaseThatIsReadHarmsNoRow) {
  if (kLeaksAreErrors) GTEST_SKIP() << kLeaks;
  constexpr uint64_t kRows = 10000;
  Open();
  Load(0, kRows);
  Open();
  FileFaults::Set(100, UINT64_MAX, EIO);
  const std::string sentence = ErrorOf(Error::kIo, [&] { ExpectRows(kRows, kRows); });
  EXPECT_NE(sentence.find("opened again"), std::string::npos) << sentence;
  FileFaults::Clear();
  ErrorOf(Error::kIo, [&] { Has(0); });
  ErrorOf(Error::kIo, [&] { session_->NewCursor(table_)->First(); });
  ErrorOf(Error::kIo, [&] { engine_->Checkpoint(); });
  const EngineCounters counters = engine_->Counters();
  EXPECT_GT(counters.block_reads.value_or(0), 0u);
  EXPECT_FALSE(counters.cache_bytes.has_value());
  Open();
  ExpectRows(kRows, kRows);
}

TEST_F(BfTreeTest, OtherSettingsThanThoseItWasMadeWithAreRefused) {
  Open();
  Load(0, 100);
  Close();
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"scan_promotion", "7"},
                                                        {"record_cache", "off"},
                                                        {"load_full_page", "off"},
                                                        {"copy_on_access", "0.5"}}) {
    options_.extra = {{name, value}};
    EXPECT_NE(ErrorOf(Error::kUsage, [&] { Open(); }).find(name), std::string::npos);
  }
  options_.extra = {{"read_promotion", "7"}, {"copy_on_access", "0.10"}};
  Open();
  ExpectRows(100, 100);
}

TEST_F(BfTreeTest, WhatWasWrittenCannotBeRolledBack) {
  Open();
  session_->Begin();
  session_->Rollback();
  session_->Begin();
  Load(0, 1);
  EXPECT_NE(ErrorOf(Error::kUsage, [&] { session_->Rollback(); }).find("no transactions"),
            std::string::npos);
  session_->Begin();
  Load(1, 2);
  session_->Commit();
  ExpectRows(2, 3);
}

TEST_F(BfTreeTest, RowsThatAreTooLongAreRefused) {
  Open();
  const std::string key(123, 'k'), value(3928 - 4 - 123 - 1, 'v');
  session_->Put(table_, key, value);
  std::string_view found;
  ASSERT_TRUE(session_->Get(table_, key, &found));
  EXPECT_EQ(found, value);
  const std::string sentence =
      ErrorOf(Error::kUsage, [&] { session_->Put(table_, key, value + "v"); });
  EXPECT_NE(sentence.find("--page-size"), std::string::npos) << sentence;
  ErrorOf(Error::kUsage, [&] { session_->Put(table_, key + "k", "v"); });
  EXPECT_FALSE(session_->Get(table_, key + "k", &found));
  const std::unique_ptr<Cursor> cursor = session_->NewCursor(table_);
  EXPECT_FALSE(cursor->Seek(key + "k"));
  ASSERT_TRUE(cursor->SeekForPrev(key + "kkk"));
  EXPECT_EQ(cursor->key(), key);
  ASSERT_TRUE(cursor->Seek(std::string(122, 'k')));
  EXPECT_EQ(cursor->key(), key);
}

}  // namespace
}  // namespace testbed
