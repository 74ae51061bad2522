// Tests what only the engine innodb promises, whose library allows one server in a process.
#ifdef TESTBED_HAVE_INNODB
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "device/error.h"
#include "engines/innodb/settings.h"
#include "engines/registry.h"
#include "engines/sql/mariadb_settings.h"
#include "tests/engine/checkpoint_while_writing.h"
#include "tests/engine/engine_test.h"
#include "tests/engine/setting_in_force.h"

namespace testbed {
namespace {

class InnodbTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string missing = FindEngine("innodb").missing();
    if (!missing.empty()) GTEST_SKIP() << missing;
    std::string pattern = std::filesystem::current_path() / "innodb_test_XXXXXX";
    dir_ = mkdtemp(pattern.data());
    options_ = DefaultEngineOptions(FindEngine("innodb"));
    options_.cache_bytes = 16 << 20;
  }
  ~InnodbTest() override {
    std::error_code ignored;
    if (!dir_.empty()) std::filesystem::remove_all(dir_, ignored);
  }
  std::unique_ptr<Engine> Open(const std::string& name = "db") {
    return OpenEngine("innodb", dir_ + "/" + name, options_);
  }

  std::string dir_;
  EngineOptions options_;
};

TEST_F(InnodbTest, ServersOneAfterTheOtherAndSideBySide) {
  for (int i = 0; i < 3; ++i) {
    std::unique_ptr<Engine> a = Open("a"), b = Open("b");
    const TableId in_a = a->OpenTable("t"), in_b = b->OpenTable("t");
    std::unique_ptr<Session> to_a = a->NewSession(), to_b = b->NewSession();
    to_a->Put(in_a, "who", "a" + std::to_string(i));
    to_b->Put(in_b, "who", "b" + std::to_string(i));
    std::string_view value;
    ASSERT_TRUE(to_a->Get(in_a, "who", &value));
    EXPECT_EQ(value, "a" + std::to_string(i));
    ASSERT_TRUE(to_b->Get(in_b, "who", &value));
    EXPECT_EQ(value, "b" + std::to_string(i));
  }
}

TEST_F(InnodbTest, LeavesTheProcessAsItWas) {
  const mode_t before = ::umask(027);
  std::unique_ptr<Engine> engine = Open();
  EXPECT_EQ(::umask(027), 027u);
  engine.reset();
  EXPECT_EQ(::umask(before), 027u);
  struct sigaction pipe {};
  ::sigaction(SIGPIPE, nullptr, &pipe);
  EXPECT_EQ(pipe.sa_handler, SIG_DFL);
}

