// Tests what is special to mmapv1: what its generations do when a record is not in memory, a
// journal whose bytes are all counted, several databases with a journal each, and what it refuses.
// The conformance suite tests its behaviour as an engine, tests/unit/engines/mmapv1/ its formats
// and protocols.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/account/ledger.h"
#include "device/error.h"
#include "device/file/page_cache.h"
#include "engines/databases.h"
#include "engines/registry.h"
#include "tests/engine/engine_test.h"
#include "tests/engine/setting_in_force.h"
#include "tests/own_counter.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

class Mmapv1EngineTest : public testing::Test {
 protected:
  Mmapv1EngineTest() : options_(DefaultEngineOptions(FindEngine("mmapv1"))) {
    std::string pattern = fs::current_path() / "mmapv1_test_XXXXXX";
    dir_ = mkdtemp(pattern.data());
    options_.extra = {{"small_files", "on"}, {"journal_file_size", "4M"}};
  }
  ~Mmapv1EngineTest() override {
    Close();
    std::error_code ignored;
    fs::remove_all(dir_, ignored);
  }
  void Open() {
    Close();
    engine_ = OpenEngine("mmapv1", dir_, options_);
    table_ = engine_->OpenTable("t");
    session_ = engine_->NewSession();
  }
  void Close() {
    session_.reset();
    engine_.reset();
  }
  void Load(uint64_t rows, size_t size) {
    for (uint64_t row = 0; row < rows;) {
      session_->Begin();
      for (const uint64_t end = std::min(rows, row + 100); row < end; ++row) {
        session_->Put(table_, RowKey(row), RowValue(row, size));
      }
      session_->Commit();
    }
  }
  uint64_t More(const std::string& name) const { return OwnCounter(engine_->Counters(), name); }
  std::string Setting(const std::string& name) const { return SettingInForce(*engine_, name); }

  std::string dir_;
  EngineOptions options_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Session> session_;
  TableId table_ = 0;
};

TEST_F(Mmapv1EngineTest, TheYoungerGenerationReadsRecordsWithoutTheLock) {
  constexpr uint64_t kRows = 5000;
  Open();
  Load(kRows, 1500);
  Close();
  for (const std::string generation : {"2.4", "2.6"}) {
    for (const auto& entry : fs::directory_iterator(dir_)) {
      if (DropPages(entry.path()).after.cached != 0) GTEST_SKIP() << "pages cannot be dropped here";
    }
    options_.extra["generation"] = generation;
    options_.mmap_advice = Advice::kRandom;
    Open();
    std::string_view value;
    for (uint64_t row = 0; row < kRows; row += 50) {
      ASSERT_TRUE(session_->Get(table_, RowKey(row), &value));
      ASSERT_EQ(value, RowValue(row, 1500));
      session_->Put(table_, RowKey(row + 20), RowValue(row + 20, 1500));
    }
    if (generation == "2.4") {
      EXPECT_EQ(More("faults_yielded"), 0u);
    } else {
      EXPECT_GT(More("faults_yielded"), kRows / 50);
    }
    Close();
  }
}

TEST_F(Mmapv1EngineTest, GenerationsAllocateAsTheyDid) {
  Open();
  EXPECT_EQ(Setting("generation"), "2.6");
  EXPECT_EQ(Setting("allocation"), "power_of_2");
  session_->Put(table_, "k", std::string(600, 'v'));
  EXPECT_EQ(More("record_bytes"), 1024u);
  options_.extra["generation"] = "2.4";
  Open();
  EXPECT_EQ(Setting("allocation"), "padding");
  session_->Put(table_, "l", std::string(600, 'v'));
  EXPECT_EQ(More("record_bytes"), 1024u + 640);
}

TEST_F(Mmapv1EngineTest, ADatabaseKeepsItsNamespaceFileAndSaysSo) {
  options_.extra["ns_size"] = "64k";
  Open();
  EXPECT_EQ(Setting("ns_size"), "65536");
  options_.extra["ns_size"] = "1M";
  Open();
  EXPECT_EQ(Setting("ns_size"), "65536");
}

TEST_F(Mmapv1EngineTest, AnIndexEntryIsAKeyWithoutARecord) {
  Open();
  for (uint64_t row = 0; row < 1000; ++row) session_->Put(table_, RowKey(row), "");
  EXPECT_EQ(More("records"), 0u);
  EXPECT_EQ(More("rows"), 1000u);
  EXPECT_GT(More("buckets"), 2u);
}

TEST_F(Mmapv1EngineTest, TheJournalIsCountedByteByByte) {
  const auto log = [] {
    FileCounts sum;
    for (const LedgerCounts::Op& op : Ledger::Get().Counts().ops) {
      sum += op.file[static_cast<size_t>(FileKind::kLog)];
    }
    return sum;
  };
  options_.durability = Durability::kSync;
  options_.extra["journal_commit_interval"] = "3";
  options_.extra["sync_delay"] = "0";
  Open();
  const uint64_t bytes_before = More("journal_bytes");
  const FileCounts before = log();
  for (uint64_t row = 0; row < 30; ++row) session_->Put(table_, RowKey(row), RowValue(row, 5000));
  const FileCounts after = log();
  const uint64_t bytes = More("journal_bytes") - bytes_before;
  EXPECT_EQ(after.write_bytes - before.write_bytes, bytes);
  EXPECT_EQ(bytes % 8192, 0u);
  EXPECT_GE(bytes, 30 * 8192u);
  EXPECT_EQ(after.writes - before.writes, More("journal_commits"));
  EXPECT_EQ(after.syncs - before.syncs, More("journal_commits"));
  EXPECT_GT(More("journal_raw_bytes"), 30 * 5000u);
  EXPECT_LE(*engine_->Counters().log_payload_bytes, bytes);
}

