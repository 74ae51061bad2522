// Tests the rule of Session that a transaction in which a write has failed commits nothing, and
// that a write that is refused does no harm. The writes fail for want of memory.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/error.h"
#include "engines/registry.h"
#include "tests/unit/engines/failing_new.h"

namespace testbed {
namespace {

class FailedWriteTest : public testing::TestWithParam<const char*> {
 protected:
  FailedWriteTest() {
    std::string pattern = std::filesystem::current_path() / "failed_write_test_XXXXXX";
    dir_ = ::mkdtemp(pattern.data());
  }
  ~FailedWriteTest() override {
    FailingNew::Clear();
    engine_.reset();
    std::filesystem::remove_all(dir_);
  }
  void SetUp() override {
    const std::string name = GetParam();
    const auto& engines = Engines();
    if (std::none_of(engines.begin(), engines.end(),
                     [&](const EngineInfo& info) { return info.name == name; })) {
      GTEST_SKIP() << "this build has no " << name;
    }
    const EngineInfo& engine = FindEngine(name);
    if (engine.missing != nullptr && !engine.missing().empty()) GTEST_SKIP() << engine.missing();
    EngineOptions options = DefaultEngineOptions(engine);
    options.durability = Durability::kNone;
    if (name == "mmapv1") {
      options.extra = {{"small_files", "on"}, {"first_file_size", "1M"}, {"preallocate", "off"}};
    } else if (name == "btree" || name == "fractal") {
      options.extra = {{"log_segment", "1M"}};
    }
    engine_ = OpenEngine(name, dir_, options);
    table_ = engine_->OpenTable("t");
  }
  std::vector<std::string> Keys() {
    const std::unique_ptr<Session> session = engine_->NewSession();
    const std::unique_ptr<Cursor> cursor = session->NewCursor(table_);
    std::vector<std::string> keys;
    for (bool on = cursor->First(); on; on = cursor->Next()) keys.emplace_back(cursor->key());
    return keys;
  }
  // Returns whether the engine's library ends the program by an assertion when a batch of writes
  // finds no memory, as Debian's RocksDB does.
  bool AssertsThatThereIsMemory() const {
    const auto settings = engine_->EffectiveSettings();
    return std::find(settings.begin(), settings.end(),
                     std::pair<std::string, std::string>("assertions", "on")) != settings.end();
  }
  static void ExpectRefused(Error::Kind kind, const std::string& part,
                            const std::function<void()>& call) {
    try {
      call();
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  }

  // A session that copies it needs memory for it.
  const std::string kLongKey = "a row with a key that is too long for the inside of a string ";
  std::string dir_;
  std::unique_ptr<Engine> engine_;
  TableId table_ = 0;
};

// Each allocation of a transaction's writes fails in turn, in a new session each time.
TEST_P(FailedWriteTest, NothingOfItsTransactionIsCommitted) {
  if (AssertsThatThereIsMemory()) GTEST_SKIP() << "the library has assertions";
  std::vector<std::string> keys;
  for (int row = 0; row < 300; ++row) keys.push_back(kLongKey + std::to_string(1000 + row));
  const std::string value(500, 'v');
  const std::string too_long(FindEngine(GetParam()).capabilities.max_key_size * 4, 'k');
  engine_->NewSession()->Put(table_, "kept", "0");
  int failures = 0;
  bool failed = true;
  for (int64_t allocations = 0; failed && allocations < 1000; ++allocations) {
    SCOPED_TRACE(allocations);
    const std::unique_ptr<Session> session = engine_->NewSession();
    session->Begin();
    bool threw = false;
    FailingNew::Set(allocations);
    try {
      for (const std::string& key : keys) session->Put(table_, key, value);
    } catch (const std::exception&) {
      threw = true;
    }
    failed = FailingNew::Clear();
    if (!threw) {
      session->Rollback();
      continue;
    }
    ++failures;
    const std::string kept = "nothing of it is kept";
    ExpectRefused(Error::kRun, kept, [&] { session->Put(table_, "after", "1"); });
    ExpectRefused(Error::kRun, kept, [&] { session->Erase(table_, "kept"); });
    ExpectRefused(Error::kRun, kept, [&] { session->Erase(table_, too_long); });
    ExpectRefused(Error::kRun, kept, [&] { session->Commit(); });
    ASSERT_EQ(Keys(), std::vector<std::string>{"kept"});
    session->Begin();
    session->Put(table_, "kept", "2");
    session->Commit();
  }
  EXPECT_FALSE(failed);
  // Pebble has the rows in memory of Go.
  EXPECT_GT(failures, std::string(GetParam()) == "pebble" ? 0 : 5);
}

TEST_P(FailedWriteTest, ARollbackAfterItEndsTheTransaction) {
  const std::string value(500, 'v');
  const std::unique_ptr<Session> session = engine_->NewSession();
  session->Begin();
  FailingNew::Set(0);
  EXPECT_ANY_THROW(session->Put(table_, kLongKey, value));
  FailingNew::Clear();
  session->Rollback();
  session->Begin();
  session->Put(table_, kLongKey, value);
  session->Commit();
  EXPECT_EQ(Keys(), std::vector<std::string>{kLongKey});
}

TEST_P(FailedWriteTest, ItsCommitEndsItAlsoWithoutMemoryForTheError) {
  const std::string value(500, 'v');
  const std::unique_ptr<Session> session = engine_->NewSession();
  session->Begin();
  FailingNew::Set(0);
  EXPECT_ANY_THROW(session->Put(table_, kLongKey, value));
  FailingNew::Set(0);
  EXPECT_ANY_THROW(session->Commit());
  FailingNew::Clear();
  session->Begin();
  session->Put(table_, kLongKey, value);
  session->Commit();
  EXPECT_EQ(Keys(), std::vector<std::string>{kLongKey});
}

// A read of a transaction's own writes may need an index of them.
TEST_P(FailedWriteTest, AReadThatFindsNoMemoryLeavesNoWritesToTheNextTransaction) {
  if (AssertsThatThereIsMemory()) GTEST_SKIP() << "the library has assertions";
  const std::string value(500, 'v');
  for (int64_t allocations = 0; allocations < 8; ++allocations) {
    SCOPED_TRACE(allocations);
    const std::unique_ptr<Session> session = engine_->NewSession();
    session->Begin();
    for (int row = 0; row < 50; ++row) {
      session->Put(table_, kLongKey + std::to_string(1000 + row), value);
    }
    const std::string first = kLongKey + "1000";
    std::string_view found;
    FailingNew::Set(allocations);
    try {
      session->Get(table_, first, &found);
    } catch (const std::exception&) {
      // The session goes on.
    }
    FailingNew::Clear();
    session->Rollback();
    session->Begin();
    session->Put(table_, "kept", "1");
    EXPECT_TRUE(session->Get(table_, "kept", &found));
    session->Commit();
    ASSERT_EQ(Keys(), std::vector<std::string>{"kept"});
  }
}

TEST_P(FailedWriteTest, AWriteThatIsRefusedDoesNoHarm) {
  const std::string key(70'000, 'k');
  if (FindEngine(GetParam()).capabilities.max_key_size >= key.size()) {
    GTEST_SKIP() << GetParam() << " takes such a key";
  }
  const std::unique_ptr<Session> session = engine_->NewSession();
  session->Begin();
  session->Put(table_, "before", "1");
  ExpectRefused(Error::kUsage, "70000", [&] { session->Put(table_, key, "1"); });
  session->Put(table_, "later", "1");
  session->Commit();
  EXPECT_EQ(Keys(), (std::vector<std::string>{"before", "later"}));
}

INSTANTIATE_TEST_SUITE_P(Engines, FailedWriteTest,
                         testing::Values("btree", "fractal", "mmapv1", "pebble", "rocksdb",
                                         "wiredtiger"),
                         [](const auto& info) { return std::string(info.param); });

// Writes and ends of a transaction have the session's cursors remember their rows, and find no
// memory for that.
class FailedParkTest : public FailedWriteTest {};

TEST_P(FailedParkTest, NothingOfItsTransactionIsCommitted) {
  engine_->NewSession()->Put(table_, kLongKey, "0");
  const std::unique_ptr<Session> session = engine_->NewSession();
  session->Begin();
  session->Put(table_, "a", "1");
  const std::unique_ptr<Cursor> cursor = session->NewCursor(table_);
  ASSERT_TRUE(cursor->Seek(kLongKey));
  FailingNew::Set(0);
  EXPECT_ANY_THROW(session->Put(table_, "b", "2"));
  FailingNew::Clear();
  ExpectRefused(Error::kRun, "nothing of it is kept", [&] { session->Commit(); });
  EXPECT_EQ(Keys(), std::vector<std::string>{kLongKey});
}

// A session learns of a table, or prepares its statements, when it first writes there.
TEST_P(FailedParkTest, NorAfterTheFirstWriteOfASessionHasFailed) {
  const std::unique_ptr<Session> session = engine_->NewSession();
  session->Begin();
  bool threw = false;
  FailingNew::Set(0);
  try {
    session->Put(table_, kLongKey, "1");
  } catch (const std::exception&) {
    threw = true;
  }
  FailingNew::Clear();
  if (!threw) GTEST_SKIP() << GetParam() << " needs no memory for it";
  ExpectRefused(Error::kRun, "nothing of it is kept", [&] { session->Commit(); });
  EXPECT_EQ(Keys(), std::vector<std::string>());
}

// Other transactions wait for the end of this one.
TEST_P(FailedParkTest, ATransactionEndsAlsoWhenItsCommitHasNoMemory) {
  engine_->NewSession()->Put(table_, kLongKey, "0");
  const std::unique_ptr<Session> session = engine_->NewSession();
  session->Begin();
  session->Put(table_, "a", "1");
  const std::unique_ptr<Cursor> cursor = session->NewCursor(table_);
  ASSERT_TRUE(cursor->Seek(kLongKey));
  FailingNew::Set(0);
  EXPECT_ANY_THROW(session->Commit());
  FailingNew::Clear();
  session->Put(table_, "b", "2");
  engine_->NewSession()->Put(table_, "c", "3");
  EXPECT_EQ(Keys(), (std::vector<std::string>{kLongKey, "b", "c"}));
  ASSERT_TRUE(cursor->Seek("c"));
  EXPECT_FALSE(cursor->Next());
}

// The search may need an index of the transaction's writes.
TEST_P(FailedParkTest, ASeekThatFindsNoMemoryLeavesTheCursorOnNoRow) {
  if (AssertsThatThereIsMemory()) GTEST_SKIP() << "the library has assertions";
  const std::string value(500, 'v'), last = kLongKey + "1049";
  engine_->NewSession()->Put(table_, kLongKey, value);
  for (int64_t allocations = 0; allocations < 3; ++allocations) {
    SCOPED_TRACE(allocations);
    const std::unique_ptr<Session> session = engine_->NewSession();
    session->Begin();
    for (int row = 0; row < 50; ++row) {
      session->Put(table_, kLongKey + std::to_string(1000 + row), value);
    }
    std::unique_ptr<Cursor> cursor = session->NewCursor(table_);
    bool threw = false;
    FailingNew::Set(allocations);
    try {
      cursor->Seek(kLongKey);
    } catch (const std::exception&) {
      threw = true;
    }
    FailingNew::Clear();
    if (threw) {
      EXPECT_FALSE(cursor->Next());
    }
    ASSERT_TRUE(cursor->Seek(last));
    EXPECT_EQ(cursor->key(), last);
    cursor.reset();
    session->Rollback();
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, FailedParkTest,
                         testing::Values("lmdb", "mdbx", "pebble", "rocksdb", "sqlite"),
                         [](const auto& info) { return std::string(info.param); });

// The end of a transaction whose cursors find no memory to remember their rows.
class FailedRollbackTest : public FailedWriteTest {
 protected:
  // Begins a transaction that has written, with a cursor on the last row.
  void SetUp() override {
    FailedWriteTest::SetUp();
    if (IsSkipped()) return;
    engine_->NewSession()->Put(table_, kLongKey, "0");
    session_ = engine_->NewSession();
    session_->Begin();
    session_->Put(table_, "a", "1");
    cursor_ = session_->NewCursor(table_);
    ASSERT_TRUE(cursor_->Last());
    ASSERT_EQ(cursor_->key(), kLongKey);
  }
  void TearDown() override {
    cursor_.reset();
    session_.reset();
  }

  std::unique_ptr<Session> session_;
  std::unique_ptr<Cursor> cursor_;
};

// A transaction that stayed open would have the writes after it, and nobody would commit them.
TEST_P(FailedRollbackTest, EndsTheTransaction) {
  FailingNew::Set(0);
  EXPECT_ANY_THROW(session_->Rollback());
  FailingNew::Clear();
  session_->Put(table_, "b", "2");
  engine_->NewSession()->Put(table_, "c", "3");
  EXPECT_EQ(Keys(), (std::vector<std::string>{kLongKey, "b", "c"}));
}

// The rollback has reset the library's cursor.
TEST_P(FailedRollbackTest, LeavesNoCursorToBeginAnew) {
  const std::string key = kLongKey + "2", value(500, 'v');
  FailingNew::Set(0);
  EXPECT_ANY_THROW(session_->Put(table_, key, value));
  FailingNew::Set(0);
  EXPECT_ANY_THROW(session_->Commit());
  FailingNew::Clear();
  EXPECT_FALSE(cursor_->Next());
  EXPECT_EQ(Keys(), std::vector<std::string>{kLongKey});
}

INSTANTIATE_TEST_SUITE_P(Engines, FailedRollbackTest,
                         testing::Values("lmdb", "mdbx", "pebble", "rocksdb", "sqlite",
                                         "wiredtiger"),
                         [](const auto& info) { return std::string(info.param); });

// A value that no engine takes. Its bytes are addresses alone, and no engine looks at them.
class TooLongValueTest : public FailedWriteTest {};

TEST_P(TooLongValueTest, IsRefusedAndDoesNoHarm) {
  constexpr size_t kSize = size_t{5} << 30;
  void* const bytes =
      ::mmap(nullptr, kSize, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (bytes == MAP_FAILED) GTEST_SKIP() << "there are no addresses for it";
  const std::string_view value(static_cast<const char*>(bytes), kSize);
  const std::unique_ptr<Session> session = engine_->NewSession();
  const std::string told = std::to_string(kSize);
  ExpectRefused(Error::kUsage, told, [&] { session->Put(table_, "outside", value); });
  session->Begin();
  session->Put(table_, "before", "1");
  ExpectRefused(Error::kUsage, told, [&] { session->Put(table_, "long", value); });
  session->Put(table_, "later", "1");
  session->Commit();
  EXPECT_EQ(Keys(), (std::vector<std::string>{"before", "later"}));
  ::munmap(bytes, kSize);
}

INSTANTIATE_TEST_SUITE_P(Engines, TooLongValueTest,
                         testing::Values("btree", "fractal", "lmdb", "mdbx", "mmapv1", "pebble",
                                         "rocksdb", "sqlite", "wiredtiger"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace testbed