// When two servers started at once, the later one would put back what the other had changed. The
// process would keep a stderr that takes the messages of a server which starts.
TEST_F(InnodbTest, ServersThatStartAndEndAtOnceLeaveTheProcessAsItWas) {
  const mode_t before = ::umask(027);
  struct stat own {};
  struct stat left {};
  ASSERT_EQ(::fstat(STDERR_FILENO, &own), 0);
  std::vector<std::thread> threads;
  for (const char* name : {"a", "b", "c"}) {
    threads.emplace_back([this, name] { EXPECT_NO_THROW(Open(name)); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(::umask(before), 027u);
  ASSERT_EQ(::fstat(STDERR_FILENO, &left), 0);
  EXPECT_EQ(left.st_dev, own.st_dev);
  EXPECT_EQ(left.st_ino, own.st_ino);
  struct sigaction pipe {};
  ::sigaction(SIGPIPE, nullptr, &pipe);
  EXPECT_EQ(pipe.sa_handler, SIG_DFL);
}

// A thread that ends after the engine was closed must not call the library.
TEST_F(InnodbTest, AThreadMayOutliveTheEngine) {
  std::unique_ptr<Engine> engine = Open();
  const TableId table = engine->OpenTable("t");
  std::thread([&] {
    std::unique_ptr<Session> session = engine->NewSession();
    session->Put(table, "k", "v");
    session.reset();
    engine.reset();
  }).join();
  engine = Open();
  std::string_view value;
  EXPECT_TRUE(engine->NewSession()->Get(engine->OpenTable("t"), "k", &value));
}

// A static engine is closed after the thread_local objects of the main thread are destroyed. Here
// those of a thread are, because the object that has the engine was made before them.
TEST_F(InnodbTest, IsClosedByTheLastObjectOfAThread) {
  std::thread([this] {
    thread_local std::unique_ptr<Engine> last;
    last = Open();
    last->NewSession()->Put(last->OpenTable("t"), "k", "v");
  }).join();
  const std::unique_ptr<Engine> engine = Open();
  std::string_view value;
  EXPECT_TRUE(engine->NewSession()->Get(engine->OpenTable("t"), "k", &value));
}

// A HANDLER ignores those bytes of a key that the column has no room for.
TEST_F(InnodbTest, AKeyThatIsTooLongIsNotTakenForItsFirstBytes) {
  const std::unique_ptr<Engine> engine = Open();
  const TableId table = engine->OpenTable("t");
  const TableId index = engine->OpenIndex("i", table, {{0, 1}});
  const std::unique_ptr<Session> session = engine->NewSession();
  const std::string longest(mariadb::kMaxKeySize, 'k');
  session->Put(table, longest, "v");
  session->Put(table, "l", "v");
  for (const auto& [in, before] : {std::pair(table, ""), std::pair(index, "v")}) {
    const std::string too_long = before + longest + "k";
    std::string_view value;
    EXPECT_TRUE(session->Get(in, before + longest, &value));
    EXPECT_FALSE(session->Get(in, too_long, &value));
    const std::unique_ptr<Cursor> cursor = session->NewCursor(in);
    ASSERT_TRUE(cursor->Seek(too_long));
    EXPECT_EQ(cursor->key(), before + std::string("l"));
    ASSERT_TRUE(cursor->SeekForPrev(too_long));
    EXPECT_EQ(cursor->key(), before + longest);
  }
}

// An index has a column, whose name the server compares without regard to upper and lower case.
TEST_F(InnodbTest, AnIndexIsNotTakenForAnotherColumn) {
  const std::unique_ptr<Engine> engine = Open();
  const TableId table = engine->OpenTable("t");
  const TableId index = engine->OpenIndex("it's", table, {{0, 1}});
  for (const std::string name : {"K", "v", "IT'S"}) {
    const std::string sentence =
        ErrorOf(Error::kUsage, [&] { engine->OpenIndex(name, table, {{1, 1}}); });
    EXPECT_NE(sentence.find("'" + name + "'"), std::string::npos) << sentence;
  }
  const std::unique_ptr<Session> session = engine->NewSession();
  session->Put(table, "row", "bc");
  const std::unique_ptr<Cursor> cursor = session->NewCursor(index);
  ASSERT_TRUE(cursor->First());
  EXPECT_EQ(cursor->key(), "brow");
}

TEST_F(InnodbTest, AnIndexIsNotGivenTheNameOfATableOrOfAnothersIndex) {
  const std::unique_ptr<Engine> engine = Open();
  const TableId table = engine->OpenTable("t"), other = engine->OpenTable("u");
  const TableId index = engine->OpenIndex("i", table, {{0, 1}});
  EXPECT_EQ(engine->OpenIndex("i", table, {{0, 1}}), index);
  for (const std::string name : {"i", "t"}) {
    const std::string sentence =
        ErrorOf(Error::kUsage, [&] { engine->OpenIndex(name, other, {{0, 1}}); });
    EXPECT_NE(sentence.find("'" + name + "'"), std::string::npos) << sentence;
  }
}

TEST_F(InnodbTest, SettingsAreInForce) {
  options_.io = IoMode::kDirect;
  options_.page_size = 16384;
  options_.durability = Durability::kSync;
  options_.extra = {{"doublewrite", "off"},
                    {"change_buffering", "all"},
                    {"access", "sql"},
                    {"log_file_size", "32M"}};
  std::unique_ptr<Engine> engine = Open();
  EXPECT_EQ(SettingInForce(*engine, "innodb_page_size"), "16384");
  EXPECT_EQ(SettingInForce(*engine, "innodb_flush_method"), "O_DIRECT");
  EXPECT_EQ(SettingInForce(*engine, "innodb_buffer_pool_size"), std::to_string(16 << 20));
  EXPECT_EQ(SettingInForce(*engine, "innodb_flush_log_at_trx_commit"), "1");
  EXPECT_EQ(SettingInForce(*engine, "innodb_doublewrite"), "OFF");
  EXPECT_EQ(SettingInForce(*engine, "innodb_log_file_size"), std::to_string(32 << 20));
  EXPECT_EQ(SettingInForce(*engine, "innodb_read_ahead_threshold"), "0");
  EXPECT_EQ(SettingInForce(*engine, "access"), "sql");
  // MariaDB 11 has no change buffer any more.
  const std::string buffering = SettingInForce(*engine, "innodb_change_buffering");
  EXPECT_TRUE(buffering == "all" || buffering == "not a variable of this server") << buffering;
}

TEST_F(InnodbTest, AChangeBufferThatAReleaseLacksIsNotPassedOverInSilence) {
  const auto told = [this](const std::string& buffering) {
    options_.extra = {{"change_buffering", buffering}};
    const auto given = innodb::GivenArguments(innodb::MakeSettings(options_));
    std::string value = "(none)";
    for (const auto& [name, of_name] : mariadb::ToldVariables({}, "innodb_", {}, given)) {
      if (name == "innodb_change_buffering") value = of_name;
    }
    return value;
  };
  EXPECT_EQ(told("all"), "not a variable of this server");
  EXPECT_EQ(told("none"), "(none)");
}

// The server takes other names than an option's own, and other values than those given, in silence.
TEST_F(InnodbTest, AnOptionOfTheServerIsInForceOrRefused) {
  options_.extra = {
      {"server_option", "loose_innodb_adaptive_flushing=0;loose_innodb_typo_option=7"}};
  {
    const std::unique_ptr<Engine> engine = Open();
    EXPECT_EQ(SettingInForce(*engine, "innodb_adaptive_flushing"), "OFF");
    EXPECT_EQ(SettingInForce(*engine, "innodb_typo_option"), "not a variable of this server");
    EXPECT_NE(SettingInForce(*engine, "innodb_spin_wait_delay"), "(none)") << "nobody named it";
  }
  for (const std::string option : {"innodb_spin_wait=8", "skip-innodb-adaptive-flushing=1",
                                   "innodb_purge_threads=99", "innodb_io_capacity_max=100"}) {
    options_.extra = {{"server_option", option}};
    EXPECT_NE(ErrorOf(Error::kUsage, [&] { Open("new"); }).find("server_option"), std::string::npos)
        << option;
    EXPECT_FALSE(std::filesystem::exists(dir_ + "/new/ibdata1")) << "a refusal makes nothing";
  }
}

// Returns the files without a name that this process has open in the directory. A server begins
// with some.
int TemporaryFilesIn(const std::string& directory) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;  // the directory's own descriptor is gone when it is looked at
    const std::string target = std::filesystem::read_symlink(entry.path(), error);
    files += target.starts_with(directory + "/") && target.ends_with("(deleted)");
  }
  return files;
}

// By itself the server makes them in the directory that TMPDIR names.
TEST_F(InnodbTest, TemporaryFilesAreInTheDatabasesDirectory) {
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before != nullptr ? before : "";
  ::setenv("TMPDIR", dir_.c_str(), 1);
  for (const std::string name : {"db", "at 12:30"}) {
    const std::unique_ptr<Engine> engine = Open(name);
    EXPECT_GT(TemporaryFilesIn(dir_ + "/" + name + "/tmp"), 0);
    EXPECT_EQ(TemporaryFilesIn(dir_), TemporaryFilesIn(dir_ + "/" + name + "/tmp"));
  }
  before != nullptr ? ::setenv("TMPDIR", kept.c_str(), 1) : ::unsetenv("TMPDIR");
  for (const std::string name : {"tmpdir", "innodb_tmpdir", "innodb_temp_data_file_path"}) {
    options_.extra = {{"server_option", name + "=" + dir_ + "/elsewhere"}};
    const std::string sentence = ErrorOf(Error::kUsage, [&] { Open(); });
    EXPECT_NE(sentence.find(name), std::string::npos) << sentence;
  }
}

// The server takes no colon in a path, so it gets this temporary directory by an open descriptor.
TEST_F(InnodbTest, AServerThatDoesNotStartLeavesItsTemporaryDirectoryClosed) {
  options_.extra = {{"server_option", "innodb_typo_option=7"}};
  ErrorOf(Error::kUsage, [&] { Open("at 12:30"); });
  const std::string temporary = dir_ + "/at 12:30/tmp";
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    const std::string target = std::filesystem::read_symlink(entry.path(), error);
    EXPECT_TRUE(target != temporary && target != temporary + " (deleted)") << target;
  }
}

