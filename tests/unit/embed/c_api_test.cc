#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <thread>

#include "embed/testbed/testbed_engine.h"
#include "tests/own_dir.h"
#include "tests/unit/engines/failing_disk/failing_disk.h"

namespace testbed {
namespace {

using ::testing::HasSubstr;

std::string Get(testbed_session* session, testbed_table table, const std::string& key) {
  const char* value = nullptr;
  size_t size = 0;
  const testbed_status status = testbed_get(session, table, key.data(), key.size(), &value, &size);
  return status == TESTBED_OK ? std::string(value, size) : "status " + std::to_string(status);
}

testbed_status Put(testbed_session* session, testbed_table table, const std::string& key,
                   const std::string& value) {
  return testbed_put(session, table, key.data(), key.size(), value.data(), value.size());
}

bool Has(std::initializer_list<std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Opens a database with the table "rows", and a session of it.
void OpenRows(const char* engine_name, const OwnDir& dir, testbed_engine** engine,
              testbed_session** session, testbed_table* table) {
  const char* options[] = {"cache_bytes=16M", nullptr};
  ASSERT_EQ(testbed_open(engine_name, dir.path().c_str(), options, engine), TESTBED_OK)
      << testbed_error();
  ASSERT_EQ(testbed_open_table(*engine, "rows", table), TESTBED_OK);
  ASSERT_EQ(testbed_session_open(*engine, session), TESTBED_OK);
}

class CApi : public ::testing::Test {
 protected:
  void SetUp() override { OpenRows("btree", dir_, &engine_, &session_, &table_); }
  void TearDown() override {
    EXPECT_EQ(testbed_session_close(session_), TESTBED_OK) << testbed_error();
    EXPECT_EQ(testbed_close(engine_), TESTBED_OK) << testbed_error();
  }

  OwnDir dir_;
  testbed_engine* engine_ = nullptr;
  testbed_session* session_ = nullptr;
  testbed_table table_ = 0;
};

TEST_F(CApi, TransactionsCommitAndRollBack) {
  EXPECT_EQ(testbed_begin(session_), TESTBED_OK);
  EXPECT_EQ(Put(session_, table_, "a", std::string("\0x", 2)), TESTBED_OK);
  EXPECT_EQ(testbed_commit(session_), TESTBED_OK);
  EXPECT_EQ(testbed_begin(session_), TESTBED_OK);
  EXPECT_EQ(testbed_erase(session_, table_, "a", 1), TESTBED_OK);
  EXPECT_EQ(testbed_rollback(session_), TESTBED_OK);
  EXPECT_EQ(Get(session_, table_, "a"), std::string("\0x", 2));
  EXPECT_EQ(Get(session_, table_, "b"), "status 1");
  EXPECT_EQ(testbed_erase(session_, table_, "a", 1), TESTBED_OK);
  EXPECT_EQ(Get(session_, table_, "a"), "status 1");
}

TEST_F(CApi, ACursorScansBothWays) {
  for (const char* key : {"b", "a", "c"}) EXPECT_EQ(Put(session_, table_, key, ""), TESTBED_OK);
  testbed_cursor* cursor = nullptr;
  ASSERT_EQ(testbed_cursor_open(session_, table_, &cursor), TESTBED_OK);
  const char *key, *value;
  size_t key_size, value_size;
  EXPECT_EQ(testbed_cursor_row(cursor, &key, &key_size, &value, &value_size), TESTBED_USAGE);
  EXPECT_EQ(testbed_cursor_next(cursor), TESTBED_USAGE);
  std::string keys;
  for (testbed_status s = testbed_cursor_seek(cursor, nullptr, 0); s == TESTBED_OK;
       s = testbed_cursor_next(cursor)) {
    ASSERT_EQ(testbed_cursor_row(cursor, &key, &key_size, &value, &value_size), TESTBED_OK);
    keys.append(key, key_size);
    EXPECT_EQ(value_size, 0u);
  }
  EXPECT_EQ(keys, "abc");
  EXPECT_EQ(testbed_cursor_seek_last(cursor), TESTBED_OK);
  EXPECT_EQ(testbed_cursor_prev(cursor), TESTBED_OK);
  ASSERT_EQ(testbed_cursor_row(cursor, &key, &key_size, &value, &value_size), TESTBED_OK);
  EXPECT_EQ(std::string(key, key_size), "b");
  EXPECT_EQ(testbed_cursor_seek(cursor, "d", 1), TESTBED_NOT_FOUND);
  EXPECT_EQ(testbed_session_close(session_), TESTBED_USAGE);
  EXPECT_EQ(testbed_cursor_close(cursor), TESTBED_OK);
}

TEST_F(CApi, MisuseIsRefusedAndChangesNothing) {
  EXPECT_EQ(testbed_close(engine_), TESTBED_USAGE);
  EXPECT_THAT(testbed_error(), HasSubstr("close them first"));
  EXPECT_EQ(testbed_commit(session_), TESTBED_USAGE);
  EXPECT_EQ(testbed_begin(session_), TESTBED_OK);
  EXPECT_EQ(testbed_begin(session_), TESTBED_USAGE);
  EXPECT_EQ(testbed_put(session_, table_, nullptr, 1, "", 0), TESTBED_USAGE);
  EXPECT_EQ(testbed_get(nullptr, table_, "a", 1, nullptr, nullptr), TESTBED_USAGE);
  EXPECT_EQ(Put(session_, table_ + 1000, "a", ""), TESTBED_USAGE);
  EXPECT_THAT(testbed_error(), HasSubstr("was not opened"));
  EXPECT_EQ(Put(session_, table_, "a", "1"), TESTBED_OK);
  EXPECT_EQ(testbed_commit(session_), TESTBED_OK);
  EXPECT_EQ(Get(session_, table_, "a"), "1");
}

// Some engines would return other bytes than the row's then, and one would crash.
TEST(CApiCursor, TellsNoRowAfterItsSessionHasWritten) {
  for (size_t i = 0; const char* const name = testbed_engine_name(i); ++i) {
    if (!Has({"btree", "fractal", "lmdb", "mdbx", "mmapv1", "rocksdb", "sqlite", "wiredtiger"},
             name))
      continue;
    SCOPED_TRACE(name);
    const OwnDir dir;
    testbed_engine* engine = nullptr;
    testbed_session* session = nullptr;
    testbed_cursor* cursor = nullptr;
    testbed_table table = 0;
    ASSERT_NO_FATAL_FAILURE(OpenRows(name, dir, &engine, &session, &table));
    ASSERT_EQ(Put(session, table, "a", "1"), TESTBED_OK) << testbed_error();
    ASSERT_EQ(Put(session, table, "b", "2"), TESTBED_OK) << testbed_error();
    ASSERT_EQ(testbed_cursor_open(session, table, &cursor), TESTBED_OK);
    const auto row = [&] {
      const char *key, *value;
      size_t key_size, value_size;
      const testbed_status status =
          testbed_cursor_row(cursor, &key, &key_size, &value, &value_size);
      return status == TESTBED_OK ? std::string(key, key_size) + std::string(value, value_size)
                                  : "status " + std::to_string(status);
    };
    const std::string refused = "status " + std::to_string(TESTBED_USAGE);
    const auto write = [&](testbed_status status) {
      EXPECT_EQ(status, TESTBED_OK) << testbed_error();
      EXPECT_EQ(row(), refused);
      EXPECT_THAT(testbed_error(), HasSubstr("has written since the cursor moved"));
      EXPECT_EQ(testbed_cursor_seek(cursor, "a", 1), TESTBED_OK);
      EXPECT_EQ(row(), "a1");
    };
    EXPECT_EQ(testbed_cursor_seek(cursor, "a", 1), TESTBED_OK);
    EXPECT_EQ(row(), "a1");
    write(Put(session, table, "b", "3"));
    write(testbed_erase(session, table, "b", 1));
    EXPECT_EQ(testbed_begin(session), TESTBED_OK);
    write(Put(session, table, "c", "4"));
    write(testbed_rollback(session));
    EXPECT_EQ(testbed_begin(session), TESTBED_OK);
    write(Put(session, table, "d", "5"));
    write(testbed_commit(session));
    EXPECT_EQ(testbed_cursor_next(cursor), TESTBED_OK);
    EXPECT_EQ(row(), "d5");
    EXPECT_EQ(testbed_cursor_close(cursor), TESTBED_OK);
    EXPECT_EQ(testbed_session_close(session), TESTBED_OK);
    EXPECT_EQ(testbed_close(engine), TESTBED_OK) << testbed_error();
  }
}

void TakeSetting(void* to, const char* name, const char* value) {
  (*static_cast<std::map<std::string, std::string>*>(to))[name] = value;
}

// Totals get the number 1 before their name, other values 0.
void TakeCounter(void* to, const char* name, uint64_t value, int is_total) {
  (*static_cast<std::map<std::string, uint64_t>*>(to))[std::to_string(is_total) + name] = value;
}

TEST_F(CApi, StatisticsAreThoseOfTheDatabase) {
  std::map<std::string, std::string> settings;
  EXPECT_EQ(testbed_settings(engine_, TakeSetting, &settings), TESTBED_OK) << testbed_error();
  EXPECT_EQ(settings["cache_bytes"], std::to_string(16 << 20));
  EXPECT_EQ(settings["durability"], "lazy");
  EXPECT_EQ(settings["torn_page"], "doublewrite");
  std::map<std::string, uint64_t> before, after;
  EXPECT_EQ(testbed_counters(engine_, TakeCounter, &before), TESTBED_OK) << testbed_error();
  EXPECT_EQ(Put(session_, table_, "a", std::string(1000, 'x')), TESTBED_OK);
  EXPECT_EQ(testbed_checkpoint(engine_), TESTBED_OK) << testbed_error();
  EXPECT_EQ(testbed_counters(engine_, TakeCounter, &after), TESTBED_OK) << testbed_error();
  EXPECT_GE(after["1log_payload_bytes"], before["1log_payload_bytes"] + 1000);
  EXPECT_TRUE(after.contains("1block_requests"));
  EXPECT_GT(after["1blocks_written"], before["1blocks_written"]);
  EXPECT_GE(after["1checkpoints"], before["1checkpoints"] + 1);
  EXPECT_GT(after["0cache_bytes"], 0u);
  EXPECT_GE(after["0file_pages"], 2u);
  EXPECT_EQ(testbed_counters(engine_, nullptr, nullptr), TESTBED_USAGE);
  EXPECT_EQ(testbed_settings(nullptr, TakeSetting, &settings), TESTBED_USAGE);
}

TEST_F(CApi, ABackupIsADatabase) {
  const OwnDir other;
  const std::string copy = other.path() + "/copy";
  EXPECT_EQ(Put(session_, table_, "a", "1"), TESTBED_OK);
  ASSERT_EQ(testbed_backup(engine_, copy.c_str()), TESTBED_OK) << testbed_error();
  EXPECT_EQ(testbed_backup(engine_, copy.c_str()), TESTBED_USAGE);
  EXPECT_THAT(testbed_error(), HasSubstr("is not empty"));
  EXPECT_EQ(testbed_backup(engine_, nullptr), TESTBED_USAGE);
  EXPECT_EQ(testbed_backup(nullptr, copy.c_str()), TESTBED_USAGE);
  EXPECT_EQ(Put(session_, table_, "a", "2"), TESTBED_OK);
  const char* options[] = {"cache_bytes=16M", "create=0", nullptr};
  testbed_engine* engine = nullptr;
  testbed_session* session = nullptr;
  testbed_table table = 0;
  ASSERT_EQ(testbed_open("btree", copy.c_str(), options, &engine), TESTBED_OK) << testbed_error();
  ASSERT_EQ(testbed_open_table(engine, "rows", &table), TESTBED_OK);
  ASSERT_EQ(testbed_session_open(engine, &session), TESTBED_OK);
  EXPECT_EQ(Get(session, table, "a"), "1");
  EXPECT_EQ(testbed_session_close(session), TESTBED_OK);
  EXPECT_EQ(testbed_close(engine), TESTBED_OK) << testbed_error();
}

TEST(CApiCompact, ShortensAClosedDatabase) {
  const OwnDir dir;
  const std::string path = dir.path() + "/database", data = path + "/btree.data";
  const char* options[] = {"cache_bytes=16M", "durability=none", nullptr};
  testbed_engine* engine = nullptr;
  testbed_session* session = nullptr;
  testbed_table table = 0;
  EXPECT_EQ(testbed_compact("btree", path.c_str(), options), TESTBED_USAGE);
  EXPECT_THAT(testbed_error(), HasSubstr("holds no database of btree"));
  EXPECT_EQ(testbed_compact("fractal", path.c_str(), options), TESTBED_USAGE);
  EXPECT_THAT(testbed_error(), HasSubstr("fractal compacts no databases"));
  EXPECT_EQ(testbed_compact(nullptr, path.c_str(), options), TESTBED_USAGE);
  ASSERT_EQ(testbed_open("btree", path.c_str(), options, &engine), TESTBED_OK) << testbed_error();
  ASSERT_EQ(testbed_open_table(engine, "rows", &table), TESTBED_OK);
  ASSERT_EQ(testbed_session_open(engine, &session), TESTBED_OK);
  for (int i = 0; i < 3000; ++i) {
    EXPECT_EQ(Put(session, table, std::to_string(i), std::string(1000, 'x')), TESTBED_OK);
  }
  for (int i = 10; i < 3000; ++i) {
    const std::string key = std::to_string(i);
    EXPECT_EQ(testbed_erase(session, table, key.data(), key.size()), TESTBED_OK);
  }
  EXPECT_EQ(testbed_compact("btree", path.c_str(), options), TESTBED_USAGE) << "it is open";
  EXPECT_EQ(testbed_session_close(session), TESTBED_OK);
  EXPECT_EQ(testbed_close(engine), TESTBED_OK) << testbed_error();
  const auto before = std::filesystem::file_size(data);
  EXPECT_EQ(testbed_compact("btree", path.c_str(), options), TESTBED_OK) << testbed_error();
  EXPECT_LT(std::filesystem::file_size(data), before / 10);
  ASSERT_EQ(testbed_open("btree", path.c_str(), options, &engine), TESTBED_OK) << testbed_error();
  ASSERT_EQ(testbed_open_table(engine, "rows", &table), TESTBED_OK);
  ASSERT_EQ(testbed_session_open(engine, &session), TESTBED_OK);
  EXPECT_EQ(Get(session, table, "9"), std::string(1000, 'x'));
  EXPECT_EQ(Get(session, table, "10"), "status 1");
  EXPECT_EQ(testbed_session_close(session), TESTBED_OK);
  EXPECT_EQ(testbed_close(engine), TESTBED_OK) << testbed_error();
}

TEST(CApiBackup, IsRefusedByAnEngineThatMakesNone) {
  const OwnDir dir;
  const std::string copy = dir.path() + "/copy";
  const char* options[] = {"cache_bytes=16M", nullptr};
  testbed_engine* engine = nullptr;
  ASSERT_EQ(testbed_open("fractal", (dir.path() + "/database").c_str(), options, &engine),
            TESTBED_OK)
      << testbed_error();
  EXPECT_EQ(testbed_backup(engine, copy.c_str()), TESTBED_USAGE);
  EXPECT_THAT(testbed_error(), HasSubstr("fractal makes no backup of a database that is open"));
  EXPECT_FALSE(std::filesystem::exists(copy));
  EXPECT_EQ(testbed_close(engine), TESTBED_OK) << testbed_error();
}

TEST_F(CApi, ATableNumberThatNoTableHasIsRefused) {
  for (const testbed_table table : {0u, table_ + 1, 4095u, 4096u, UINT32_MAX}) {
    testbed_cursor* cursor = nullptr;
    EXPECT_EQ(Get(session_, table, "a"), "status 2") << table;
    EXPECT_THAT(testbed_error(), HasSubstr("was not opened"));
    EXPECT_EQ(Put(session_, table, "a", ""), TESTBED_USAGE) << table;
    EXPECT_EQ(testbed_erase(session_, table, "a", 1), TESTBED_USAGE) << table;
    EXPECT_EQ(testbed_cursor_open(session_, table, &cursor), TESTBED_USAGE) << table;
    EXPECT_EQ(cursor, nullptr);
  }
}

TEST(CApiTable, AWrongNumberIsAWrongArgument) {
  for (const char* const name : {"btree", "fractal"}) {
    SCOPED_TRACE(name);
    const OwnDir dir;
    testbed_engine* engine = nullptr;
    testbed_session* session = nullptr;
    testbed_table table = 0;
    ASSERT_NO_FATAL_FAILURE(OpenRows(name, dir, &engine, &session, &table));
    EXPECT_EQ(testbed_begin(session), TESTBED_OK);
    EXPECT_EQ(Put(session, table + 1, "a", "1"), TESTBED_USAGE);
    EXPECT_EQ(Put(session, table, "a", "2"), TESTBED_OK) << "nothing was changed";
    EXPECT_EQ(testbed_commit(session), TESTBED_OK) << testbed_error();
    EXPECT_EQ(Get(session, table + 1, "a"), "status " + std::to_string(TESTBED_USAGE));
    EXPECT_EQ(Get(session, table, "a"), "2");
    EXPECT_EQ(testbed_session_close(session), TESTBED_OK);
    EXPECT_EQ(testbed_close(engine), TESTBED_OK);
  }
}

// The lock of their libraries is that of the thread that wrote first, which alone can give it back.
TEST(CApiThreads, ATransactionThatAnotherThreadCannotEndStaysOpen) {
  for (size_t i = 0; const char* const name = testbed_engine_name(i); ++i) {
    if (!Has({"lmdb", "mdbx"}, name)) continue;
    SCOPED_TRACE(name);
    const OwnDir dir;
    testbed_engine* engine = nullptr;
    testbed_session* session = nullptr;
    testbed_table table = 0;
    ASSERT_NO_FATAL_FAILURE(OpenRows(name, dir, &engine, &session, &table));
    for (const bool commits : {true, false}) {
      const std::string key = commits ? "committed" : "rolled back";
      EXPECT_EQ(testbed_begin(session), TESTBED_OK) << testbed_error();
      EXPECT_EQ(Put(session, table, key, "1"), TESTBED_OK) << testbed_error();
      std::thread([&] {
        const auto refused = [](testbed_status status) {
          EXPECT_EQ(status, TESTBED_FAILED);
          EXPECT_THAT(testbed_error(), HasSubstr("it must write and end there"));
        };
        refused(testbed_commit(session));
        refused(testbed_rollback(session));
        refused(Put(session, table, "elsewhere", "2"));
      }).join();
      EXPECT_EQ(testbed_begin(session), TESTBED_USAGE);
      EXPECT_THAT(testbed_error(), HasSubstr("a transaction is open"));
      EXPECT_EQ(commits ? testbed_commit(session) : testbed_rollback(session), TESTBED_OK)
          << testbed_error();
      EXPECT_EQ(Get(session, table, key), commits ? "1" : "status 1");
      EXPECT_EQ(Get(session, table, "elsewhere"), "status 1");
      std::thread([&] {
        EXPECT_EQ(Put(session, table, "free", "3"), TESTBED_OK) << testbed_error();
      }).join();
    }
    EXPECT_EQ(testbed_session_close(session), TESTBED_OK) << testbed_error();
    EXPECT_EQ(testbed_close(engine), TESTBED_OK) << testbed_error();
  }
}

TEST_F(CApi, ASessionThatIsClosedRollsBack) {
  testbed_session* other = nullptr;
  ASSERT_EQ(testbed_session_open(engine_, &other), TESTBED_OK);
  EXPECT_EQ(testbed_begin(other), TESTBED_OK);
  EXPECT_EQ(Put(other, table_, "a", "1"), TESTBED_OK);
  EXPECT_EQ(testbed_session_close(other), TESTBED_OK);
  EXPECT_EQ(Get(session_, table_, "a"), "status 1");
}

TEST_F(CApi, AForkedChildCannotCloseADatabaseThatHasSessions) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(60);
    ::_exit(testbed_close(engine_));
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), TESTBED_USAGE);
  EXPECT_EQ(Put(session_, table_, "a", "1"), TESTBED_OK) << testbed_error();
}

