// Tests what is special to Pebble: what becomes of a database after a change of its files has
// failed, which files must be there, and that a process that was forked does not use it. The
// conformance suite tests its behaviour as an engine.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "device/error.h"
#include "device/file/file_faults.h"
#include "engines/registry.h"
#include "tests/engine/engine_test.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

bool HasPebble() {
  for (const EngineInfo& info : Engines()) {
    if (info.name == "pebble") return info.missing().empty();
  }
  return false;
}

class PebbleTest : public testing::Test {
 protected:
  std::string Setting(const std::string& wanted) const {
    for (const auto& [name, value] : engine_->EffectiveSettings()) {
      if (name == wanted) return value;
    }
    return "(none)";
  }
  void SetUp() override {
    if (!HasPebble()) GTEST_SKIP() << "the library of pebble is not built";
    std::string pattern = fs::current_path() / "pebble_test_XXXXXX";
    dir_ = mkdtemp(pattern.data());
    options_ = DefaultEngineOptions(FindEngine("pebble"));
    options_.durability = Durability::kSync;
    options_.cache_bytes = 4 << 20;
  }
  ~PebbleTest() override {
    FileFaults::Clear();
    Close();
    std::error_code ignored;
    if (!dir_.empty()) fs::remove_all(dir_, ignored);
  }
  void Open() {
    Close();
    engine_ = OpenEngine("pebble", dir_, options_);
    table_ = engine_->OpenTable("t");
    session_ = engine_->NewSession();
  }
  void Close() {
    session_.reset();
    engine_.reset();
  }
  bool Put(uint64_t row) {
    try {
      session_->Put(table_, RowKey(row), RowValue(row, 100));
      return true;
    } catch (const Error&) {
      return false;
    }
  }
  bool Has(uint64_t row) {
    std::string_view value;
    return session_->Get(table_, RowKey(row), &value) && value == RowValue(row, 100);
  }

  std::string dir_;
  EngineOptions options_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Session> session_;
  TableId table_ = 0;
};

// Pebble itself would end the process, or wait for ever.
TEST_F(PebbleTest, AfterAFailedChangeNothingIsCommittedUntilItIsOpenedAgain) {
  for (const int error : {EIO, ENOSPC}) {
    SCOPED_TRACE(error);
    Open();
    const uint64_t first = error == EIO ? 0 : 1000;
    uint64_t row = first;
    for (; row < first + 100; ++row) ASSERT_TRUE(Put(row));
    FileFaults::Set(0, UINT64_MAX, error);
    try {
      session_->Put(table_, RowKey(row), RowValue(row, 100));
      ADD_FAILURE() << "no error";
    } catch (const Error& refusal) {
      EXPECT_EQ(refusal.code() == ENOSPC, error == ENOSPC) << refusal.what();
    }
    FileFaults::Clear();
    EXPECT_FALSE(Put(row + 1));
    EXPECT_THROW(engine_->Flush(), Error);
    EXPECT_THROW(engine_->Checkpoint(), Error);
    for (uint64_t i = first; i < row; ++i) EXPECT_TRUE(Has(i)) << i;
    Open();
    for (uint64_t i = first; i < row; ++i) EXPECT_TRUE(Has(i)) << i;
    EXPECT_FALSE(Has(row + 1));
    EXPECT_TRUE(Put(row + 1));
  }
}

// A flush fails on a thread of Go while clients write.
TEST_F(PebbleTest, AFlushThatFailsEndsTheCommits) {
  options_.extra["memtable_size"] = "256k";
  options_.durability = Durability::kNone;
  Open();
  uint64_t rows = 0;
  while (rows < 1000 && Put(rows)) ++rows;
  ASSERT_EQ(rows, 1000u);
  FileFaults::Set(0, UINT64_MAX, ENOSPC);
  while (rows < 1'000'000 && Put(rows)) ++rows;
  EXPECT_LT(rows, 1'000'000u);
  FileFaults::Clear();
  EXPECT_FALSE(Put(rows));
  for (uint64_t i = 0; i < 1000; ++i) ASSERT_TRUE(Has(i)) << i;
  Open();  // and it closes
}