TEST_F(Mmapv1EngineTest, DatabasesHaveAJournalAndALockEach) {
  options_.lazy_interval_ms = 60'000;  // only the checkpoint commits
  engine_ = OpenDatabases("mmapv1", dir_, options_, 2);
  const TableId one = engine_->OpenTable("t1"), two = engine_->OpenTable("t2");
  session_ = engine_->NewSession();
  session_->Put(one, "a", "1");
  session_->Put(two, "a", "2");
  engine_->Checkpoint();
  EXPECT_EQ(More("journal_commits"), 2u);
  for (const char* file : {"0/mmapv1.ns", "1/mmapv1.ns", "0/journal.1", "1/journal.1"}) {
    EXPECT_TRUE(fs::exists(fs::path(dir_) / file)) << file;
  }
  Close();
  EXPECT_FALSE(fs::exists(fs::path(dir_) / "0/journal.1")) << "a clean end leaves no journal";
}

TEST_F(Mmapv1EngineTest, WithoutAJournalThereIsNone) {
  options_.durability = Durability::kNone;
  Open();
  Load(1000, 300);
  engine_->Checkpoint();
  EXPECT_FALSE(engine_->Counters().log_written_bytes.has_value());
  EXPECT_EQ(engine_->SizeOnDisk().log_bytes, 0u);
  EXPECT_GT(More("data_file_bytes_written_by_msync"), 300'000u);
  EXPECT_EQ(More("private_copy_bytes"), 0u);
  EXPECT_EQ(Setting("views"), "shared");
  for (const char* name : {"journal_commit_interval_ms", "journal_file_size", "remap_period_ms",
                           "uncommitted_limit"}) {
    EXPECT_EQ(Setting(name), "no effect: --durability none has no journal") << name;
  }
}

TEST_F(Mmapv1EngineTest, FilesDoubleAndTheNextIsMadeAhead) {
  options_.extra["first_file_size"] = "1M";
  Open();
  Load(3000, 1500);
  engine_->Settle();
  const uint64_t files = More("data_files");
  EXPECT_GE(files, 3u);
  for (uint64_t n = 0; n <= files; ++n) {
    const fs::path path = fs::path(dir_) / ("mmapv1." + std::to_string(n));
    ASSERT_TRUE(fs::exists(path)) << path;
    EXPECT_EQ(fs::file_size(path), (1ull << 20) << n);
  }
  EXPECT_LT(engine_->SizeOnDisk().data_bytes, More("data_file_bytes"));
}

TEST_F(Mmapv1EngineTest, OnlyADelayOfZeroMeansNoPeriodicFlushes) {
  const std::vector<std::pair<std::string, std::string>> delays = {
      {"0.0004", "1"}, {"0", "0"}, {"0.02", "20"}};
  for (const auto& [delay, in_force] : delays) {
    options_.extra["sync_delay"] = delay;
    Open();
    EXPECT_EQ(Setting("sync_delay_ms"), in_force) << delay;
  }
}

TEST_F(Mmapv1EngineTest, WhatItCannotTakeIsOneSentence) {
  Open();
  ErrorOf(Error::kUsage, [&] { session_->Put(table_, "", "v"); });
  ErrorOf(Error::kUsage, [&] { session_->Put(table_, std::string(1025, 'k'), "v"); });
  ErrorOf(Error::kUsage, [&] { session_->Put(table_, "k", std::string((16 << 20) + 1, 'v')); });
  ErrorOf(Error::kUsage, [&] { engine_->OpenTable(std::string(153, 't')); });
  ErrorOf(Error::kUsage, [&] { engine_->OpenTable(""); });
  ErrorOf(Error::kUsage, [&] { session_->Put(77, "k", "v"); });
  session_->Put(table_, "k", std::string(16 << 20, 'v'));
  std::string_view value;
  ASSERT_TRUE(session_->Get(table_, "k", &value));
  EXPECT_EQ(value.size(), 16u << 20);
  Close();
  options_.extra["journal_commit_interval"] = "500";
  const std::string sentence = ErrorOf(Error::kUsage, [&] { Open(); });
  EXPECT_NE(sentence.find("--lazy-interval"), std::string::npos) << sentence;
}

TEST_F(Mmapv1EngineTest, ANamespaceFileThatIsFullSaysSo) {
  options_.extra["ns_size"] = "64k";
  Open();
  const std::string sentence = ErrorOf(Error::kUsage, [&] {
    for (int t = 0; t < 200; ++t) engine_->OpenTable("table" + std::to_string(t));
  });
  EXPECT_NE(sentence.find("ns_size"), std::string::npos) << sentence;
  session_->Put(table_, "k", "v");
  Close();
  EXPECT_EQ(FindEngine("mmapv1").check(dir_, {}).faults.count, 0u);
}

}  // namespace
}  // namespace testbed
