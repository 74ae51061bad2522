// Tests what is special to SQLite: a single writer at a time, one bound for the caches of all
// connections, the exclusion of other programs, names of tables, changes of the journal mode, and
// what a cursor keeps back. The conformance suite tests its behaviour as an engine.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "device/account/ledger.h"
#include "device/error.h"
#include "engines/registry.h"
#include "tests/contents.h"
#include "tests/engine/engine_test.h"
#include "tests/engine/setting_in_force.h"

#ifdef TESTBED_HAVE_SQLITE
#include <sqlite3.h>

#include "device/file/file_faults.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

class SqliteTest : public testing::Test {
 protected:
  SqliteTest() : options_(DefaultEngineOptions(FindEngine("sqlite"))) {
    std::string pattern = fs::current_path() / "sqlite_test_XXXXXX";
    dir_ = mkdtemp(pattern.data());
    options_.durability = Durability::kNone;
    options_.cache_bytes = 16 << 20;
  }
  ~SqliteTest() override {
    Close();
    std::error_code ignored;
    fs::remove_all(dir_, ignored);
  }
  void Open() {
    Close();
    engine_ = OpenEngine("sqlite", dir_, options_);
    table_ = engine_->OpenTable("t");
    session_ = engine_->NewSession();
  }
  void Close() {
    session_.reset();
    engine_.reset();
  }
  void Put(uint64_t row, size_t size) { session_->Put(table_, RowKey(row), RowValue(row, size)); }
  void Load(uint64_t rows, size_t size) {
    session_->Begin();
    for (uint64_t row = 0; row < rows; ++row) Put(row, size);
    session_->Commit();
  }
  std::string GetBy(Session* session, uint64_t row) {
    std::string_view value;
    return session->Get(table_, RowKey(row), &value) ? std::string(value) : "(absent)";
  }
  std::string Setting(const std::string& name) const { return SettingInForce(*engine_, name); }
  std::string database() const { return dir_ + "/data.sqlite"; }
  uint64_t wal_bytes() const {
    std::error_code gone;
    const uintmax_t size = fs::file_size(database() + "-wal", gone);
    return gone ? 0 : size;
  }

  std::string dir_;
  EngineOptions options_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Session> session_;
  TableId table_ = 0;
};

// Runs SQL through SQLite's own VFS. Returns its code.
int RunSql(const std::string& path, const char* sql) {
  sqlite3* db = nullptr;
  int code = ::sqlite3_open(path.c_str(), &db);
  if (code == SQLITE_OK) code = ::sqlite3_exec(db, sql, nullptr, nullptr, nullptr);
  ::sqlite3_close(db);
  return code;
}

TEST_F(SqliteTest, OtherProgramsAreKeptOutWhileItIsOpenAndReadItAfterwards) {
  Open();
  Load(100, 50);
  EXPECT_EQ(RunSql(database(), "SELECT count(*) FROM t"), SQLITE_BUSY);
  EXPECT_EQ(RunSql(database(), "DELETE FROM t"), SQLITE_BUSY);
  EXPECT_EQ(GetBy(session_.get(), 99), RowValue(99, 50));
  Close();
  EXPECT_FALSE(fs::exists(database() + "-wal"));
  EXPECT_EQ(RunSql(database(), "PRAGMA integrity_check; UPDATE t SET v=x'31'"), SQLITE_OK);
  Open();
  EXPECT_EQ(GetBy(session_.get(), 99), "1");
}

// A program may share connections of its own among threads, as SQLite's default lets it.
TEST_F(SqliteTest, ConnectionsOfTheProgramKeepTheirMutex) {
  Open();
  sqlite3* own = nullptr;
  ASSERT_EQ(::sqlite3_open(":memory:", &own), SQLITE_OK);
  if (::sqlite3_threadsafe() == 1) {
    EXPECT_NE(::sqlite3_db_mutex(own), nullptr);
  }
  ::sqlite3_close(own);
}