TEST_F(CApi, TheSentenceIsTheThreadsOwn) {
  EXPECT_EQ(testbed_commit(session_), TESTBED_USAGE);
  std::string there = "not asked";
  std::thread([&] { there = testbed_error(); }).join();
  EXPECT_EQ(there, "");
  EXPECT_THAT(testbed_error(), HasSubstr("no transaction is open"));
}

struct MisuseAtItsEnd {
  std::string* sentence = nullptr;
  ~MisuseAtItsEnd() {
    if (sentence == nullptr) return;
    if (testbed_commit(nullptr) == TESTBED_USAGE) *sentence = testbed_error();
  }
};

// A function of atexit(3) runs after the thread_local objects of the main thread are destroyed.
// Here the destructor of a thread's first one runs after those of the library.
TEST(CApiErrors, AreSentencesUntilTheThreadHasEnded) {
  std::string sentence;
  std::thread([&sentence] {
    thread_local MisuseAtItsEnd last;
    last.sentence = &sentence;
    EXPECT_EQ(testbed_begin(nullptr), TESTBED_USAGE);
  }).join();
  EXPECT_EQ(sentence, "the session is null");
}

struct CallsOfAThread {
  testbed_engine* engine;
  testbed_session* session;
  testbed_table table;
  testbed_status put, checkpoint;
};

