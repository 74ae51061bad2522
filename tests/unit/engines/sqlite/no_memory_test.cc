// Tests what the sqlite engine does without memory: a read that fails keeps no state of the
// database, a commit passes the turn to write on, a sync that fails is not forgotten, and no
// exception passes through SQLite's C frames.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "device/error.h"
#include "device/file/file.h"
#include "engines/registry.h"
#include "tests/unit/engines/failing_new.h"

#ifdef TESTBED_HAVE_SQLITE
#include <sqlite3.h>

#include "engines/sqlite/database.h"
#include "engines/sqlite/settings.h"
#include "engines/sqlite/vfs.h"

namespace testbed {
namespace {

class SqliteNoMemoryTest : public testing::Test {
 protected:
  SqliteNoMemoryTest() {
    std::string pattern = std::filesystem::current_path() / "sqlite_no_memory_XXXXXX";
    dir_ = ::mkdtemp(pattern.data());
  }
  ~SqliteNoMemoryTest() override {
    FailingNew::Clear();
    std::filesystem::remove_all(dir_);
  }

  std::string dir_;
};

// A statement that stays on its row keeps the state of the database that it has read. All later
// reads of the session would see that state.
TEST_F(SqliteNoMemoryTest, AReadThatFailsLeavesTheNextOnesTheNewestCommit) {
  EngineOptions options = DefaultEngineOptions(FindEngine("sqlite"));
  options.durability = Durability::kNone;
  const std::unique_ptr<Engine> engine = OpenEngine("sqlite", dir_, options);
  const TableId table = engine->OpenTable("t");
  const std::unique_ptr<Session> writer = engine->NewSession();
  std::string_view value;
  // This session makes a connection and a statement, which the later sessions get in turn. So their
  // reads need memory for the value alone.
  writer->Put(table, "k", "");
  ASSERT_TRUE(engine->NewSession()->Get(table, "k", &value));
  int failures = 0;
  bool failed = true;
  for (int64_t allocations = 0; failed && allocations < 100; ++allocations) {
    SCOPED_TRACE(allocations);
    writer->Put(table, "k", "old " + std::string(500, 'v'));
    const std::unique_ptr<Session> session = engine->NewSession();
    FailingNew::Set(allocations);
    try {
      session->Get(table, "k", &value);
    } catch (const std::exception&) {
      ++failures;
    }
    failed = FailingNew::Clear();
    const std::string wanted = "new " + std::string(500, 'v');
    writer->Put(table, "k", wanted);
    ASSERT_TRUE(session->Get(table, "k", &value));
    EXPECT_EQ(value, wanted);
  }
  EXPECT_FALSE(failed);
  EXPECT_GT(failures, 0);
}

// The commit is made, so the session must pass its turn to write on.
TEST_F(SqliteNoMemoryTest, ACommitWhoseCheckpointFailsPassesTheTurnOn) {
  EngineOptions options = DefaultEngineOptions(FindEngine("sqlite"));
  options.durability = Durability::kNone;
  options.extra = {{"checkpoint_log_bytes", "64k"}};
  const std::unique_ptr<Engine> engine = OpenEngine("sqlite", dir_, options);
  const TableId table = engine->OpenTable("t");
  const std::unique_ptr<Session> session = engine->NewSession();
  const std::string large(200000, 'v');
  bool failed = true;
  for (int64_t allocations = 0; failed && allocations < 100; ++allocations) {
    SCOPED_TRACE(allocations);
    // Each thread has some objects of its own, so a new thread makes them anew.
    std::thread([&] {
      session->Put(table, "small", "");  // begins the log anew
      FailingNew::Set(allocations);
      try {
        session->Put(table, "large", large);  // fills the log, so that a checkpoint begins
      } catch (const std::exception&) {
        // The write has found no memory. A checkpoint that finds none is no failure of its commit.
      }
      failed = FailingNew::Clear();
      EXPECT_NO_THROW(session->Put(table, "small", "after"));
    }).join();
    if (HasFailure()) return;  // the next write would wait without end
  }
  EXPECT_FALSE(failed);
}

// The next sync finds nothing that was written since, so it cannot make up for one that failed.
TEST_F(SqliteNoMemoryTest, AFileWhoseSyncHasFoundNoMemoryIsNotSyncedByTheNext) {
  FileOptions options;
  options.kind = FileKind::kLog;
  options.create = FileOptions::kMayExist;
  int failures = 0;
  bool failed = true;
  for (int64_t allocations = 0; failed && allocations < 100; ++allocations) {
    SCOPED_TRACE(allocations);
    sqlite::OpenFile file(File::Open(dir_ + "/log", options), /*creates=*/true);
    file.Write(0, "x", 1);
    bool thrown = false;
    FailingNew::Set(allocations);
    try {
      file.SyncIfWritten();
    } catch (const std::exception&) {
      thrown = true;
    }
    failed = FailingNew::Clear();
    if (!thrown) continue;
    ++failures;
    EXPECT_THROW(file.SyncIfWritten(), Error);
  }
  EXPECT_FALSE(failed);
  EXPECT_GT(failures, 0);
}

// The thread of lazy durability ends then, so nobody would sync later commits.
TEST_F(SqliteNoMemoryTest, AfterALazySyncThatHasFoundNoMemoryNoCommitIsTaken) {
  EngineOptions options = DefaultEngineOptions(FindEngine("sqlite"));
  options.durability = Durability::kLazy;
  sqlite::Database database(dir_, sqlite::MakeSettings(options));
  FailingNew::Set(0);
  EXPECT_NO_THROW(database.SyncLazily());
  EXPECT_TRUE(FailingNew::Clear());
  EXPECT_THROW(database.BeginWrite(), Error);
}

TEST_F(SqliteNoMemoryTest, ACallbackReturnsACodeAndThrowsNothing) {
  sqlite::Vfs vfs({.dir = dir_});
  sqlite3_vfs* const callbacks = ::sqlite3_vfs_find(vfs.name());
  ASSERT_NE(callbacks, nullptr);
  const std::string file = sqlite::JournalFile(dir_), loop = dir_ + "/loop";
  std::filesystem::create_symlink("loop", loop);  // a link to itself cannot be examined
  FailingNew::Set(0);
  EXPECT_EQ(callbacks->xDelete(callbacks, file.c_str(), 0), SQLITE_NOMEM);
  EXPECT_TRUE(FailingNew::Clear());
  int yes = 0;
  FailingNew::Set(0);
  EXPECT_NE(callbacks->xAccess(callbacks, loop.c_str(), SQLITE_ACCESS_EXISTS, &yes), SQLITE_OK);
  EXPECT_TRUE(FailingNew::Clear());
  sqlite::Vfs::TakeError();
}

}  // namespace
}  // namespace testbed

#endif  // TESTBED_HAVE_SQLITE
