// Tests files and memory: files must be opened in the mode that was asked for, every call must be
// counted and charged, and the cache must keep its bound.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "device/account/ledger.h"
#include "tests/engine/engine_test.h"
#include "tests/every_way.h"

namespace testbed {
namespace {

// The bytes by which a cache may exceed its setting for a moment: blocks in use while room is made.
constexpr uint64_t kCacheSlack = 1 << 20;

class IoTest : public EngineTest {
 public:
  // The mode is what the tests look at.
  static constexpr CaseChoice kChoice = {.own_modes = true, .library_modes = true};

 protected:
  // Makes random point reads, of other rows with each call, and checks each answer.
  void ReadRandomRows(uint64_t rows, size_t value_size, uint64_t count) {
    std::string_view value;
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t row = random_() % rows;
      ASSERT_TRUE(session_->Get(table_, RowKey(row), &value));
      ASSERT_EQ(value, RowValue(row, value_size));
    }
  }

 private:
  std::mt19937_64 random_{301};
};

// Returns the open flags of the process's descriptors of the given files.
std::vector<int> OpenFlags(const std::vector<std::string>& files) {
  std::vector<int> flags;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(entry.path(), gone);
    if (gone || std::find(files.begin(), files.end(), target) == files.end()) continue;
    std::ifstream info("/proc/self/fdinfo/" + entry.path().filename().string());
    for (std::string word; info >> word;) {
      if (word != "flags:") continue;
      info >> word;
      flags.push_back(static_cast<int>(std::stol(word, nullptr, 8)));
    }
  }
  return flags;
}

bool IsMapped(const std::vector<std::string>& files) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    for (const std::string& file : files) {
      if (line.ends_with(file)) return true;
    }
  }
  return false;
}

TEST_P(IoTest, DataFilesAreOpenInTheModeThatWasAskedFor) {
  if (info().capabilities.server) GTEST_SKIP() << info().name << " opens them in other processes";
  Open();
  Load(5000, 200);
  engine_->Settle();
  for (int pass = 0; pass < 2; ++pass) {
    ReadRandomRows(5000, 200, 500);
    const std::vector<std::string> files = FilesOfKind(dir_, FileKind::kData);
    ASSERT_FALSE(files.empty());
    const std::vector<int> flags = OpenFlags(files);
    ASSERT_FALSE(flags.empty());
    for (int f : flags) EXPECT_EQ((f & O_DIRECT) != 0, GetParam().io == IoMode::kDirect);
    EXPECT_EQ(IsMapped(files), GetParam().io == IoMode::kMmap);
    Reopen();
  }
}

TEST_P(IoTest, EveryByteWrittenIsChargedToAnOperation) {
  if (!info().capabilities.file_layer) GTEST_SKIP() << info().name << " does its IO itself";
  const OpKind load = DefineOp("conformance-load", Ground::kForeground);
  constexpr uint64_t kRows = 20000, kSize = 300;
  const LedgerCounts before = Ledger::Get().Counts();
  // The engine's counters are read before and after the ledger, because a thread of the engine may
  // write its log meanwhile.
  EngineCounters opened, opened_later, loaded, loaded_later;
  uint64_t log_at_open = 0;
  const auto written = [](const LedgerCounts& counts, FileKind kind) {
    uint64_t bytes = 0;
    for (const LedgerCounts::Op& op : counts.ops) {
      bytes += op.file[static_cast<size_t>(kind)].write_bytes;
    }
    return bytes;
  };
  {
    IoScope scope(load);
    Open();
    opened = engine_->Counters();
    log_at_open = written(Ledger::Get().Counts(), FileKind::kLog);
    opened_later = engine_->Counters();
    Load(kRows, kSize);
    engine_->Settle();
    loaded = engine_->Counters();
  }
  const LedgerCounts after = Ledger::Get().Counts();
  loaded_later = engine_->Counters();
  const uint64_t log = written(after, FileKind::kLog) - log_at_open;
  const LedgerCounts delta = after - before;
  const uint64_t data = written(delta, FileKind::kData), meta = written(delta, FileKind::kMeta);
  EXPECT_EQ(delta.ops[kUnscoped.id].FileTotal().writes, 0u);
  EXPECT_EQ(delta.ops[kUnscoped.id].FileTotal().reads, 0u);
  // The values do not compress, so both hold them at least once.
  EXPECT_GE(data, kRows * kSize);
  // A rollback journal holds the old contents of pages, and the new part of a growing file had
  // none. Without durability there may be no log.
  if (GetParam().variant != "delete" && options_.durability != Durability::kNone) {
    EXPECT_GE(log, kRows * kSize);
  }
  // An engine's catalogue may be a table too.
  EXPECT_GE(data + meta, loaded.block_write_bytes.value_or(0));
  if (loaded.log_written_bytes) {
    EXPECT_GE(log, *loaded.log_written_bytes - *opened_later.log_written_bytes);
    EXPECT_LE(log, *loaded_later.log_written_bytes - *opened.log_written_bytes);
  }
  if (loaded.log_payload_bytes) {
    EXPECT_GE(*loaded.log_payload_bytes - *opened.log_payload_bytes, kRows * kSize);
    EXPECT_LE(*loaded.log_payload_bytes - *opened.log_payload_bytes, log);
  }
}