// Only an opening that may create a database may make one from an empty file.
TEST_F(SqliteTest, AnEmptyFileIsNoDatabaseThatIsThere) {
  for (const char* journal : {"wal", "delete"}) {
    SCOPED_TRACE(journal);
    options_.extra = {{"journal", journal}};
    options_.create = true;
    engine_ = OpenEngine("sqlite", dir_, options_);
    Close();
    EXPECT_GT(fs::file_size(database()), 0u);  // a database without tables
    options_.create = false;
    Open();
    Close();
    fs::resize_file(database(), 0);
    const std::string sentence = ErrorOf(Error::kCorruption, [&] { Open(); });
    EXPECT_NE(sentence.find(database() + " is empty"), std::string::npos) << sentence;
    EXPECT_EQ(fs::file_size(database()), 0u);
    EXPECT_EQ(std::distance(fs::directory_iterator(dir_), {}), 1);
  }
}

TEST_F(SqliteTest, ADatabaseThatAnotherProgramHasOpenIsRefused) {
  Open();
  Put(1, 10);
  Close();
  // SQLite's own VFS locks these bytes to read. (A lock of the open file, because this process
  // would lose another kind of lock by any of its descriptors that is closed.)
  const int fd = ::open(database().c_str(), O_RDWR | O_CLOEXEC);
  struct flock shared = {};
  shared.l_type = F_RDLCK;
  shared.l_start = 0x40000002;
  shared.l_len = 510;
  ASSERT_EQ(::fcntl(fd, F_OFD_SETLK, &shared), 0);
  const std::string sentence = ErrorOf(Error::kUsage, [&] { Open(); });
  EXPECT_NE(sentence.find(dir_), std::string::npos) << sentence;
  ::close(fd);
  Open();
  EXPECT_EQ(GetBy(session_.get(), 1), RowValue(1, 10));
}

// SQLite itself would take an empty file for a new database, and remove the log that has the rows.
TEST_F(SqliteTest, AnEmptyFileBesideALogIsNotNew) {
  Open();
  Load(100, 50);
  ASSERT_GT(wal_bytes(), 0u);
  const std::string killed = dir_ + "/killed";
  fs::create_directory(killed);
  for (const char* name : {"/data.sqlite", "/data.sqlite-wal"}) {
    fs::copy_file(dir_ + name, killed + name);
  }
  Close();
  const uint64_t bytes = fs::file_size(killed + "/data.sqlite");
  fs::copy_file(killed + "/data.sqlite", dir_ + "/whole");
  fs::resize_file(killed + "/data.sqlite", 0);
  ErrorOf(Error::kCorruption, [&] { OpenEngine("sqlite", killed, options_); });
  ASSERT_TRUE(fs::exists(killed + "/data.sqlite-wal"));
  fs::copy_file(dir_ + "/whole", killed + "/data.sqlite", fs::copy_options::overwrite_existing);
  ASSERT_EQ(fs::file_size(killed + "/data.sqlite"), bytes);
  engine_ = OpenEngine("sqlite", killed, options_);
  table_ = engine_->OpenTable("t");
  session_ = engine_->NewSession();
  EXPECT_EQ(GetBy(session_.get(), 99), RowValue(99, 50));
}

// A link that leads to itself cannot be examined.
TEST_F(SqliteTest, AJournalThatCannotBeExaminedIsNotAbsent) {
  Open();
  Load(10, 50);
  Close();
  fs::create_symlink("data.sqlite-journal", database() + "-journal");
  ErrorOf(Error::kIo, [&] { Open(); });
  fs::remove(database() + "-journal");
  Open();
  EXPECT_EQ(GetBy(session_.get(), 9), RowValue(9, 50));
}

TEST_F(SqliteTest, AFileThatIsNoDatabaseIsLeftAsItIs) {
  const std::string text(20000, 'x');
  std::ofstream(database()) << text;
  EXPECT_NE(ErrorOf(Error::kCorruption, [&] { Open(); }).find(database()), std::string::npos);
  EXPECT_EQ(ContentOf(database()), text);
}

TEST_F(SqliteTest, NamesOfTablesAreAnyBytesButZero) {
  Open();
  const std::vector<std::string> names = {
      "a", "A", "sqlite_x", "select", "\"", "a b", "%41", "\xff\xfe", "%%", std::string(300, 'n')};
  for (int pass = 0; pass < 2; ++pass) {
    for (const std::string& name : names) {
      const TableId table = engine_->OpenTable(name);
      std::string_view value;
      if (pass == 0) session_->Put(table, "k", name);
      ASSERT_TRUE(session_->Get(table, "k", &value)) << name;
      EXPECT_EQ(value, name);
    }
    Open();
  }
  ErrorOf(Error::kUsage, [&] { engine_->OpenTable(""); });
  ErrorOf(Error::kUsage, [&] { engine_->OpenTable(std::string("a\0b", 3)); });
}