// The disk is full from one of the last changes of a settle on, which are those of a compaction.
// The compaction then goes on in memory, and the settle must not call that a success.
TEST_F(PebbleTest, ASettleThatSucceedsLeavesADatabaseThatTakesCommits) {
  constexpr uint64_t kTried = 6;
  options_.durability = Durability::kNone;
  const auto settle = [&](uint64_t full_from) {  // returns whether the settle has succeeded
    Close();
    fs::remove_all(dir_);
    fs::create_directory(dir_);
    Open();
    for (const bool flushes : {true, false}) {
      for (uint64_t row = 0; row < 100; ++row) EXPECT_TRUE(Put(row));
      if (flushes) engine_->Flush();
    }
    FileFaults::Set(full_from, UINT64_MAX, ENOSPC);
    try {
      engine_->Settle();
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  EXPECT_TRUE(settle(UINT64_MAX));
  const uint64_t changes = FileFaults::Clear();
  ASSERT_GT(changes, 0u);
  for (uint64_t at = changes - std::min(changes, kTried); at < changes; ++at) {
    SCOPED_TRACE(at);
    const bool settled = settle(at);
    FileFaults::Clear();
    EXPECT_EQ(Put(100), settled);
  }
}

// The thread that syncs has failed by then, and the commit is refused before Pebble is asked.
TEST_F(PebbleTest, ARowWhoseCommitWasRefusedIsNotRead) {
  options_.durability = Durability::kLazy;
  options_.lazy_interval_ms = 1;
  Open();
  ASSERT_TRUE(Put(0));
  FileFaults::Set(0, UINT64_MAX, EIO);
  uint64_t row = 1;
  while (row < 1'000'000 && Put(row)) ++row;
  FileFaults::Clear();
  ASSERT_LT(row, 1'000'000u);
  // The commit that met the failure itself may have reached Pebble, and its row is not looked at.
  ++row;
  for (const uint64_t end = row + 100; row < end; ++row) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    session_->Begin();
    session_->Put(table_, RowKey(row), RowValue(row, 100));
    EXPECT_THROW(session_->Commit(), Error);
    ASSERT_FALSE(Has(row)) << row;
    ASSERT_FALSE(Put(row));
    ASSERT_FALSE(Has(row)) << row;
  }
  EXPECT_TRUE(Has(0));
}

// Rows that were fetched ahead when the read failed may have been copied over the cursor's row.
TEST_F(PebbleTest, ACursorStandsOnNoRowAfterAReadThatFailed) {
  options_.durability = Durability::kNone;
  options_.cache_bytes = 1 << 20;
  Open();
  for (uint64_t row = 0; row < 20000;) {
    session_->Begin();
    for (const uint64_t end = row + 500; row < end; ++row) {
      session_->Put(table_, RowKey(row), RowValue(row, 300));
    }
    session_->Commit();
  }
  engine_->Settle();
  Open();
  const std::unique_ptr<Cursor> cursor = session_->NewCursor(table_);
  ASSERT_TRUE(cursor->First());
  FileFaults::Set(0, UINT64_MAX, EIO);
  EXPECT_THROW(
      {
        while (cursor->Next()) {
        }
      },
      Error);
  EXPECT_FALSE(cursor->Next());
  EXPECT_FALSE(cursor->Prev());
  FileFaults::Clear();
}

// Pebble takes the memory of memtables out of its cache, and the first memtable is a small one.
TEST_F(PebbleTest, BlocksDoNotTakeTheRoomOfMemtables) {
  constexpr uint64_t kRows = 40000;
  options_.extra["memtable_size"] = "8M";
  options_.durability = Durability::kNone;
  Open();
  for (uint64_t row = 0; row < kRows;) {
    session_->Begin();
    for (const uint64_t end = row + 500; row < end; ++row) {
      session_->Put(table_, RowKey(row), RowValue(row, 300));
    }
    session_->Commit();
  }
  engine_->Settle();
  Open();
  std::string_view value;
  for (uint64_t row = 0; row < kRows; ++row) {
    ASSERT_TRUE(session_->Get(table_, RowKey(row), &value)) << row;
  }
  const uint64_t held = engine_->Counters().cache_bytes.value_or(0);
  EXPECT_LE(held, options_.cache_bytes + kMiB);
  EXPECT_GT(held, options_.cache_bytes / 2);
}

// --reuse may bring the option from a load that had a log.
TEST_F(PebbleTest, ALogThatThereIsNotIsNotWrittenBack) {
  options_.extra = {{"wal_bytes_per_sync", "64k"}};
  Open();
  EXPECT_EQ(Setting("wal_bytes_per_sync"), "65536");
  Close();
  options_.durability = Durability::kNone;
  Open();
  EXPECT_EQ(Setting("wal_bytes_per_sync"), "0");
}

// The file layer writes tables with direct IO itself, and leaves out the starts of write-back.
TEST_F(PebbleTest, ADistanceOfWriteBacksHasNoEffectWithDirectIo) {
  options_.extra = {{"bytes_per_sync", "64k"}};
  options_.io = IoMode::kDirect;  // accepted everywhere: a new database has no tables to open
  Open();
  EXPECT_EQ(Setting("bytes_per_sync"),
            "no effect: with --io direct there are no dirty pages of tables");
  options_.io = IoMode::kBuffered;
  Open();
  EXPECT_EQ(Setting("bytes_per_sync"), "65536");
}

TEST_F(PebbleTest, AMissingManifestIsNamed) {
  Open();
  ASSERT_TRUE(Put(1));
  Close();
  std::vector<fs::path> markers, manifests;
  for (const auto& entry : fs::directory_iterator(dir_)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("marker.manifest.")) markers.push_back(entry.path());
    if (name.starts_with("MANIFEST-")) manifests.push_back(entry.path());
  }
  ASSERT_EQ(markers.size(), 1u);
  ASSERT_FALSE(manifests.empty());
  const fs::path aside = dir_ + ".aside";
  for (const fs::path& file : {markers.front(), manifests.back()}) {
    fs::rename(file, aside);
    try {
      Open();
      ADD_FAILURE() << "opened without " << file;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::kCorruption) << error.what();
    }
    fs::rename(aside, file);
  }
  Open();
  EXPECT_TRUE(Has(1));
  // A marker that a killed process has left counts for nothing beside a newer one.
  Close();
  std::ofstream(dir_ + "/marker.manifest.000000.MANIFEST-999999");
  Open();
  EXPECT_TRUE(Has(1));
}

TEST_F(PebbleTest, AForkedProcessDoesNotUseIt) {
  Open();
  Close();
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      OpenEngine("pebble", dir_, options_);
      ::_exit(0);
    } catch (const Error& error) {
      ::_exit(error.kind() == Error::kRun ? 1 : 2);
    }
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << status;
}

TEST_F(PebbleTest, AForkedProcessClosesNothingOfItsParent) {
  options_.durability = Durability::kLazy;
  Open();
  ASSERT_TRUE(Put(1));
  auto cursor = session_->NewCursor(table_);
  ASSERT_TRUE(cursor->First());
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);  // it may wait for a thread that it does not have
    cursor.reset();
    Close();
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  cursor.reset();
  EXPECT_TRUE(Has(1));
}

}  // namespace
}  // namespace testbed