TEST_P(IoTest, BlocksTheEngineReadsAreReadsOfItsFiles) {
  const uint64_t rows = 30000 / RowsInOne(), reads = 5000 / RowsInOne();
  const size_t size = 300 * RowsInOne();
  Open();
  Load(rows, size);
  engine_->Settle();
  Close();
  // The cache holds a quarter of the data, so that reads both hit and miss.
  options_.cache_bytes = std::max<uint64_t>(2 << 20, info().capabilities.min_cache_bytes);
  Open();
  const OpKind read = DefineOp("conformance-read", Ground::kForeground);
  ReadRandomRows(rows, size, 200);
  uint64_t requests = 0, misses = 0;
  if (!session_->BlockCounts(&requests, &misses)) {
    GTEST_SKIP() << info().name << " counts no blocks per session";
  }
  const EngineCounters engine_before = engine_->Counters();
  const LedgerCounts before = Ledger::Get().Counts();
  {
    IoScope scope(read);
    ReadRandomRows(rows, size, reads);
  }
  const LedgerCounts delta = Ledger::Get().Counts() - before;
  uint64_t requests_after = 0, misses_after = 0;
  session_->BlockCounts(&requests_after, &misses_after);
  const FileCounts data = delta.ops[read.id].file[static_cast<size_t>(FileKind::kData)];
  EXPECT_EQ(misses_after - misses, data.reads);
  EXPECT_GT(data.reads, 100u);
  const EngineCounters engine_after = engine_->Counters();
  if (engine_after.block_reads) {
    EXPECT_EQ(*engine_after.block_reads - *engine_before.block_reads, data.reads);
  }
  if (requests_after == 0) return;  // the engine counts only its misses
  EXPECT_GE(requests_after - requests, reads);
  if (engine_after.block_requests && engine_after.block_hits) {
    EXPECT_EQ(*engine_after.block_requests - *engine_before.block_requests,
              requests_after - requests);
    EXPECT_EQ(*engine_after.block_hits - *engine_before.block_hits,
              requests_after - requests - data.reads);
  }
}

class CacheSizeTest : public IoTest {
 public:
  static constexpr CaseChoice kChoice = {.own_modes = true};
  static bool IsFor(const EngineCase& c) { return FindEngine(c.engine).capabilities.cache; }
};
TESTBED_FOR_EVERY_ENGINE(CacheSizeTest);

TEST_P(CacheSizeTest, TheCacheStaysWithinItsSetting) {
  // More than the cache holds.
  const uint64_t rows = (EveryWay() && !info().capabilities.server ? 40000 : 20000) / RowsInOne();
  const size_t size = 300 * RowsInOne();
  options_.cache_bytes = std::max<uint64_t>(4 << 20, info().capabilities.min_cache_bytes);
  Open();
  const auto check = [&] {
    const std::optional<uint64_t> held = engine_->Counters().cache_bytes;
    ASSERT_TRUE(held.has_value());
    ASSERT_LE(*held, options_.cache_bytes + kCacheSlack);
  };
  for (uint64_t row = 0; row < rows;) {
    session_->Begin();
    for (const uint64_t end = row + 500; row < end; ++row) Put(RowKey(row), RowValue(row, size));
    session_->Commit();
    ASSERT_NO_FATAL_FAILURE(check());
  }
  engine_->Settle();
  for (int i = 0; i < 20; ++i) {
    ASSERT_NO_FATAL_FAILURE(ReadRandomRows(rows, size, 500 / RowsInOne()));
    ASSERT_NO_FATAL_FAILURE(check());
  }
}

TESTBED_FOR_EVERY_ENGINE(IoTest);

}  // namespace
}  // namespace testbed
