// Tests what is special to RocksDB: where it keeps its tables, options in its own syntax, and the
// memory of index and filter blocks. The conformance suite tests its behaviour as an engine.
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "device/account/ledger.h"
#include "engines/registry.h"
#include "tests/engine/engine_test.h"

#ifdef TESTBED_HAVE_ROCKSDB

namespace testbed {
namespace {

namespace fs = std::filesystem;

class RocksdbTest : public testing::Test {
 protected:
  RocksdbTest() {
    std::string pattern = fs::current_path() / "rocksdb_test_XXXXXX";
    dir_ = mkdtemp(pattern.data());
    options_.cache_bytes = 8 << 20;
  }
  ~RocksdbTest() override {
    Close();
    std::error_code ignored;
    fs::remove_all(dir_, ignored);
    fs::remove(dir_ + ".options", ignored);
  }
  void Open() {
    Close();
    engine_ = OpenEngine("rocksdb", dir_, options_);
    session_ = engine_->NewSession();
  }
  void Close() {
    session_.reset();
    engine_.reset();
  }
  std::string Setting(const std::string& name) {
    std::string found;
    for (const auto& [key, value] : engine_->EffectiveSettings()) {
      if (key == name) found = value;
    }
    return found;
  }
  std::string Get(TableId table, const std::string& key) {
    std::string_view value;
    return session_->Get(table, key, &value) ? std::string(value) : "(absent)";
  }
  void Load(TableId table, int rows) {
    session_->Begin();
    for (int row = 0; row < rows; ++row) session_->Put(table, RowKey(row), RowValue(row, 200));
    session_->Commit();
  }
  std::string Refusal(const std::string& name, const std::string& value) {
    options_.extra = {{name, value}};
    const std::string sentence = ErrorOf(Error::kUsage, [&] { Open(); });
    EXPECT_NE(sentence.find(name), std::string::npos) << sentence;
    return sentence;
  }
  // Removes the open database but for its OPTIONS file, which gets these values. Returns its path.
  std::string TakeOptionsFile(const std::map<std::string, std::string>& values) {
    Close();
    std::string file;
    for (const auto& entry : fs::directory_iterator(dir_)) {
      const std::string path = entry.path();
      if (entry.path().filename().string().starts_with("OPTIONS") && path > file) file = path;
    }
    const std::string copy = dir_ + ".options";
    std::ofstream to(copy);
    std::ifstream from(file);
    for (std::string line; std::getline(from, line);) {
      for (const auto& [name, value] : values) {
        if (line.starts_with("  " + name + "=")) line = "  " + name + "=" + value;
      }
      to << line << '\n';
    }
    fs::remove_all(dir_);
    fs::create_directory(dir_);
    return copy;
  }