// A checkpoint makes system calls that are cancellation points.
void* BeCancelledAndCall(void* given) {
  auto* const calls = static_cast<CallsOfAThread*>(given);
  pthread_cancel(pthread_self());
  calls->put = testbed_put(calls->session, calls->table, "a", 1, "1", 1);
  calls->checkpoint = testbed_checkpoint(calls->engine);
  pthread_testcancel();
  return nullptr;
}

TEST_F(CApi, AThreadIsCancelledAfterItsCall) {
  CallsOfAThread calls = {engine_, session_, table_, TESTBED_FAILED, TESTBED_FAILED};
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, nullptr, BeCancelledAndCall, &calls), 0);
  void* end = nullptr;
  ASSERT_EQ(pthread_join(thread, &end), 0);
  EXPECT_EQ(end, PTHREAD_CANCELED);
  EXPECT_EQ(calls.put, TESTBED_OK);
  EXPECT_EQ(calls.checkpoint, TESTBED_OK);
  EXPECT_EQ(Get(session_, table_, "a"), "1");
}

TEST(CApiClose, SaysThatCommitsAreNotDurable) {
  const OwnDir dir;
  FailingDisk disk(dir.path());
  const std::string path = dir.path() + "/database";
  const char* options[] = {"cache_bytes=16M", "lazy_interval_ms=3600000", nullptr};
  testbed_engine* engine = nullptr;
  testbed_session* session = nullptr;
  testbed_table table = 0;
  ASSERT_EQ(testbed_open("btree", path.c_str(), options, &engine), TESTBED_OK) << testbed_error();
  ASSERT_EQ(testbed_open_table(engine, "rows", &table), TESTBED_OK) << testbed_error();
  ASSERT_EQ(testbed_session_open(engine, &session), TESTBED_OK);
  ASSERT_EQ(Put(session, table, "a", "1"), TESTBED_OK) << testbed_error();
  ASSERT_EQ(testbed_session_close(session), TESTBED_OK);
  disk.Fail({DiskCall::kSync, 0, EIO, true});
  EXPECT_EQ(testbed_close(engine), TESTBED_IO);
  EXPECT_STRNE(testbed_error(), "");
  disk.Heal();
  // The handle is gone, and with it the lock of the database.
  EXPECT_EQ(testbed_open("btree", path.c_str(), options, &engine), TESTBED_OK) << testbed_error();
  EXPECT_EQ(testbed_close(engine), TESTBED_OK) << testbed_error();
}