TEST_F(SqliteTest, TheJournalCanBeAnotherWithEachOpening) {
  uint64_t rows = 0;
  for (const char* journal : {"wal", "delete", "wal", "truncate", "persist", "wal"}) {
    options_.extra["journal"] = journal;
    Open();
    EXPECT_EQ(Setting("journal_mode"), journal);
    EXPECT_EQ(Setting("checkpoint_log_bytes").starts_with("no effect: "),
              std::string(journal) != "wal");
    for (uint64_t row = 0; row < rows; ++row) {
      ASSERT_EQ(GetBy(session_.get(), row), RowValue(row, 100)) << journal;
    }
    for (int i = 0; i < 20; ++i) Put(rows++, 100);
  }
}

// Rows of a quarter of a page, in random order: without a rowid, the upper levels of the tree hold
// rows, too.
TEST_F(SqliteTest, ATableWithARowidTakesLessSpaceForLongRows) {
  options_.page_size = 4096;
  uint64_t bytes[2] = {};
  for (const bool rowid : {false, true}) {
    Close();
    fs::remove_all(dir_);
    fs::create_directory(dir_);
    options_.extra["table"] = rowid ? "rowid" : "without-rowid";
    Open();
    session_->Begin();
    for (uint64_t i = 0; i < 2000; ++i) Put(i * 7919 % 2000, 1000);
    session_->Commit();
    for (uint64_t row = 0; row < 2000; row += 3) {
      session_->Put(table_, RowKey(row), RowValue(row + 1, 1000));
    }
    engine_->Settle();
    bytes[rowid] = engine_->SizeOnDisk().total();
    const std::unique_ptr<Cursor> cursor = session_->NewCursor(table_);
    uint64_t rows = 0;
    for (bool on = cursor->First(); on; on = cursor->Next(), ++rows) {
      ASSERT_EQ(cursor->key(), RowKey(rows));
      ASSERT_EQ(cursor->value(), RowValue(rows % 3 == 0 ? rows + 1 : rows, 1000));
    }
    EXPECT_EQ(rows, 2000u);
  }
  EXPECT_LT(bytes[1] * 10, bytes[0] * 8);
}

TEST_F(SqliteTest, ADatabaseKeepsTheLayoutOfItsTables) {
  const std::string layouts[] = {"rowid", "without-rowid"};
  for (const std::string& layout : layouts) {
    Close();
    fs::remove_all(dir_);
    fs::create_directory(dir_);
    options_.extra["table"] = layout;
    Open();
    EXPECT_EQ(Setting("table"), layout);
    Load(10, 100);
    options_.extra.erase("table");
    Open();
    EXPECT_EQ(Setting("table"), layout);
    EXPECT_EQ(GetBy(session_.get(), 9), RowValue(9, 100));
    options_.extra["table"] = layouts[layout == layouts[0]];
    const std::string sentence = ErrorOf(Error::kUsage, [&] { Open(); });
    EXPECT_NE(sentence.find("was made with table=" + layout), std::string::npos) << sentence;
  }
}

TEST_F(SqliteTest, PageCacheAnswersReadsOfTheLogWithDirectIoToo) {
  const EngineInfo& sqlite = FindEngine("sqlite");
  for (const char* journal : {"wal", "delete"}) {
    options_.extra["journal"] = journal;
    options_.io = IoMode::kDirect;
    EXPECT_EQ(ReadsPageCache(sqlite, options_), std::string(journal) == "wal") << journal;
    options_.io = IoMode::kBuffered;
    EXPECT_TRUE(ReadsPageCache(sqlite, options_)) << journal;
  }
  options_.io = IoMode::kDirect;
  EXPECT_FALSE(ReadsPageCache(FindEngine("btree"), options_));
}

TEST_F(SqliteTest, AThreadThatWritesInTwoTransactionsIsToldSo) {
  Open();
  Put(1, 10);
  const auto other = engine_->NewSession();
  session_->Begin();
  Put(2, 10);
  ErrorOf(Error::kRun, [&] { other->Put(table_, RowKey(3), "x"); });
  ErrorOf(Error::kRun, [&] { engine_->OpenTable("new"); });
  EXPECT_EQ(GetBy(other.get(), 1), RowValue(1, 10));
  EXPECT_EQ(GetBy(other.get(), 2), "(absent)");
  session_->Commit();
  other->Put(table_, RowKey(3), "x");
  EXPECT_EQ(GetBy(session_.get(), 3), "x");
}