  std::string dir_;
  EngineOptions options_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Session> session_;
};

// The bytes that a cursor returns over a transaction's own writes lie in the batch, which moves
// when it grows.
TEST_F(RocksdbTest, ATransactionMayWriteWhatItsCursorReturned) {
  Open();
  const TableId table = engine_->OpenTable("t");
  const std::string committed(200'000, 'c'), own(2'000'000, 'o');
  session_->Put(table, "a committed", committed);
  session_->Begin();
  session_->Put(table, "b own", own);
  {
    const auto cursor = session_->NewCursor(table);
    ASSERT_TRUE(cursor->Seek("b"));
    session_->Put(table, "copy of own", cursor->value());
    ASSERT_TRUE(cursor->First());
    session_->Put(table, "copy of committed", cursor->value());
    ASSERT_TRUE(cursor->First());
    session_->Erase(table, cursor->key());
  }
  session_->Commit();
  EXPECT_TRUE(Get(table, "copy of own") == own);
  EXPECT_TRUE(Get(table, "copy of committed") == committed);
  EXPECT_EQ(Get(table, "a committed"), "(absent)");
}

// A table must never show rows of its neighbours, not even a transaction's own writes to them.
TEST_F(RocksdbTest, NeighboursInOneColumnFamilyStayApart) {
  Open();
  EXPECT_EQ(Setting("tables"), "key-prefix");
  const TableId a = engine_->OpenTable("a"), b = engine_->OpenTable("b"),
                c = engine_->OpenTable("c");
  session_->Put(a, "k1", "a1");
  session_->Put(c, "k1", "c1");
  for (const bool own : {false, true}) {
    if (own) session_->Begin();
    if (own) session_->Put(a, "k2", "a2"), session_->Put(c, "k0", "c0");
    const auto cursor = session_->NewCursor(b);
    EXPECT_FALSE(cursor->First());
    EXPECT_FALSE(cursor->Next());
    EXPECT_FALSE(cursor->Last());
    EXPECT_FALSE(cursor->Prev());
    EXPECT_FALSE(cursor->Seek("k"));
    EXPECT_FALSE(cursor->SeekForPrev("z"));
    const auto last = session_->NewCursor(a);
    ASSERT_TRUE(last->Last());
    EXPECT_EQ(last->key(), own ? "k2" : "k1");
    EXPECT_FALSE(last->Next());
    const auto first = session_->NewCursor(c);
    ASSERT_TRUE(first->First());
    EXPECT_EQ(first->key(), own ? "k0" : "k1");
    EXPECT_FALSE(first->Prev());
  }
  session_->Rollback();
}

TEST_F(RocksdbTest, ADatabaseThatThisProcessHasOpenIsNotCalledAnothers) {
  Open();
  const std::string sentence =
      ErrorOf(Error::kUsage, [&] { OpenEngine("rocksdb", dir_, options_); });
  EXPECT_NE(sentence.find(dir_ + " is in use by this process already"), std::string::npos)
      << sentence;
}

// A program that uses RocksDB itself holds RocksDB's own lock alone.
TEST_F(RocksdbTest, ADatabaseThatAnotherProgramHasLockedIsInUse) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const std::string lock = dir_ + "/LOCK";
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(60);
    struct flock whole = {};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    const int fd = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (::fcntl(fd, F_SETLK, &whole) == 0 && ::write(ends[1], "x", 1) == 1) ::pause();
    ::_exit(1);
  }
  ::close(ends[1]);
  char byte = 0;
  EXPECT_EQ(::read(ends[0], &byte, 1), 1);
  const std::string sentence = ErrorOf(Error::kUsage, [&] { Open(); });
  EXPECT_NE(sentence.find("is in use by another process"), std::string::npos) << sentence;
  ::kill(child, SIGKILL);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
  ::close(ends[0]);
  Open();
}

// RocksDB can open no file whose name a directory has.
TEST_F(RocksdbTest, AnotherErrorThatNamesTheLockIsNotCalledUse) {
  for (const char* name : {"LOCK", "000001.dbtmp"}) {
    const std::string dir = dir_ + "/LOCK and " + name;
    fs::create_directories(dir + "/" + name);
    const std::string sentence = ErrorOf(Error::kIo, [&] { OpenEngine("rocksdb", dir, options_); });
    EXPECT_NE(sentence.find(dir + "/" + name), std::string::npos) << sentence;
    EXPECT_EQ(sentence.find("in use"), std::string::npos) << sentence;
  }
}

// Each row of the directory of tables has a prefix of its own here, and two files have the rows.
TEST_F(RocksdbTest, TablesAreFoundByNameInWhateverOrderTheyAreOpened) {
  options_.extra = {{"options", "prefix_extractor=capped:6"}};
  Open();
  for (const char* name : {"x", "y", "z"}) session_->Put(engine_->OpenTable(name), "k", name);
  Open();
  for (const char* name : {"v", "w"}) session_->Put(engine_->OpenTable(name), "k", name);
  Open();
  for (const char* name : {"w", "z", "new", "x", "y", "v"})
    EXPECT_EQ(Get(engine_->OpenTable(name), "k"), std::string(name) == "new" ? "(absent)" : name);
}

TEST_F(RocksdbTest, ADatabaseKeepsTheLayoutItWasMadeWith) {
  for (const char* made : {"column-families", "key-prefix"}) {
    const std::string other = std::string(made) == "key-prefix" ? "column-families" : "key-prefix";
    Close();
    fs::remove_all(dir_);
    options_.extra = {{"tables", made}};
    Open();
    session_->Put(engine_->OpenTable("default"), "k", "v");
    session_->Put(engine_->OpenTable("t"), "k", "w");
    options_.extra.clear();
    Open();
    EXPECT_EQ(Setting("tables"), made);
    EXPECT_EQ(Get(engine_->OpenTable("t"), "k"), "w");
    EXPECT_EQ(Get(engine_->OpenTable("default"), "k"), "v");
    Close();
    const std::string sentence = Refusal("tables", other);
    EXPECT_NE(sentence.find(made), std::string::npos) << sentence;
  }
}

// Ten clients' tables share one pair of write buffers, and are flushed as one run of rows.
TEST_F(RocksdbTest, ManyTablesFillOneWriteBuffer) {
  const auto flushes = [&](const char* layout) {
    Close();
    fs::remove_all(dir_);
    options_.extra = {{"tables", layout}, {"write_buffer_size", "1M"}};
    Open();
    for (int t = 0; t < 20; ++t) Load(engine_->OpenTable("t" + std::to_string(t)), 1000);
    engine_->Flush();
    for (const auto& [name, value] : engine_->Counters().more) {
      if (name == "flushes") return value;
    }
    return uint64_t{0};
  };
  const uint64_t apart = flushes("column-families"), together = flushes("key-prefix");
  EXPECT_GT(together, 0u);
  EXPECT_GE(apart, 2 * together);
}

TEST_F(RocksdbTest, OptionsInRocksdbsOwnSyntaxAreInForce) {
  options_.extra = {{"options",
                     "max_subcompactions=3;level0_file_num_compaction_trigger=7;"
                     "block_based_table_factory={block_restart_interval=5}"},
                    {"level0_compaction_trigger", "9"}};
  Open();
  EXPECT_EQ(Setting("max_subcompactions"), "3");
  EXPECT_EQ(Setting("level0_file_num_compaction_trigger"), "9") << "the name goes before";
  EXPECT_EQ(Setting("block_restart_interval"), "5");
  EXPECT_EQ(Setting("block_size"), "8192") << "what it does not name stays";
  EXPECT_GT(engine_->EffectiveSettings().size(), 150u) << "all that RocksDB has";
}

// Assertions cost time, so a report must have whether the library has them. One that has them
// exports a class of RocksDB's own tests.
TEST_F(RocksdbTest, ALibraryWithAssertionsSaysSo) {
  Open();
  const bool has = ::dlsym(RTLD_DEFAULT, "_ZN7rocksdb9SyncPoint11GetInstanceEv") != nullptr;
  EXPECT_EQ(Setting("assertions"), has ? "on" : "off");
  EXPECT_EQ(FindEngine("rocksdb").summary.find("assertions") != std::string::npos, has);
}

// 0 is no limit on the write buffers of all tables.
TEST_F(RocksdbTest, ALimitOfWriteBuffersThatTheUserLiftsIsLifted) {
  Open();
  EXPECT_EQ(
      std::stoull(Setting("db_write_buffer_size")),
      std::stoull(Setting("write_buffer_size")) * std::stoull(Setting("max_write_buffer_number")));
  options_.extra = {{"options", "db_write_buffer_size=0"}};
  Open();
  EXPECT_EQ(Setting("db_write_buffer_size"), "0");
  options_.extra = {{"options", "db_write_buffer_size=3000000"}};
  Open();
  EXPECT_EQ(Setting("db_write_buffer_size"), "3000000");
}

TEST_F(RocksdbTest, AnOptionsFileGoesBeforeDefaultsAndBehindOptions) {
  options_.extra = {
      {"options", "max_subcompactions=3;max_background_jobs=5;db_write_buffer_size=0"}};
  Open();
  const std::string copy = TakeOptionsFile({});
  options_.page_size = 4096;
  options_.extra = {{"options_file", copy}, {"options", "max_background_jobs=6"}};
  Open();
  EXPECT_EQ(Setting("max_subcompactions"), "3");
  EXPECT_EQ(Setting("max_background_jobs"), "6");
  EXPECT_EQ(Setting("db_write_buffer_size"), "0") << "a file is not completed by our defaults";
  EXPECT_EQ(Setting("block_size"), "4096") << "the run's own";
}

// RocksDB has three more options by which data are compressed, each for a part of them.
TEST_F(RocksdbTest, AnOptionsFileDoesNotCompressAgainstTheRun) {
  Open();
  const std::string copy =
      TakeOptionsFile({{"bottommost_compression", "kSnappyCompression"},
                       {"compression_per_level", "kNoCompression:kSnappyCompression"},
                       {"blob_compression_type", "kSnappyCompression"}});
  options_.extra = {{"options_file", copy}};
  Open();
  EXPECT_EQ(Setting("compression"), "kNoCompression");
  EXPECT_EQ(Setting("compression_per_level").find("kSnappy"), std::string::npos);
  EXPECT_EQ(Setting("bottommost_compression"), "kDisableCompressionOption");
  EXPECT_EQ(Setting("blob_compression_type"), "kNoCompression");
}

TEST_F(RocksdbTest, OptionsThatCannotBeAreRefusedInASentence) {
  const std::string unknown = Refusal("options", "nosuch=1");
  EXPECT_NE(unknown.find("rocksdb " + FindEngine("rocksdb").version), std::string::npos) << unknown;
  Refusal("options", "max_open_files=many");
  for (const char* object : {"memtable=nosuch", "merge_operator=nosuch", "prefix_extractor=nosuch",
                             "block_based_table_factory={filter_policy=nosuch}"}) {
    SCOPED_TRACE(object);
    Refusal("options", object);
  }
  Refusal("options", "{");
  Refusal("options_file", "/nonexistent");
  for (const char* own :
       {"use_direct_reads=true", "compression=kZSTD", "wal_dir=/tmp", "paranoid_checks=false",
        "stats_persist_period_sec=600", "compression_per_level=kNoCompression:kSnappyCompression",
        "bottommost_compression=kZSTD", "blob_compression_type=kZSTD",
        "block_based_table_factory={block_size=16k}",
        "comparator=rocksdb.ReverseBytewiseComparator"}) {
    const std::string sentence = Refusal("options", own);
    EXPECT_NE(sentence.find("leave it out"), std::string::npos) << sentence;
  }
  Refusal("compaction_style", "fifo");
  options_.extra = {{"options", "compaction_style=kCompactionStyleFIFO"}};
  ErrorOf(Error::kUsage, [&] { Open(); });
  options_.extra = {{"options", "compaction_filter=RemoveEmptyValueCompactionFilter"}};
  ErrorOf(Error::kUsage, [&] { Open(); });
  EXPECT_TRUE(fs::is_empty(dir_)) << "a refusal makes nothing";
}

// Whether the manifest records the logs depends on the release, so neither value may be given
// where it is not the release's.
TEST_F(RocksdbTest, WhetherLogsAreTrackedIsNoChoice) {
  Open();
  const std::string name = "track_and_verify_wals_in_manifest", tracked = Setting(name);
  Close();
  ASSERT_TRUE(tracked == "true" || tracked == "false") << tracked;
  const std::string other = name + (tracked == "true" ? "=false" : "=true");
  EXPECT_NE(Refusal("options", other).find(": " + name + " follows from"), std::string::npos);
  options_.extra = {{"options", name + "=" + tracked}};
  Open();
  EXPECT_EQ(Setting(name), tracked);
}

// Returns whether the release recycles logs (engines/rocksdb/versions.h); the tests are linked with
// all of them.
bool RecyclesLogs() {
  const std::string version = FindEngine("rocksdb").version;
  const int first = std::stoi(version), second = std::stoi(version.substr(version.find('.') + 1));
  return first > 9 || (first == 9 && second >= 9);
}

// RocksDB would open the database, and set these to other values without an error.
TEST_F(RocksdbTest, AnOptionThatRocksdbWouldChangeIsRefused) {
  const std::string recycle = "recycle_log_file_num";
  if (RecyclesLogs()) {
    options_.extra = {{recycle, "4"}};
    Open();
    EXPECT_EQ(Setting(recycle), "4");
    Close();
    fs::remove_all(dir_);
    fs::create_directory(dir_);
  } else {
    EXPECT_NE(Refusal(recycle, "4").find("later releases have; it accepts 0"), std::string::npos);
  }
  for (const char* beside : {"wal_recovery_mode=kAbsoluteConsistency", "WAL_ttl_seconds=9"}) {
    options_.extra = {{recycle, "4"}, {"options", beside}};
    const std::string sentence = ErrorOf(Error::kUsage, [&] { Open(); });
    EXPECT_NE(sentence.find("leave one of them out"), std::string::npos) << sentence;
  }
  Refusal("level0_slowdown_trigger", "3");
  Refusal("level0_stop_trigger", "19");
  options_.durability = Durability::kNone;
  EXPECT_NE(Refusal(recycle, "4").find("--durability none"), std::string::npos);
  EXPECT_TRUE(fs::is_empty(dir_)) << "a refusal makes nothing";
  options_.extra = {{"level0_compaction_trigger", "50"}};
  Open();
  EXPECT_EQ(Setting("level0_slowdown_writes_trigger"), "50") << "nobody gave it";
}

// RocksDB tells what it has replaced only in the open database.
TEST_F(RocksdbTest, AValueOfItsOwnSyntaxThatRocksdbReplacesIsRefused) {
  for (const char* replaced :
       {"level0_slowdown_writes_trigger=-1;level0_file_num_compaction_trigger=8",
        "level0_file_num_compaction_trigger=30;level0_slowdown_writes_trigger=10",
        "level0_slowdown_writes_trigger=40;level0_stop_writes_trigger=36",
        "level0_file_num_compaction_trigger=0", "soft_pending_compaction_bytes_limit=0",
        "soft_pending_compaction_bytes_limit=300G", "num_levels=1", "max_open_files=5;ttl=0",
        "min_write_buffer_number_to_merge=5", "memtable_prefix_bloom_size_ratio=0.5",
        "compaction_style=kCompactionStyleUniversal;level_compaction_dynamic_level_bytes=true",
        "rate_limiter_bytes_per_sec=100000000;bytes_per_sync=0",
        "memtable=prefix_hash:1000;allow_concurrent_memtable_write=false",
        "block_based_table_factory={index_block_restart_interval=0}",
        "block_based_table_factory={block_restart_interval=0}",
        "block_based_table_factory.block_restart_interval=0",
        "block_based_table_factory={block_size_deviation=200}",
        "block_based_table_factory={partition_filters=true}"}) {
    SCOPED_TRACE(replaced);
    const std::string sentence = Refusal("options", replaced);
    EXPECT_NE(sentence.find("RocksDB replaces it by "), std::string::npos) << sentence;
    EXPECT_TRUE(fs::is_empty(dir_)) << "a refusal makes nothing";
  }
  options_.extra.clear();
  Open();
  session_->Put(engine_->OpenTable("t"), "k", "v");
  Close();
  Refusal("options", "level0_slowdown_writes_trigger=-1");
  options_.extra = {{"options",
                     "level0_file_num_compaction_trigger=8;level0_slowdown_writes_trigger=8;"
                     "target_file_size_base=8M;max_bytes_for_level_multiplier=8.5;"
                     "paranoid_checks=1;optimize_filters_for_hits=true"}};
  Open();
  EXPECT_EQ(Setting("level0_slowdown_writes_trigger"), "8");
  EXPECT_EQ(Setting("target_file_size_base"), std::to_string(8 << 20));
  EXPECT_EQ(Get(engine_->OpenTable("t"), "k"), "v") << "a refusal removes nothing";
}

TEST_F(RocksdbTest, AValueThatAsksRocksdbToChooseIsNotRefused) {
  const std::string own = "18446744073709551614";  // RocksDB's word for its own choice
  options_.extra = {{"options",
                     "arena_block_size=0;delayed_write_rate=0;max_compaction_bytes=0;"
                     "max_write_buffer_size_to_maintain=-1;ttl=" +
                         own + ";periodic_compaction_seconds=" + own}};
  Open();
  EXPECT_NE(Setting("arena_block_size"), "0");
  EXPECT_NE(Setting("ttl"), own);
}

// An option with a name of testbed's own goes before one of RocksDB's syntax, which RocksDB then
// has not replaced.
TEST_F(RocksdbTest, AValueThatAnotherOptionOverridesIsNotCalledReplaced) {
  options_.extra = {{"options",
                     "level0_slowdown_writes_trigger=-1;memtable_prefix_bloom_size_ratio=0.1;"
                     "block_based_table_factory={partition_filters=true}"},
                    {"level0_slowdown_trigger", "9"},
                    {"partitioned_index_filter", "on"}};
  Open();
  EXPECT_EQ(Setting("level0_slowdown_writes_trigger"), "9");
  EXPECT_EQ(Setting("partition_filters"), "true");
}

// A file that RocksDB wrote has all options: those that are RocksDB's defaults were chosen by
// nobody.
TEST_F(RocksdbTest, AValueOfAFileThatRocksdbReplacesIsRefused) {
  for (const char* name : {"level0_slowdown_writes_trigger", "index_block_restart_interval"}) {
    SCOPED_TRACE(name);
    options_.extra.clear();
    Open();
    const std::string sentence = Refusal("options_file", TakeOptionsFile({{name, "0"}}));
    EXPECT_NE(sentence.find(std::string(name) + "=0 of --engine-option options_file: RocksDB "),
              std::string::npos)
        << sentence;
    EXPECT_TRUE(fs::is_empty(dir_)) << "a refusal makes nothing";
  }
  options_.extra.clear();
  Open();
  options_.extra = {{"options_file", TakeOptionsFile({})}, {"level0_compaction_trigger", "50"}};
  Open();
  EXPECT_EQ(Setting("level0_slowdown_writes_trigger"), "50");
}

TEST_F(RocksdbTest, AValueOfAnOptionOfOurOwnThatRocksdbReplacesIsRefused) {
  options_.extra = {{"options", "rate_limiter_bytes_per_sec=100000000"}, {"bytes_per_sync", "0"}};
  const std::string sentence = ErrorOf(Error::kUsage, [&] { Open(); });
  EXPECT_NE(sentence.find("bytes_per_sync=0 of --engine-option: RocksDB replaces it by 1048576"),
            std::string::npos)
      << sentence;
  EXPECT_TRUE(fs::is_empty(dir_)) << "a refusal makes nothing";
  Refusal("write_buffer_size", "65G");
}

// Rows found through a prefix extractor are those that were put, in order, over all tables.
TEST_F(RocksdbTest, APrefixExtractorChangesNoAnswer) {
  options_.extra = {{"options", "prefix_extractor=fixed:6"}};
  Open();
  const TableId table = engine_->OpenTable("t");
  for (const char* key : {"aa1", "ab1", "b", "cc2"}) session_->Put(table, key, key);
  engine_->Settle();
  const auto cursor = session_->NewCursor(table);
  ASSERT_TRUE(cursor->Seek("aa2"));
  EXPECT_EQ(cursor->key(), "ab1");
  ASSERT_TRUE(cursor->Next());
  EXPECT_EQ(cursor->key(), "b");
  ASSERT_TRUE(cursor->SeekForPrev("ca"));
  EXPECT_EQ(cursor->key(), "b");
}

// Index and filter blocks outside of the cache reduce its size by theirs, unless the option says
// that they come on top of it.
TEST_F(RocksdbTest, IndexAndFilterAreInTheCachesFigure) {
  const auto held = [&](const char* charged) {
    Close();
    fs::remove_all(dir_);
    options_.extra = {{"index_filter_charged", charged}, {"bloom_bits", "40"}};
    Open();
    const TableId table = engine_->OpenTable("t");
    for (int i = 0; i < 50; ++i) {
      session_->Begin();
      for (int row = 0; row < 4000; ++row) session_->Put(table, RowKey(4000 * i + row), "v");
      session_->Commit();
    }
    engine_->Settle();
    const EngineCounters counters = engine_->Counters();
    uint64_t readers = 0;
    for (const auto& [name, value] : counters.now) {
      if (name == "table_reader_bytes") readers = value;
    }
    EXPECT_GT(readers, 800u << 10);
    return static_cast<double>(*counters.cache_bytes) / static_cast<double>(readers);
  };
  EXPECT_GT(held("on"), 0.8);
  EXPECT_LT(held("off"), 0.8);
}

// RocksDB asks the file system to read ahead, which leaves that to the kernel. Where it takes the
// file system for one that cannot, it reads many blocks at once into a buffer of its own.
TEST_F(RocksdbTest, AScanOfBufferedFilesReadsEachBlockByItself) {
  Open();
  Load(engine_->OpenTable("t"), 20000);
  engine_->Settle();
  Open();
  const TableId table = engine_->OpenTable("t");
  const OpKind scan = DefineOp("rocksdb-scan", Ground::kForeground);
  uint64_t requests = 0, before = 0, misses = 0;
  session_->BlockCounts(&requests, &before);
  const LedgerCounts counts = Ledger::Get().Counts();
  int rows = 0;
  {
    IoScope scope(scan);
    const auto cursor = session_->NewCursor(table);
    for (bool on = cursor->First(); on; on = cursor->Next()) ++rows;
  }
  session_->BlockCounts(&requests, &misses);
  const LedgerCounts delta = Ledger::Get().Counts() - counts;
  EXPECT_EQ(rows, 20000);
  EXPECT_GT(misses - before, 400u);
  EXPECT_GE(delta.ops[scan.id].file[static_cast<size_t>(FileKind::kData)].reads, misses - before);
}

// A flush replaces RocksDB's iterator, and frees the bytes of the row on which the cursor stands.
TEST_F(RocksdbTest, SeeksAndWritesTakeTheRowOfACursor) {
  Open();
  const TableId table = engine_->OpenTable("t");
  const std::string key(60, 'k');  // longer than the iterator's own buffer
  const std::string value = RowValue(1, 5000);
  session_->Put(table, key, value);
  const auto cursor = session_->NewCursor(table);
  const auto other = engine_->NewSession();
  for (int round = 0; round < 4; ++round) {
    ASSERT_TRUE(cursor->Seek("b"));
    other->Put(table, "a" + std::to_string(round), "another row");
    engine_->Flush();
    const bool on =
        round % 2 == 0 ? cursor->Seek(cursor->key()) : cursor->SeekForPrev(cursor->key());
    ASSERT_TRUE(on);
    EXPECT_EQ(cursor->key(), key);
  }
  session_->Begin();
  session_->Put(table, cursor->key(), cursor->value());
  ASSERT_TRUE(cursor->Seek("b"));
  EXPECT_EQ(cursor->value(), value);
  session_->Erase(table, cursor->key());
  EXPECT_FALSE(cursor->Seek("b"));
  session_->Rollback();
  EXPECT_EQ(Get(table, key), value);
}

// Universal compaction may report a pending compaction although no runs can be merged. The engine
// must then count as at rest.
TEST_F(RocksdbTest, ComesToRestThoughACompactionStaysPending) {
  options_.extra = {{"compaction_style", "universal"}, {"write_buffer_size", "256k"}};
  Open();
  const TableId table = engine_->OpenTable("t");
  for (int i = 0; i < 20000; ++i) {
    session_->Begin();
    const int row = static_cast<int>(i * 7919LL % 20000);  // each row once, in another order
    session_->Put(table, RowKey(row), RowValue(row, 400));
    session_->Commit();
    if (i % 2000 == 1999) engine_->Settle();
  }
  EXPECT_EQ(Get(table, RowKey(19999)), RowValue(19999, 400));
}

}  // namespace
}  // namespace testbed

#endif  // TESTBED_HAVE_ROCKSDB
