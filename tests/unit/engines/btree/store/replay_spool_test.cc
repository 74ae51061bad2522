// Tests ReplaySpool and LastWrites, which keep parts of the log for the second pass of recovery.
#include "engines/btree/store/replay_spool.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "device/error.h"
#include "device/file/file_faults.h"
#include "engines/btree/store/last_writes.h"

namespace testbed::btree {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kRecords = 10000;

class ReplaySpoolTest : public testing::Test {
 protected:
  ReplaySpoolTest() {
    std::string pattern = fs::current_path() / "replay_spool_test_XXXXXX";
    dir_ = mkdtemp(pattern.data());
  }
  ~ReplaySpoolTest() override { fs::remove_all(dir_); }
  std::string Path() const { return dir_ + "/spool"; }
  static std::string Operations(uint64_t n) { return std::string(500 + n % 700, 'a' + n % 26); }
  static void Fill(ReplaySpool* spool) {
    for (uint64_t n = 0; n < kRecords; ++n) {
      const std::string operations = Operations(n);
      spool->Add({{n, n + 1}, {n * 7, n % 5 == 0, n % 3 == 0, operations}});
    }
  }
  // Returns the number of records, and expects that each is as it was added.
  static uint64_t Read(ReplaySpool* spool) {
    uint64_t n = 0;
    spool->ForEach([&](const SpooledRecord& record) {
      EXPECT_EQ(record.range.begin, n);
      EXPECT_EQ(record.part.transaction, n * 7);
      EXPECT_EQ(record.part.later, n % 5 == 0);
      EXPECT_EQ(record.part.more, n % 3 == 0);
      EXPECT_EQ(record.part.operations, Operations(n));
      ++n;
    });
    return n;
  }
  std::string dir_;
};

TEST_F(ReplaySpoolTest, ReturnsWhatItSpilledAndWhatItDidNot) {
  {
    ReplaySpool spool(Path());
    Fill(&spool);
    EXPECT_GT(fs::file_size(Path()), 4u << 20);
    EXPECT_EQ(Read(&spool), kRecords);
  }
  EXPECT_FALSE(fs::exists(Path()));
}

// The disk becomes full when the spool's file is created, or later.
TEST_F(ReplaySpoolTest, AFullDiskLeavesTheRecordsInMemory) {
  for (uint64_t call = 0; call < 5; ++call) {
    ReplaySpool spool(Path());
    FileFaults::Set(call, UINT64_MAX, call % 2 == 0 ? ENOSPC : EDQUOT);
    Fill(&spool);
    FileFaults::Clear();
    EXPECT_EQ(Read(&spool), kRecords) << call;
  }
}

// A page of the file reads as zeros, as when the kernel could not write it back and then reclaimed
// its memory.
TEST_F(ReplaySpoolTest, APageThatReadsOtherwiseIsAnErrorAndNoLackOfRecords) {
  uint64_t size = 0;
  {
    ReplaySpool spool(Path());
    Fill(&spool);
    size = fs::file_size(Path());
  }
  for (uint64_t at = 0; at < size; at += size / 37 / 4096 * 4096) {
    ReplaySpool spool(Path());
    Fill(&spool);
    {
      std::fstream file(Path(), std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(static_cast<std::streamoff>(at));
      file << std::string(std::min<uint64_t>(4096, size - at), '\0');
    }
    EXPECT_THROW(spool.ForEach([](const SpooledRecord&) {}), Error) << at;
  }
}

// Returns how many writes LastWrites wrongly calls the last ones of their rows. Expects that it
// calls all those so that are.
uint64_t CountLast(uint64_t bytes, uint64_t writes, uint64_t rows) {
  std::mt19937_64 random(rows);
  std::vector<std::pair<uint32_t, std::string>> log;
  std::map<std::pair<uint32_t, std::string>, uint64_t> last;
  for (uint64_t i = 0; i < writes; ++i) {
    const uint64_t row = random() % rows;
    log.emplace_back(static_cast<uint32_t>(row % 3), std::to_string(row / 3));
    last[log.back()] = i;
  }
  LastWrites known(bytes);
  for (const auto& [table, key] : log) known.Note(table, key);
  uint64_t count = 0;
  for (uint64_t i = 0; i < writes; ++i) {
    const bool is_last = known.IsLast(log[i].first, log[i].second);
    EXPECT_TRUE(is_last || last[log[i]] != i);
    count += is_last;
  }
  EXPECT_GE(count, last.size());
  return count - last.size();
}

TEST(LastWritesTest, KnowsTheRowsOfAShortLog) {
  EXPECT_EQ(CountLast(0, 1, 1), 0u);
  EXPECT_EQ(CountLast(17 * 5000, 5000, 10), 0u);
  EXPECT_EQ(CountLast(40 * 5000, 5000, 2000), 0u);
}

TEST(LastWritesTest, OfTooManyRowsItCallsMoreWritesTheLast) {
  const uint64_t more = CountLast(1000, 20000, 5000);
  EXPECT_GT(more, 5000u);
  EXPECT_LT(more, 15000u);
}

}  // namespace
}  // namespace testbed::btree