// From 11.0 on these say how files are written, as innodb_flush_method did; --io decides that.
TEST_F(InnodbTest, TheIoModeIsNoOptionOfTheServer) {
  for (const std::string name : {"innodb_data_file_buffering", "innodb_data_file_write_through",
                                 "innodb_log_file_buffering", "innodb_log_file_write_through"}) {
    options_.extra = {{"server_option", name + "=ON"}};
    const std::string sentence = ErrorOf(Error::kUsage, [&] { Open(); });
    EXPECT_NE(sentence.find("the run's own options"), std::string::npos) << sentence;
  }
}

// --fresh knows no file of it, and commits would not be synced to it.
TEST_F(InnodbTest, ABinaryLogIsNoOptionOfTheServer) {
  for (const std::string name : {"log_bin", "log_bin_index", "log_basename", "sync_binlog"}) {
    options_.extra = {{"server_option", name + "=1"}};
    const std::string sentence = ErrorOf(Error::kUsage, [&] { Open(); });
    EXPECT_NE(sentence.find("the run's own options"), std::string::npos) << sentence;
  }
}

// What the server does with statements outside of a transaction is a setting of it, with which its
// sessions begin.
TEST_F(InnodbTest, WritesAreCommittedWhateverTheServersSessionsBeginWith) {
  options_.extra = {{"server_option", "autocommit=0;completion_type=CHAIN"}};
  {
    const std::unique_ptr<Engine> engine = Open();
    const TableId table = engine->OpenTable("t");
    const std::unique_ptr<Session> session = engine->NewSession();
    session->Put(table, "a", "1");
    session->Begin();
    session->Put(table, "b", "2");
    session->Commit();
    session->Put(table, "c", "3");
  }
  const std::unique_ptr<Engine> engine = Open();
  const TableId table = engine->OpenTable("t");
  const std::unique_ptr<Session> session = engine->NewSession();
  for (const std::string key : {"a", "b", "c"}) {
    std::string_view value;
    EXPECT_TRUE(session->Get(table, key, &value)) << key;
  }
}