// The turn to write is the session's, which one thread may use after another.
TEST_F(SqliteTest, AThreadThatHandedItsTransactionOverWaitsForItsTurn) {
  Open();
  const auto other = engine_->NewSession();
  session_->Begin();
  Put(1, 10);
  std::promise<void> handed_over;
  std::thread committer([&] {
    Put(2, 10);
    handed_over.set_value();
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    session_->Commit();
  });
  handed_over.get_future().wait();
  EXPECT_NO_THROW(other->Put(table_, RowKey(2), "later"));
  committer.join();
  EXPECT_EQ(GetBy(other.get(), 1), RowValue(1, 10));
  EXPECT_EQ(GetBy(other.get(), 2), "later");
}

TEST_F(SqliteTest, AThreadThatTookATransactionOverDoesNotWaitForItself) {
  Open();
  const auto other = engine_->NewSession();
  session_->Begin();
  Put(1, 10);
  std::thread([&] {
    EXPECT_EQ(GetBy(session_.get(), 1), RowValue(1, 10));
    ErrorOf(Error::kRun, [&] { other->Put(table_, RowKey(2), "x"); });
    session_->Commit();
    other->Put(table_, RowKey(2), "x");
  }).join();
  EXPECT_EQ(GetBy(session_.get(), 2), "x");
}

