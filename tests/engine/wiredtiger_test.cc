// Tests what is special to WiredTiger: which reads a missing page costs, what the IO of its own
// threads is charged to, its counters against the file level, its settings and its errors. The
// conformance suite tests its behaviour as an engine.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "device/account/ledger.h"
#include "device/error.h"
#include "device/file/file_faults.h"
#include "engines/registry.h"
#include "tests/engine/engine_test.h"
#include "tests/engine/wiredtiger_database.h"

#ifdef TESTBED_HAVE_WIREDTIGER

namespace testbed {
namespace {

namespace fs = std::filesystem;

TEST_F(WiredtigerTest, AMissingPageIsOneAlignedReadOfAtMostAPage) {
  for (uint32_t page_size : {4096u, 8192u, 32768u}) {
    options_.page_size = page_size;
    options_.cache_bytes = 64 * kMiB;
    if (!OpenDirect()) GTEST_SKIP() << "no direct IO on the file system of " << dir_;
    constexpr uint64_t kRows = 10000, kGets = 2000;
    Load(kRows, 800);
    options_.cache_bytes = 2 * kMiB;
    Open();

    const OpKind read = DefineOp("point-read", Ground::kForeground);
    uint64_t requests, misses_before, misses;
    session_->BlockCounts(&requests, &misses_before);
    const EngineCounters engine_before = engine_->Counters();
    const LedgerCounts before = Ledger::Get().Counts();
    for (uint64_t i = 0; i < kGets; ++i) {
      const uint64_t row = i * 104729 % kRows;
      IoScope scope(read);
      ASSERT_EQ(Get(RowKey(row)), RowValue(row, 800));
    }
    const LedgerCounts delta = Ledger::Get().Counts() - before;
    const EngineCounters engine_after = engine_->Counters();
    session_->BlockCounts(&requests, &misses);

    const FileCounts data = Charged(delta, read, FileKind::kData);
    EXPECT_GT(data.reads, kGets / 2) << "the database is not larger than the cache";
    EXPECT_LE(data.reads, kGets * 2);
    EXPECT_EQ(data.reads, *engine_after.block_reads - *engine_before.block_reads);
    EXPECT_EQ(data.read_bytes, *engine_after.block_read_bytes - *engine_before.block_read_bytes);
    EXPECT_EQ(data.reads, misses - misses_before);
    EXPECT_EQ(data.read_bytes % 4096, 0u);
    EXPECT_LE(data.read_bytes, data.reads * page_size);
    EXPECT_GT(data.read_bytes, data.reads * page_size / 2);
    EXPECT_EQ(More("direct requests copied"), 0u);
    EXPECT_EQ(Charged(delta, read, FileKind::kMeta).reads, 0u);
    Close();
    fs::remove_all(dir_);
  }
}

TEST_F(WiredtigerTest, ItsOwnThreadsAreChargedToTheirOwnKinds) {
  options_.extra["checkpoint_interval_s"] = "1";
  options_.lazy_interval_ms = 20;
  Open();
  const LedgerCounts before = Ledger::Get().Counts();
  Load(60000, 200);
  // The checkpoint thread works once a second and the log's every 20 ms, if the machine lets them
  // run.
  LedgerCounts delta;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  do {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    delta = Ledger::Get().Counts() - before;
  } while ((Charged(delta, kCheckpoint, FileKind::kData).syncs == 0 ||
            Charged(delta, kLogWrite, FileKind::kLog).syncs <= 10) &&
           std::chrono::steady_clock::now() < deadline);
  EXPECT_GT(Charged(delta, kEviction, FileKind::kData).writes, 100u);
  EXPECT_GT(Charged(delta, kCheckpoint, FileKind::kData).writes, 0u);
  EXPECT_GT(Charged(delta, kCheckpoint, FileKind::kData).syncs, 0u);
  EXPECT_GT(Charged(delta, kLogWrite, FileKind::kLog).syncs, 10u);
  EXPECT_EQ(Charged(delta, kEviction, FileKind::kLog).writes, 0u);
  const FileCounts nobody = delta.ops[kUnscoped.id].FileTotal();
  EXPECT_EQ(nobody.reads + nobody.writes + nobody.syncs, 0u);
}

TEST_F(WiredtigerTest, ItsCountersAgreeWithTheFileLevel) {
  options_.extra["checkpoint_interval_s"] = "0";
  Open();
  engine_->Settle();
  const EngineCounters engine_before = engine_->Counters();
  const LedgerCounts before = Ledger::Get().Counts();
  Load(30000, 200);
  engine_->Settle();
  const LedgerCounts delta = Ledger::Get().Counts() - before;
  const EngineCounters engine = engine_->Counters();
  FileCounts data, log, meta;
  for (OpKind op : DefinedOps()) {
    data += Charged(delta, op, FileKind::kData), log += Charged(delta, op, FileKind::kLog);
    meta += Charged(delta, op, FileKind::kMeta);
  }
  // The catalogue is a b-tree as well. WiredTiger counts its blocks, and the file level counts them
  // as meta, like the turtle file.
  const uint64_t blocks = *engine.block_write_bytes - *engine_before.block_write_bytes;
  EXPECT_GE(blocks, data.write_bytes);
  EXPECT_LE(blocks, data.write_bytes + meta.write_bytes);
  // WiredTiger's own threads may write a log record of 128 bytes between two of the readings.
  EXPECT_NEAR(*engine.log_written_bytes - *engine_before.log_written_bytes, log.write_bytes, 256);
  EXPECT_GT(*engine.log_payload_bytes, 30000u * 200u);
  EXPECT_LE(*engine.log_payload_bytes, *engine.log_written_bytes);
  EXPECT_LE(*engine.cache_bytes, options_.cache_bytes);
  EXPECT_EQ(More("cache bytes configured"), options_.cache_bytes);
  EXPECT_EQ(More("cache pages dirty"), 0u);
}

TEST_F(WiredtigerTest, SyncCommitsSyncTheLogAndLazyOnesDoNot) {
  const OpKind insert = DefineOp("insert", Ground::kForeground);
  for (const char* method : {"fsync", "dsync"}) {
    options_.durability = Durability::kSync;
    options_.extra["log_sync"] = method;
    Open();
    const LedgerCounts before = Ledger::Get().Counts();
    Load(50, 100);
    const FileCounts log = Charged(Ledger::Get().Counts() - before, insert, FileKind::kLog);
    EXPECT_GE(log.writes, 50u) << method;
    // O_DSYNC makes the write itself durable.
    if (std::string(method) == "fsync") {
      EXPECT_GE(log.syncs, 50u);
    }
    if (std::string(method) == "dsync") {
      EXPECT_EQ(log.syncs, 0u);
    }
  }
  options_.durability = Durability::kLazy;
  EXPECT_NE(ErrorOf(Error::kUsage, [&] { Open(); }).find("log_sync=dsync with --durability lazy"),
            std::string::npos);
  options_.extra.erase("log_sync");
  Open();
  const LedgerCounts before = Ledger::Get().Counts();
  Load(50, 100);
  EXPECT_EQ(Charged(Ledger::Get().Counts() - before, insert, FileKind::kLog).syncs, 0u);
}

TEST_F(WiredtigerTest, EachLogAndTableOptionKeepsRows) {
  const std::vector<std::pair<std::string, std::string>> choices = {
      {"log_io", "direct"},       {"log_zero_fill", "on"},       {"log_prealloc", "off"},
      {"log_file_max", "100KiB"}, {"prefix_compression", "on"},  {"checksum", "off"},
      {"split_pct", "75"},        {"internal_page_max", "16k"},  {"memory_page_max", "64k"},
      {"statistics", "none"},     {"checkpoint_log_bytes", "1M"}};
  options_.durability = Durability::kSync;
  for (const auto& [name, value] : choices) {
    options_.extra = {{name, value}};
    Open();
    for (uint64_t row = 0; row < 1000;) {
      session_->Begin();
      for (int i = 0; i < 50; ++i, ++row) session_->Put(table_, RowKey(row), RowValue(row, 900));
      session_->Commit();
    }
    if (name == "log_io") {
      EXPECT_EQ(More("direct requests copied"), 0u);
    }
    OpenAt(Image());
    for (uint64_t row = 0; row < 1000; row += 50) {
      ASSERT_EQ(Get(RowKey(row)), RowValue(row, 900)) << name;
    }
    Close();
    fs::remove_all(dir_);
  }
}

// A log buffer is a tenth of a log file, and WiredTiger has 128 of them.
TEST_F(WiredtigerTest, LogBuffersTakeAFifthOfALittleRamAtMost) {
  for (const uint64_t mib : {16, 64, 128, 159, 160, 256}) {
    options_.ram_bytes = mib << 20;
    options_.cache_bytes = options_.ram_bytes / 2;
    Open();
    const uint64_t buffer =
        std::min<uint64_t>(std::stoull(Setting("log.file_max")) / 10, 256 << 10);
    EXPECT_LE(128 * buffer, options_.ram_bytes / 5) << mib;
    EXPECT_GE(128 * buffer, std::min<uint64_t>(options_.ram_bytes / 6, 32 << 20)) << mib;
    Close();
    fs::remove_all(dir_);
  }
}

// Expects that each compressor makes less than half of the bytes that none makes.
void ExpectHalfOrLess(const std::map<std::string, uint64_t>& sizes) {
  ASSERT_TRUE(sizes.contains("none"));
  for (const auto& [name, size] : sizes) {
    if (name != "none") {
      EXPECT_LT(size, sizes.at("none") / 2) << name;
    }
  }
}

TEST_F(WiredtigerTest, EachCompressorMakesTheFileSmaller) {
  std::map<std::string, uint64_t> sizes;
  // A compressed block still takes a multiple of 4 KiB, so small pages gain little.
  options_.page_size = 32768;
  for (const std::string& name : FindEngine("wiredtiger").capabilities.compressions) {
    options_.compression = name;
    Open();
    for (int row = 0; row < 5000; ++row) {
      session_->Put(table_, RowKey(row), std::string(400, static_cast<char>('a' + row % 26)));
    }
    Close();
    sizes[name] = fs::file_size(dir_ + "/t.wt");
    Open();
    EXPECT_EQ(Get(RowKey(27)), std::string(400, 'b'));
    Close();
    fs::remove_all(dir_);
  }
  ExpectHalfOrLess(sizes);
  EXPECT_GE(sizes.size(), 4u) << "snappy, lz4 and zstd are built in";
}

// MongoDB compresses its log by snappy.
TEST_F(WiredtigerTest, EachCompressorMakesTheLogSmaller) {
  std::map<std::string, uint64_t> sizes;
  options_.durability = Durability::kSync;
  for (const std::string& name : FindEngine("wiredtiger").capabilities.compressions) {
    options_.extra = {{"log_compressor", name}, {"checkpoint_interval_s", "0"}};
    Open();
    EXPECT_EQ(Setting("log.compressor"), name);
    const uint64_t before = *engine_->Counters().log_written_bytes;
    for (int row = 0; row < 200; ++row) session_->Put(table_, RowKey(row), std::string(4000, 'v'));
    sizes[name] = *engine_->Counters().log_written_bytes - before;
    OpenAt(Image());
    EXPECT_EQ(Get(RowKey(199)), std::string(4000, 'v')) << name;
    Close();
    fs::remove_all(dir_);
  }
  ExpectHalfOrLess(sizes);
}

// --fresh removes the files that TableFiles names, which does not read compressed logs.
TEST_F(WiredtigerTest, TheFilesOfNewTablesAreNamedBesideACompressedLog) {
  const EngineInfo& info = FindEngine("wiredtiger");
  options_.durability = Durability::kSync;
  for (const std::string& name : info.capabilities.compressions) {
    options_.extra = {{"log_compressor", name}, {"checkpoint_interval_s", "0"}};
    Open();
    engine_->OpenTable("another");
    EXPECT_EQ(info.table_files(Image()), (std::vector<std::string>{"another.wt", "t.wt"})) << name;
    Close();
    fs::remove_all(dir_);
  }
}

// WiredTiger names the log of its statistics by the day and the hour.
TEST_F(WiredtigerTest, TheLogOfItsStatisticsIsAFileOfTheEngine) {
  const EngineInfo& info = FindEngine("wiredtiger");
  EXPECT_TRUE(IsEngineFile(info, "WiredTigerStat.30.23"));
  EXPECT_FALSE(IsEngineFile(info, "WiredTigerStat.txt"));
  options_.extra = {{"connection_config", "statistics_log=(on_close=true)"}};
  Open();
  Close();
  for (const auto& entry : fs::directory_iterator(dir_)) {
    const std::string name = entry.path().filename();
    EXPECT_TRUE(name == "t.wt" || IsEngineFile(info, name)) << name;
  }
}

TEST_F(WiredtigerTest, ChangingDurabilityLosesNothingAndBringsNothingBack) {
  options_.durability = Durability::kSync;
  Open();
  session_->Put(table_, "k", "1");
  // Only the log has this row. It must be found even when the database is opened without a log.
  const std::string image = Image();
  options_.durability = Durability::kNone;
  OpenAt(image);
  EXPECT_EQ(Get("k"), "1");
  session_->Put(table_, "k", "2");
  Close();
  // The old log must not be replayed over later commits.
  options_.durability = Durability::kLazy;
  OpenAt(image);
  EXPECT_EQ(Get("k"), "2");
  options_.durability = Durability::kNone;
  OpenAt(image);
  session_->Put(table_, "k", "3");
  engine_->Checkpoint();
  Close();
  options_.durability = Durability::kSync;
  OpenAt(image);
  EXPECT_EQ(Get("k"), "3");
  session_->Put(table_, "k", "4");
  CopyFiles(image, dir_);
  OpenAt(dir_);
  EXPECT_EQ(Get("k"), "4");
}

TEST_F(WiredtigerTest, AnotherPageSizeOrCompressionIsAnErrorThatSaysWhatToGive) {
  Open();
  session_->Put(table_, "k", "v");
  Close();
  options_.page_size = 4096;
  std::string sentence = ErrorOf(Error::kUsage, [&] { Open(); });
  EXPECT_NE(sentence.find("has 8192-byte pages, not 4096"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("--page-size 8192"), std::string::npos) << sentence;
  options_.page_size = 8192;
  options_.compression = "snappy";
  sentence = ErrorOf(Error::kUsage, [&] { Open(); });
  EXPECT_NE(sentence.find("has compression none, not snappy"), std::string::npos) << sentence;
  options_.compression = "none";
  Open();
  EXPECT_EQ(Get("k"), "v");
}

// WiredTiger would open the table and leave such an option without effect.
TEST_F(WiredtigerTest, ASettingThatATableWasMadeWithoutIsRefused) {
  options_.extra = {{"split_pct", "80"}, {"table_config", "leaf_key_max=1k"}};
  Open();
  session_->Put(table_, "k", "v");
  Close();
  const std::vector<std::pair<std::string, std::string>> others = {
      {"split_pct", "75"},
      {"memory_page_max", "64k"},
      {"prefix_compression", "on"},
      {"checksum", "off"},
      {"table_config", "leaf_key_max=2k"}};
  for (const auto& [name, value] : others) {
    options_.extra = {{name, value}};
    const std::string sentence = ErrorOf(Error::kUsage, [&] { Open(); });
    EXPECT_NE(sentence.find("was made with"), std::string::npos) << name << ": " << sentence;
  }
  options_.extra = {{"split_pct", "80"},
                    {"allocation_size", "4k"},
                    {"prefix_compression", "off"},
                    {"table_config", "leaf_key_max=1024"}};
  Open();
  EXPECT_EQ(Get("k"), "v");
  EXPECT_EQ(Setting("table.split_pct"), "80");
  // No table keeps these.
  for (const std::string text : {"exclusive=true", "lsm=(bloom=false)"}) {
    options_.extra = {{"table_config", text}};
    Open();
    EXPECT_EQ(Get("k"), "v") << text;
  }
}

TEST_F(WiredtigerTest, ADatabaseInUseIsAnError) {
  Open();
  const std::string sentence =
      ErrorOf(Error::kUsage, [&] { OpenEngine("wiredtiger", dir_, options_); });
  EXPECT_NE(sentence.find(dir_ + " is in use by this process already"), std::string::npos)
      << sentence;
}

TEST_F(WiredtigerTest, BadSettingsAreRefusedInASentence) {
  options_.extra = {{"log_sync", "sometimes"}};
  EXPECT_NE(ErrorOf(Error::kUsage, [&] { Open(); }).find("log_sync=sometimes"), std::string::npos);
  options_.extra = {{"connection_config", "no_such_key=1"}};
  const std::string unknown = ErrorOf(Error::kUsage, [&] { Open(); });
  EXPECT_NE(unknown.find("no_such_key"), std::string::npos) << unknown;
  EXPECT_NE(unknown.find("release " + FindEngine("wiredtiger").version), std::string::npos)
      << unknown;
  options_.extra = {{"table_config", "no_such_key=1"}};
  EXPECT_NE(ErrorOf(Error::kUsage, [&] { Open(); }).find("no_such_key"), std::string::npos);
  options_.extra = {};
  options_.cache_bytes = 1000;
  EXPECT_NE(ErrorOf(Error::kUsage, [&] { Open(); }).find("1 MiB"), std::string::npos);
  options_.cache_bytes = 4 * kMiB;
  Open();
  EXPECT_NE(ErrorOf(Error::kUsage, [&] { engine_->OpenTable("a,b"); }).find("a,b"),
            std::string::npos);
}

// Each thread of a run has a session. The run ended with WiredTiger's words alone.
TEST_F(WiredtigerTest, WithoutAFreeSessionOneSentenceSaysWhatToDo) {
  options_.extra = {{"connection_config", "session_max=60"}};
  Open();
  std::vector<std::unique_ptr<Session>> sessions;
  const std::string sentence = ErrorOf(Error::kUsage, [&] {
    for (int i = 0; i < 200; ++i) sessions.push_back(engine_->NewSession());
  });
  EXPECT_NE(sentence.find("give fewer --threads"), std::string::npos) << sentence;
}

TEST_F(WiredtigerTest, StatisticsMayBeOffInEitherBrackets) {
  for (const char* text : {"statistics=(none)", "statistics=[none]"}) {
    options_.extra = {{"connection_config", text}};
    Open();
    EXPECT_FALSE(engine_->Counters().block_requests.has_value()) << text;
  }
  options_.extra = {{"connection_config", "statistics=[fast]"}};
  Open();
  EXPECT_TRUE(engine_->Counters().block_requests.has_value());
}

// The text of the user comes last, so it would undo what the run's options ask for.
TEST_F(WiredtigerTest, TextThatUndoesAnOptionOfTheRunIsRefused) {
  const auto refusal = [&](const std::string& option, const std::string& text) {
    options_.extra = {{option, text}};
    return ErrorOf(Error::kUsage, [&] { Open(); });
  };
  for (const std::string key : {"transaction_sync", "debug_mode", "cache_size", "direct_io",
                                "checkpoint", "block_cache", "chunk_cache"}) {
    const std::string said = refusal("connection_config", "hash=(buckets=64)," + key + "=(x=1)");
    EXPECT_NE(said.find(key + "=(x=1): it follows from"), std::string::npos) << said;
  }
  // The run decides some parts of a nested key.
  for (const std::string text :
       {"log=(force_write_wait=1,enabled=false)", "log=(compressor=zlib)", "log=(path=journal)",
        "eviction=(threads_max=20)", "log=[path=journal]", "eviction={threads_max=20}"}) {
    const std::string said = refusal("connection_config", text);
    EXPECT_NE(said.find(": it follows from"), std::string::npos) << said;
  }
  // Two keys are for the file system, which is testbed's.
  for (const std::string text : {"access_pattern_hint=random", "os_cache_dirty_max=1M"}) {
    const std::string said = refusal("table_config", text);
    EXPECT_NE(said.find(text + ": it follows from"), std::string::npos) << said;
  }
  const std::string said = refusal("table_config", "split_pct=80,leaf_page_max=64k");
  EXPECT_NE(said.find("leaf_page_max=64k: it follows from"), std::string::npos) << said;
  options_.extra = {{"connection_config", "eviction_dirty_target=10,log=(force_write_wait=1)"}};
  options_.durability = Durability::kSync;
  Open();
  EXPECT_EQ(Setting("log.force_write_wait"), "1");
  EXPECT_EQ(Setting("log.enabled"), "true") << "the other parts stay";
  Close();
  options_.extra = {{"connection_config", "log=[force_write_wait=2]"}};
  Open();
  EXPECT_EQ(Setting("log.force_write_wait"), "2") << "in the other brackets, too";
}

TEST_F(WiredtigerTest, SettingsInForceAreWhatWasAskedFor) {
  options_.page_size = 16384;
  options_.extra = {{"internal_page_max", "8k"}, {"split_pct", "80"}};
  options_.durability = Durability::kSync;
  Open();
  EXPECT_EQ(Setting("table.leaf_page_max"), "16384");
  EXPECT_EQ(Setting("table.internal_page_max"), "8192");
  EXPECT_EQ(Setting("table.split_pct"), "80");
  EXPECT_EQ(Setting("cache_size"), std::to_string(options_.cache_bytes));
  EXPECT_EQ(Setting("transaction_sync.enabled"), "true");
  EXPECT_NE(Setting("version").find("11."), std::string::npos);
}

TEST_F(WiredtigerTest, ADamagedPageIsCorruptionNotAnAbort) {
  options_.extra["checkpoint_interval_s"] = "0";
  Open();
  Load(20000, 200);
  engine_->Settle();
  // The root is in memory, most leaves are not.
  DamageEveryBlock();
  const std::string sentence = ErrorOf(Error::kCorruption, [&] {
    for (uint64_t row = 0; row < 20000; ++row) Get(RowKey(row));
  });
  EXPECT_NE(sentence.find("t.wt"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("checksum"), std::string::npos) << sentence;
  // The engine must go on refusing, on every thread.
  ErrorOf(Error::kCorruption, [&] { engine_->Checkpoint(); });
  std::thread([&] { ErrorOf(Error::kCorruption, [&] { Get(RowKey(1)); }); }).join();
}

TEST_F(WiredtigerTest, ADamagedRootIsCorruptionWhenTheTableIsOpened) {
  Open();
  Load(20000, 200);
  Close();
  DamageEveryBlock();
  const std::string sentence = ErrorOf(Error::kCorruption, [&] { Open(); });
  EXPECT_NE(sentence.find("t.wt"), std::string::npos) << sentence;
}

TEST_F(WiredtigerTest, AFailedWriteIsASentenceAndLosesNoCommit) {
  options_.durability = Durability::kSync;
  Open();
  // Stands in for a full disk, which takes root to make: files may not grow past 6 MB.
  signal(SIGXFSZ, SIG_IGN);
  struct rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  struct rlimit limit = before;
  limit.rlim_cur = 6 * kMiB;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  uint64_t committed = 0;
  const std::string sentence = ErrorOf(Error::kIo, [&] {
    for (; committed < 100000; ++committed) {
      session_->Put(table_, RowKey(committed), RowValue(committed, 2000));
    }
  });
  EXPECT_NE(sentence.find("File too large"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find(dir_), std::string::npos) << sentence;
  Close();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_GT(committed, 100u);
  Open();
  for (uint64_t row = 0; row < committed; ++row) {
    ASSERT_EQ(Get(RowKey(row)), RowValue(row, 2000)) << row << " of " << committed;
  }
}

// WiredTiger writes a record larger than half a log buffer, here 128 KiB, by a call of its own, and
// tells the commit of success when that call fails.
TEST_F(WiredtigerTest, ACommitIsNotAcknowledgedWhenItsLargeLogRecordWasNotWritten) {
  options_.durability = Durability::kSync;
  options_.cache_bytes = 16 * kMiB;  // so that no page is evicted meanwhile
  for (const bool transaction : {false, true}) {
    constexpr uint64_t kMostCalls = 20;
    uint64_t calls = kMostCalls;
    for (uint64_t fault = 0; fault < kMostCalls; ++fault) {
      const std::string where =
          (transaction ? "in a transaction, call " : "call ") + std::to_string(fault);
      Open();
      session_->Put(table_, "before", where);
      bool acknowledged = false;
      FileFaults::Set(fault, fault + 1, EIO);
      try {
        if (transaction) session_->Begin();
        session_->Put(table_, where, RowValue(fault, 200000));
        if (transaction) session_->Commit();
        acknowledged = true;
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), Error::kIo) << where << ": " << error.what();
      }
      calls = FileFaults::Clear();
      Open();
      EXPECT_EQ(Get("before"), where);
      if (acknowledged) {
        EXPECT_TRUE(Get(where) == RowValue(fault, 200000)) << where;
      }
      if (calls <= fault) {
        EXPECT_TRUE(acknowledged) << where;
        break;
      }
    }
    EXPECT_GE(calls, 2u) << "a write and a sync";
    EXPECT_LT(calls, kMostCalls);
  }
}

// Has calls of its database fail when it is destroyed.
struct RefusedAtItsEnd {
  std::unique_ptr<Engine> engine;
  std::string* sentence = nullptr;
  ~RefusedAtItsEnd() {
    if (engine == nullptr) return;
    EXPECT_FALSE(engine->ResizeCache(1));
    FileFaults::Set(0, 1, EIO);
    *sentence = ErrorOf(Error::kIo, [this] { engine->OpenTable("u"); });
    FileFaults::Clear();
  }
};

// A static database is closed after the thread_local objects of the main thread are destroyed. Here
// those of a thread are, because the object that has the database was made before them.
TEST_F(WiredtigerTest, AnErrorIsToldUntilTheThreadHasEnded) {
  options_.durability = Durability::kNone;  // no thread of its own calls the file layer
  std::string sentence;
  std::thread([this, &sentence] {
    thread_local RefusedAtItsEnd last;
    last.engine = OpenEngine("wiredtiger", dir_, options_);
    last.sentence = &sentence;
    EXPECT_FALSE(last.engine->ResizeCache(1));  // WiredTiger's words stay with the thread
  }).join();
  EXPECT_NE(sentence.find("Input/output error"), std::string::npos) << sentence;
}

// WiredTiger's close waits until transactions and cursors end, and after a panic WiredTiger refuses
// to end them.
TEST_F(WiredtigerTest, ClosesAfterAPanicWithATransactionAndAReaderOpen) {
  options_.durability = Durability::kSync;
  Open();
  Load(100, 200);
  {
    const std::unique_ptr<Session> reader = engine_->NewSession();
    const std::unique_ptr<Cursor> walk = reader->NewCursor(table_);
    ASSERT_TRUE(walk->First());
    session_->Begin();
    session_->Put(table_, RowKey(1), RowValue(1001, 200));
    FileFaults::Set(0, UINT64_MAX, EIO);
    const std::unique_ptr<Session> other = engine_->NewSession();
    ErrorOf(Error::kIo, [&] { other->Put(table_, RowKey(2), RowValue(1002, 200)); });
    const std::string sentence =
        ErrorOf(Error::kIo, [&] { session_->Put(table_, RowKey(3), RowValue(1003, 200)); });
    EXPECT_NE(sentence.find("open the database again"), std::string::npos) << sentence;
  }
  Close();
  FileFaults::Clear();
  Open();
  for (uint64_t row = 0; row < 100; ++row) EXPECT_EQ(Get(RowKey(row)), RowValue(row, 200));
}

}  // namespace
}  // namespace testbed

#endif  // TESTBED_HAVE_WIREDTIGER