// The database keeps its key_block_size. A later opening need not give it, and a wrong value is
// refused, because counts of bytes depend on it.
TEST_F(InnodbTest, ADatabaseKeepsItsKeyBlockSize) {
  options_.page_size = 16384;
  options_.extra = {{"key_block_size", "8k"}};
  { Open()->OpenTable("t"); }
  options_.extra = {};
  {
    const std::unique_ptr<Engine> engine = Open();
    EXPECT_EQ(SettingInForce(*engine, "key_block_size"), "8192");
    engine->OpenTable("u");
  }
  for (const char* wrong : {"4k", "16k"}) {
    options_.extra = {{"key_block_size", wrong}};
    EXPECT_THROW(Open(), Error) << wrong;
  }
  options_.extra = {{"key_block_size", "8k"}};
  EXPECT_EQ(SettingInForce(*Open(), "key_block_size"), "8192");
  // A database that was created without it must refuse it later.
  options_.extra = {};
  { Open("plain")->OpenTable("t"); }
  options_.extra = {{"key_block_size", "8k"}};
  EXPECT_THROW(Open("plain"), Error);
}

TEST_F(InnodbTest, PagesAndTheirCopiesAreAllThatItWrites) {
  for (const char* compression : {"none", "zlib"}) {
    SCOPED_TRACE(compression);
    options_.io = IoMode::kDirect;
    options_.page_size = 16384;
    options_.compression = compression;
    std::unique_ptr<Engine> engine = Open(compression);
    const auto written = [&engine](uint64_t* copies, uint64_t* both) {
      const EngineCounters counters = engine->Counters();
      for (const auto& [name, value] : counters.more) {
        if (name == "doublewrite_bytes") *copies = value;
        if (name == "data_written") *both = value;
      }
      return *counters.block_write_bytes;
    };
    uint64_t copies_before = 0, both_before = 0, copies = 0, both = 0;
    const uint64_t before = written(&copies_before, &both_before);
    const TableId table = engine->OpenTable("t");
    std::unique_ptr<Session> session = engine->NewSession();
    for (int round = 0; round < 3; ++round) {
      session->Begin();
      for (int i = 0; i < 1250; ++i) {
        session->Put(table, "key" + std::to_string(i),
                     std::string(1200, static_cast<char>('a' + round)));
      }
      session->Commit();
      engine->Settle();
    }
    const uint64_t pages = written(&copies, &both) - before;
    copies -= copies_before;
    EXPECT_GT(copies, 1u << 20);
    EXPECT_EQ(pages + copies, both - both_before);
    if (options_.compression == "zlib") {
      EXPECT_LT(pages, copies) << "a copy is whole, however short its page is";
    }
  }
}