// Each of many writers gets its turn while the others never stop.
TEST_F(SqliteTest, NoWriterStarves) {
  Open();
  std::atomic<bool> stop{false};
  std::atomic<int> arrived{0};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      const auto session = engine_->NewSession();
      for (int i = 0; !stop.load() || i < 20; ++i) {
        session->Begin();
        session->Put(table_, RowKey(t), RowValue(t, 100));
        session->Put(table_, RowKey(t + 100), RowValue(t, 100));
        session->Commit();
        if (i == 19 && arrived.fetch_add(1) == 5) stop = true;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(stop.load());
}

// The caches of all sessions together must keep the bound, and the last session must get all of it.
TEST_F(SqliteTest, SessionsShareTheCache) {
  options_.cache_bytes = 8 << 20;
  Open();
  constexpr uint64_t kRows = 40000;
  Load(kRows, 400);
  engine_->Settle();
  std::vector<std::unique_ptr<Session>> sessions;
  for (int s = 0; s < 8; ++s) sessions.push_back(engine_->NewSession());
  for (uint64_t row = 0; row < kRows; row += 3) {
    ASSERT_EQ(GetBy(sessions[row % 8].get(), row), RowValue(row, 400));
    if (row % 1000 == 0) {
      ASSERT_LE(*engine_->Counters().cache_bytes, options_.cache_bytes * 11 / 10) << row;
    }
  }
  EXPECT_GE(*engine_->Counters().cache_bytes, options_.cache_bytes / 2);
  // The whole bound can hold these rows, and the share of one of nine sessions cannot.
  sessions.resize(1);
  constexpr uint64_t kFew = 12000;
  uint64_t requests = 0, before = 0, misses = 0;
  for (int pass = 0; pass < 6; ++pass) {
    sessions[0]->BlockCounts(&requests, &before);
    for (uint64_t row = 0; row < kFew; ++row) GetBy(sessions[0].get(), row);
    sessions[0]->BlockCounts(&requests, &misses);
  }
  EXPECT_LE(misses - before, 20u) << "others that are gone keep a share";
  EXPECT_LE(*engine_->Counters().cache_bytes, options_.cache_bytes * 11 / 10);
}

// A session that prepares its first statements for a table asks the database for the table's name.
TEST_F(SqliteTest, NewTablesAreUsedWhileItIsAskedForItsCounters) {
  Open();
  ::alarm(60);  // the process ends when the threads wait for each other
  std::atomic<bool> stop{false};
  std::thread counting([&] {
    while (!stop.load()) engine_->Counters();
  });
  for (int i = 0; i < 200; ++i) {
    const TableId table = engine_->OpenTable("new" + std::to_string(i));
    EXPECT_NO_THROW(session_->Put(table, "k", "v"));
    std::string_view value;
    EXPECT_TRUE(session_->Get(table, "k", &value));
    EXPECT_NO_THROW(session_->Erase(table, "k"));
  }
  stop = true;
  counting.join();
  ::alarm(0);
}

// A cursor on a row keeps its snapshot. Only the truncation of the log must wait for it.
TEST_F(SqliteTest, ACursorHoldsTheLogBackUntilItLeavesItsRow) {
  options_.extra["checkpoint_log_bytes"] = "256k";
  Open();
  Load(200, 1000);
  engine_->Settle();
  EXPECT_EQ(wal_bytes(), 0u);
  const auto reader = engine_->NewSession();
  Put(500, 10);
  auto cursor = reader->NewCursor(table_);
  ASSERT_TRUE(cursor->First());
  for (uint64_t row = 0; row < 2000; ++row) Put(row % 200, 1001);
  EXPECT_GT(wal_bytes(), 2u << 20);
  engine_->Settle();
  EXPECT_GT(wal_bytes(), 2u << 20);
  EXPECT_EQ(cursor->value(), RowValue(0, 1000));
  ASSERT_TRUE(cursor->Next());
  EXPECT_EQ(cursor->value(), RowValue(1, 1000));
  cursor.reset();
  engine_->Settle();
  EXPECT_EQ(wal_bytes(), 0u);
  EXPECT_EQ(GetBy(reader.get(), 1), RowValue(1, 1001));
}

// One of two cursors always stands on a row, and none stays there.
TEST_F(SqliteTest, TheLogStaysShortWhileReadersComeAndGoWithoutAPause) {
  options_.extra["checkpoint_log_bytes"] = "256k";
  Open();
  Load(200, 1000);
  std::atomic<bool> stop{false};
  std::promise<void> begun;
  std::thread reading([&] {
    const std::unique_ptr<Session> sessions[] = {engine_->NewSession(), engine_->NewSession()};
    const std::unique_ptr<Cursor> cursors[] = {sessions[0]->NewCursor(table_),
                                               sessions[1]->NewCursor(table_)};
    for (const auto& cursor : cursors) EXPECT_TRUE(cursor->First());
    begun.set_value();
    for (size_t i = 0; !stop.load(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      EXPECT_TRUE(cursors[i % 2]->First());
    }
  });
  begun.get_future().wait();
  for (uint64_t row = 0; row < 2000; ++row) Put(row % 200, 1001);
  stop = true;
  reading.join();
  EXPECT_LT(wal_bytes(), 6u << 20);
}

TEST_F(SqliteTest, AWaitForACursorEndsInASentence) {
  options_.extra["journal"] = "delete";
  options_.extra["busy_wait_ms"] = "50";
  Open();
  Put(1, 10);
  const auto reader = engine_->NewSession();
  auto cursor = reader->NewCursor(table_);
  ASSERT_TRUE(cursor->First());
  const std::string sentence = ErrorOf(Error::kRun, [&] { Put(2, 10); });
  EXPECT_NE(sentence.find("busy_wait_ms"), std::string::npos) << sentence;
  cursor.reset();
  EXPECT_EQ(GetBy(session_.get(), 2), "(absent)");
  Put(2, 10);
  EXPECT_EQ(GetBy(session_.get(), 2), RowValue(2, 10));
}

// A connection whose statement failed must stay usable, and must be closed properly.
TEST_F(SqliteTest, AFailedCallLosesNoStatement) {
  options_.cache_bytes = 1 << 20;
  Open();
  Load(5000, 400);
  engine_->Settle();
  FileFaults::Set(0, 1, EIO);
  ErrorOf(Error::kIo, [&] { Put(6000, 10); });
  FileFaults::Clear();
  auto reader = engine_->NewSession();
  auto cursor = reader->NewCursor(table_);
  ASSERT_TRUE(cursor->First());
  FileFaults::Set(0, UINT64_MAX, EIO);
  ErrorOf(Error::kIo, [&] { EXPECT_EQ(GetBy(reader.get(), 4000), RowValue(4000, 400)); });
  ErrorOf(Error::kIo, [&] {
    while (cursor->Next()) {
    }
  });
  EXPECT_FALSE(cursor->Next());
  FileFaults::Clear();
  ASSERT_TRUE(cursor->Seek(RowKey(4000)));
  EXPECT_EQ(cursor->value(), RowValue(4000, 400));
  EXPECT_EQ(GetBy(session_.get(), 6000), "(absent)");
  Put(6000, 10);
  cursor.reset();
  reader.reset();
  Close();
  EXPECT_FALSE(fs::exists(database() + "-wal")) << "a connection stays open";
}

// Has calls of its database fail when it is destroyed.
struct FailsAtItsEnd {
  std::unique_ptr<Engine> engine;
  std::string* sentence = nullptr;
  ~FailsAtItsEnd() {
    if (engine == nullptr) return;
    FileFaults::Set(0, UINT64_MAX, EIO);
    *sentence = ErrorOf(Error::kIo, [this] { engine->Checkpoint(); });
    engine.reset();
    FileFaults::Clear();
  }
};

// A static database is closed after the thread_local objects of the main thread are destroyed. Here
// those of a thread are, because the object that has the database was made before them.
TEST_F(SqliteTest, AnErrorIsToldUntilTheThreadHasEnded) {
  std::string sentence;
  std::thread([this, &sentence] {
    thread_local FailsAtItsEnd last;
    last.engine = OpenEngine("sqlite", dir_, options_);
    last.sentence = &sentence;
    last.engine->NewSession()->Put(last.engine->OpenTable("t"), "k", "v");
    auto other = OpenEngine("sqlite", dir_ + "/other", options_);
    other->NewSession()->Put(other->OpenTable("t"), "k", "v");
    FileFaults::Set(0, UINT64_MAX, EIO);
    other.reset();  // nobody takes its error
    FileFaults::Clear();
  }).join();
  EXPECT_NE(sentence.find("Input/output error"), std::string::npos) << sentence;
}

// SQLite itself refuses a path that is too long, so there is no error of the file layer to tell.
TEST_F(SqliteTest, AFailureIsNotToldByTheErrorOfAnEarlierOne) {
  Open();
  Put(1, 10);
  FileFaults::Set(0, UINT64_MAX, EIO);
  Close();  // nobody takes its error
  FileFaults::Clear();
  std::string deep = dir_;
  for (const char letter : {'a', 'b', 'c'}) deep += "/" + std::string(200, letter);
  fs::create_directories(deep);
  const std::string sentence = ErrorOf(Error::kRun, [&] { OpenEngine("sqlite", deep, options_); });
  EXPECT_NE(sentence.find("sqlite failed at opening the database in " + deep), std::string::npos)
      << sentence;
}

// SQLite itself syncs nothing with durability none.
TEST_F(SqliteTest, ACleanCloseIsDurableWithoutDurabilityToo) {
  const auto data = static_cast<size_t>(FileKind::kData);
  for (const char* journal : {"wal", "delete", "truncate", "persist"}) {
    SCOPED_TRACE(journal);
    options_.extra = {{"journal", journal}};
    Open();
    Load(100, 100);
    const LedgerCounts before = Ledger::Get().Counts();
    Close();
    const LedgerCounts delta = Ledger::Get().Counts() - before;
    EXPECT_EQ(delta.ops[kOpen.id].file[data].syncs, 1u);
  }
}

// The writes of a checkpoint within a commit must be charged to the checkpoint, and not to the
// commit.
TEST_F(SqliteTest, ACheckpointInACommitIsChargedToItself) {
  options_.extra["checkpoint_log_bytes"] = "256k";
  const OpKind load = DefineOp("sqlite-load", Ground::kForeground);
  Open();
  const LedgerCounts before = Ledger::Get().Counts();
  {
    IoScope scope(load);
    for (uint64_t row = 0; row < 3000; ++row) Put(row, 300);
  }
  const LedgerCounts delta = Ledger::Get().Counts() - before;
  const auto data = static_cast<size_t>(FileKind::kData), log = static_cast<size_t>(FileKind::kLog);
  EXPECT_EQ(delta.ops[load.id].file[data].writes, 0u);
  EXPECT_GT(delta.ops[load.id].file[log].writes, 3000u);
  EXPECT_GT(delta.ops[kCheckpoint.id].file[data].writes, 20u);
}

}  // namespace
}  // namespace testbed

#endif  // TESTBED_HAVE_SQLITE