TEST(CApiOpen, TheWorkingDirectoryMayChange) {
  const OwnDir dir;
  const std::filesystem::path before = std::filesystem::current_path();
  const char* options[] = {"cache_bytes=16M", nullptr};
  testbed_engine* engine = nullptr;
  testbed_session* session = nullptr;
  testbed_table table = 0;
  std::filesystem::current_path(dir.path());
  const testbed_status opened = testbed_open("btree", "database", options, &engine);
  std::filesystem::current_path("/");
  EXPECT_EQ(opened, TESTBED_OK) << testbed_error();
  if (opened == TESTBED_OK) {
    EXPECT_EQ(testbed_open_table(engine, "rows", &table), TESTBED_OK) << testbed_error();
    EXPECT_EQ(testbed_session_open(engine, &session), TESTBED_OK);
    EXPECT_EQ(Put(session, table, "a", "1"), TESTBED_OK) << testbed_error();
    EXPECT_EQ(testbed_session_close(session), TESTBED_OK);
    EXPECT_EQ(testbed_close(engine), TESTBED_OK) << testbed_error();
  }
  std::filesystem::current_path(before);
}

void TakeBrokenPipe(int) {}

// MariaDB's client library has the signal ignored when it is called for the first time.
TEST(CApiOpen, AHandlerOfABrokenPipeStays) {
  const OwnDir dir;
  const std::string path = dir.path() + "/database";
  const char* options[] = {"connect=mysql://nobody@127.0.0.1:1/", nullptr};
  struct sigaction own = {}, before = {}, after = {};
  own.sa_handler = TakeBrokenPipe;
  for (size_t i = 0; const char* const name = testbed_engine_name(i); ++i) {
    if (!Has({"mysql"}, name)) continue;
    testbed_engine* engine = nullptr;
    ASSERT_EQ(::sigaction(SIGPIPE, &own, &before), 0);
    EXPECT_EQ(testbed_open(name, path.c_str(), options, &engine), TESTBED_USAGE);
    EXPECT_THAT(testbed_error(), HasSubstr("cannot connect to the server at 127.0.0.1:1"));
    ASSERT_EQ(::sigaction(SIGPIPE, &before, &after), 0);
    EXPECT_EQ(after.sa_handler, &TakeBrokenPipe);
  }
}

TEST(CApiOpen, WrongOptionsMakeNothing) {
  const OwnDir dir;
  const std::string path = dir.path() + "/database";
  testbed_engine* engine = nullptr;
  const auto refused = [&](const char* name, const char* option) {
    const char* options[] = {option, nullptr};
    EXPECT_EQ(testbed_open(name, path.c_str(), options, &engine), TESTBED_USAGE) << option;
    return std::string(testbed_error());
  };
  EXPECT_THAT(refused("btree", "io"), HasSubstr("is not name=value"));
  EXPECT_THAT(refused("btree", "io=fast"), HasSubstr("it accepts direct, buffered, mmap"));
  EXPECT_THAT(refused("btree", "page_size=5000"), HasSubstr("powers of two"));
  EXPECT_THAT(refused("btree", "create=0"), HasSubstr("holds no database of btree"));
  EXPECT_THAT(refused("btree", "colour=red"), HasSubstr("colour"));
  // torn_page depends on the file system, so the engine asks once the directory is there.
  EXPECT_THAT(refused("btree", "torn_page=atomic"), HasSubstr("needs --io direct"));
  EXPECT_THAT(refused("elm", "io=mmap"), HasSubstr("elm is not known"));
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace testbed