TEST_F(InnodbTest, TheDirectorysOwnNameMakesNoFileALog) {
  const std::unique_ptr<Engine> engine = Open("ib_logfile");
  const DiskSize size = engine->SizeOnDisk();
  EXPECT_GT(size.data_bytes, 0u);
  EXPECT_GT(size.log_bytes, 0u);
}

TEST_F(InnodbTest, ACacheThatIsTooSmallIsRefusedByName) {
  options_.page_size = 16384;
  options_.cache_bytes = 4 << 20;
  const std::string sentence = ErrorOf(Error::kUsage, [&] { Open(); });
  EXPECT_NE(sentence.find("--cache-pct"), std::string::npos) << sentence;
  EXPECT_FALSE(std::filesystem::exists(dir_ + "/db"));
}

// A session that opens a table's HANDLER and the making of an index wait for each other's locks,
// unless one gives way. The making of an index also looks at which tables a session knows, while
// the session's first write to a table adds to them.
TEST_F(InnodbTest, TablesAreUsedForTheFirstTimeWhileTheyGetIndexes) {
  const std::unique_ptr<Engine> engine = Open();
  constexpr int kTables = 12, kReaders = 4;
  std::vector<TableId> tables;
  for (int i = 0; i < kTables; ++i) {
    tables.push_back(engine->OpenTable("t" + std::to_string(i)));
    engine->NewSession()->Put(tables.back(), "key", "value");
  }
  std::atomic<int> at{0};  // the table that gets an index
  std::atomic<uint64_t> found{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < kReaders; ++i) {
    readers.emplace_back([&] {
      while (at.load() < kTables) {
        const std::unique_ptr<Session> session = engine->NewSession();
        std::string_view value;
        for (int table = at.load(); table < kTables; ++table) {
          session->Erase(tables[table], "no such key");
          found.fetch_add(session->Get(tables[table], "key", &value) && value == "value");
        }
      }
    });
  }
  for (; at.load() < kTables; at.fetch_add(1)) {
    engine->OpenIndex("i" + std::to_string(at.load()), tables[at.load()], {{0, 3}});
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_GT(found.load(), 0u);
}

// InnoDB's own statement for a checkpoint waits until no session has written meanwhile.
TEST_F(InnodbTest, ACheckpointEndsWhileSessionsWrite) {
  options_.extra = {{"server_option", "innodb_max_dirty_pages_pct=70"}};
  const std::unique_ptr<Engine> engine = Open();
  CheckpointWhileSessionsWrite(engine.get(), engine->OpenTable("t"));
  EXPECT_EQ(SettingInForce(*engine, "innodb_max_dirty_pages_pct"), "70.000000");
}

// Two sessions that take two rows in opposite order: one is rolled back by InnoDB, and both end.
TEST_F(InnodbTest, DeadlocksAreTriedAgain) {
  std::unique_ptr<Engine> engine = Open();
  const TableId table = engine->OpenTable("t");
  constexpr int kRounds = 300;
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      std::unique_ptr<Session> session = engine->NewSession();
      for (int i = 0; i < kRounds; ++i) {
        const std::string value = std::to_string(t) + "." + std::to_string(i);
        session->Begin();
        session->Put(table, t == 0 ? "a" : "b", value);
        session->Put(table, t == 0 ? "b" : "a", value);
        session->Commit();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::unique_ptr<Session> session = engine->NewSession();
  std::string_view value;
  ASSERT_TRUE(session->Get(table, "a", &value));
  const std::string a(value);
  ASSERT_TRUE(session->Get(table, "b", &value));
  EXPECT_EQ(a, value) << "the last transaction wrote both";
}

}  // namespace
}  // namespace testbed
#endif
