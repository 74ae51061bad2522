// What a program expects of a library that it embeds (docs/embedding.md).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "embed/testbed/btree.h"
#include "embed/testbed/engines.h"
#include "tests/own_dir.h"

namespace testbed {
namespace {

EngineOptions Small() {
  EngineOptions options;
  options.cache_bytes = 16 << 20;
  return options;
}

std::vector<void (*)(int)> Handlers() {
  std::vector<void (*)(int)> handlers;
  for (int number = 1; number < 32; ++number) {
    struct sigaction action = {};
    sigaction(number, nullptr, &action);
    handlers.push_back(action.sa_handler);
  }
  return handlers;
}

// Returns the signals that the thread blocks.
std::vector<int> Blocked() {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  std::vector<int> blocked;
  for (int number = 1; number < 32; ++number) {
    if (sigismember(&mask, number) == 1) blocked.push_back(number);
  }
  return blocked;
}

void Write(Engine* engine, const std::string& prefix, const std::string& value) {
  const TableId table = engine->OpenTable("rows");
  const auto session = engine->NewSession();
  for (int i = 0; i < 300; ++i) session->Put(table, prefix + std::to_string(i), value);
}

int Rows(Engine* engine, const std::string& value) {
  const TableId table = engine->OpenTable("rows");
  const auto session = engine->NewSession();
  const auto cursor = session->NewCursor(table);
  int rows = 0;
  for (bool row = cursor->First(); row; row = cursor->Next()) rows += cursor->value() == value;
  return rows;
}

TEST(EmbeddedBtree, TwoDatabasesShareNothing) {
  const OwnDir dir;
  const std::array<std::string, 2> values = {"first", "second"};
  std::array<std::unique_ptr<Engine>, 2> engines;
  for (size_t i = 0; i < 2; ++i) engines[i] = OpenBtree(dir.path() + "/" + values[i], Small());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 2; ++i) {
    for (const char* prefix : {"a", "b"}) {
      threads.emplace_back([&, i, prefix] { Write(engines[i].get(), prefix, values[i]); });
    }
  }
  for (std::thread& thread : threads) thread.join();
  engines[0].reset();
  EXPECT_EQ(Rows(engines[1].get(), "second"), 600);
  engines[0] = OpenBtree(dir.path() + "/first", Small());
  EXPECT_EQ(Rows(engines[0].get(), "first"), 600);
}

TEST(EmbeddedBtree, OutlivesAChangeOfTheWorkingDirectory) {
  const OwnDir dir;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(dir.path());
  {
    const auto engine = OpenBtree("database", Small());
    std::filesystem::current_path("/");
    EXPECT_NO_THROW(Write(engine.get(), "a", "value"));
    EXPECT_NO_THROW(engine->Checkpoint());
  }
  std::filesystem::current_path(before);
  EXPECT_EQ(Rows(OpenBtree(dir.path() + "/database", Small()).get(), "value"), 300);
}

TEST(EmbeddedBtree, ABackupIsADatabaseAndEachThreadMayMakeOne) {
  const OwnDir dir;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(dir.path());
  const auto engine = OpenBtree("database", Small());
  Write(engine.get(), "a", "value");
  const auto reader = engine->NewSession();
  reader->Begin();
  reader->Put(engine->OpenTable("rows"), "uncommitted", "value");
  std::vector<std::thread> threads;
  for (const char* copy : {"first", "second"}) {
    threads.emplace_back([&engine, copy] { EXPECT_NO_THROW(engine->Backup(copy)); });
  }
  for (std::thread& thread : threads) thread.join();
  std::filesystem::current_path(before);
  reader->Commit();
  EXPECT_TRUE(BtreeEngineInfo().capabilities.backup);
  for (const char* copy : {"/first", "/second"}) {
    EXPECT_EQ(Rows(OpenBtree(dir.path() + copy, Small()).get(), "value"), 300);
  }
  EXPECT_EQ(Rows(engine.get(), "value"), 301);
  EXPECT_THROW(engine->Backup(dir.path() + "/first"), Error);
  EXPECT_THROW(engine->Backup(""), Error);
}

TEST(EmbeddedBtree, ACompactedDatabaseHasItsTablesAndRows) {
  const OwnDir dir;
  EXPECT_THROW(CompactBtree(dir.path() + "/none", Small()), Error);
  EXPECT_FALSE(std::filesystem::exists(dir.path() + "/none"));
  TableId second = 0;
  {
    const auto engine = OpenBtree(dir.path(), Small());
    Write(engine.get(), "a", "value");
    second = engine->OpenTable("second");
    engine->NewSession()->Put(second, "key", "row");
    EXPECT_THROW(CompactBtree(dir.path(), Small()), Error) << "it is open";
  }
  CompactBtree(dir.path(), Small());
  const auto engine = OpenBtree(dir.path(), Small());
  EXPECT_EQ(Rows(engine.get(), "value"), 300);
  EXPECT_EQ(engine->OpenTable("second"), second);
  std::string_view value;
  const auto session = engine->NewSession();
  EXPECT_TRUE(session->Get(second, "key", &value));
  EXPECT_EQ(value, "row");
}

// A static Engine is destroyed at exit(3) after all thread_local objects of the main thread, those
// of the library among them. Here one of a thread is, because it was made before them.
TEST(EmbeddedEngine, IsClosedByTheLastObjectOfAThread) {
  for (const EngineInfo& info : Engines()) {
    if (info.name != "btree" && info.name != "fractal") continue;
    SCOPED_TRACE(info.name);
    const OwnDir dir;
    EngineOptions options = DefaultEngineOptions(info);
    options.cache_bytes = 16 << 20;
    options.compression = "zstd";
    std::thread([&dir, &info, &options] {
      thread_local std::unique_ptr<Engine> last;
      last = OpenEngine(info.name, dir.path(), options);
      Write(last.get(), "a", "value");
      last->Checkpoint();  // this thread compresses the pages, and so does the close
      Write(last.get(), "b", "value");
    }).join();
    EXPECT_EQ(Rows(OpenEngine(info.name, dir.path(), options).get(), "value"), 600);
  }
}

// testbed_engine.h and docs/embedding.md tell these defaults to programs that give no options.
TEST(EmbeddedBtree, HasTheDefaultsThatTheHeaderTells) {
  const EngineOptions options = DefaultEngineOptions(FindEngine("btree"));
  EXPECT_TRUE(options.create);
  EXPECT_EQ(options.io, IoMode::kBuffered);
  EXPECT_EQ(options.page_size, 8192u);
  EXPECT_EQ(options.cache_bytes, 67108864u);
  EXPECT_EQ(options.ram_bytes, 0u);
  EXPECT_EQ(options.durability, Durability::kLazy);
  EXPECT_EQ(options.lazy_interval_ms, 100u);
  EXPECT_EQ(options.compression, "none");
}

std::string CacheBytes(const Engine& engine) {
  for (const auto& [name, value] : engine.EffectiveSettings()) {
    if (name == "cache_bytes") return value;
  }
  return "no setting";
}

// It would hold more than it was given.
TEST(EmbeddedBtree, ACacheOfTooFewPagesIsRefusedByTheOpeningAndByResizeCache) {
  const OwnDir dir;
  EngineOptions tiny = Small();
  tiny.cache_bytes = 1 << 10;
  EXPECT_THROW(OpenBtree(dir.path(), tiny), Error);
  const auto engine = OpenBtree(dir.path(), Small());
  Write(engine.get(), "a", "value");
  EXPECT_FALSE(engine->ResizeCache(tiny.cache_bytes));
  EXPECT_FALSE(engine->ResizeCache(0));
  EXPECT_EQ(CacheBytes(*engine), std::to_string(16 << 20));
  EXPECT_TRUE(engine->ResizeCache(8 << 20));
  EXPECT_EQ(CacheBytes(*engine), std::to_string(8 << 20));
  EXPECT_EQ(Rows(engine.get(), "value"), 300);
}

TEST(EmbeddedBtree, LeavesSignalsAlone) {
  const OwnDir dir;
  const auto handlers = Handlers();
  const auto blocked = Blocked();
  auto engine = OpenBtree(dir.path(), Small());
  Write(engine.get(), "a", "value");
  engine->Checkpoint();
  EXPECT_EQ(Handlers(), handlers);
  EXPECT_EQ(Blocked(), blocked);
  engine.reset();
  EXPECT_EQ(Handlers(), handlers);
  EXPECT_EQ(Blocked(), blocked);
}

// Returns how many of the calls that a forked child may not make are refused to it.
int RefusedInChild(Engine* engine) {
  int refused = 0;
  const auto expect_error = [&refused](auto call) {
    try {
      call();
    } catch (const Error&) {
      ++refused;
    }
  };
  expect_error([&] { engine->OpenTable("other"); });
  expect_error([&] { (void)engine->NewSession(); });
  expect_error([&] { engine->Flush(); });
  expect_error([&] { engine->Checkpoint(); });
  expect_error([&] { engine->Settle(); });
  expect_error([&] { engine->ResizeCache(8 << 20); });
  expect_error([&] { engine->Backup("never"); });
  expect_error([&] { (void)engine->Counters(); });
  expect_error([&] { (void)engine->EffectiveSettings(); });
  expect_error([&] { (void)engine->SizeOnDisk(); });
  return refused;
}

TEST(EmbeddedBtree, IsNeitherUsedNorClosedByAForkedChild) {
  const OwnDir dir;
  auto engine = OpenBtree(dir.path(), Small());
  Write(engine.get(), "a", "value");
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(60);  // the child would wait for threads that it does not have
    const int refused = RefusedInChild(engine.get());
    engine.reset();
    ::_exit(refused);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 10);
  Write(engine.get(), "b", "value");
  engine.reset();
  EXPECT_EQ(Rows(OpenBtree(dir.path(), Small()).get(), "value"), 600);
}

// A worker that was forked while the database was open lives on when it is closed.
TEST(EmbeddedBtree, OpensAgainWhileAForkedChildLives) {
  const OwnDir dir;
  auto engine = OpenBtree(dir.path(), Small());
  Write(engine.get(), "a", "value");
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::close(ends[1]);
    char byte;
    ::_exit(::read(ends[0], &byte, 1) == 0 ? 0 : 1);  // returns when the parent has closed its end
  }
  engine.reset();
  int rows = 0;
  EXPECT_NO_THROW(rows = Rows(OpenBtree(dir.path(), Small()).get(), "value"));
  EXPECT_EQ(rows, 300);
  ::close(ends[0]);
  ::close(ends[1]);
  ::waitpid(child, nullptr, 0);
}

// A program that has closed its standard streams prints into whatever has their descriptors.
TEST(EmbeddedBtree, NothingThatIsPrintedReachesItsFiles) {
  const OwnDir dir;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    for (const int fd : {0, 1, 2}) ::close(fd);
    int printed = 0;
    try {
      const auto engine = OpenBtree(dir.path(), Small());
      Write(engine.get(), "a", "value");
      for (const int fd : {0, 1, 2}) printed += ::write(fd, "printed", 7) == 7;
    } catch (const std::exception&) {
      printed = 9;
    }
    ::_exit(printed);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Rows(OpenBtree(dir.path(), Small()).get(), "value"), 300);
}

std::string SentenceOfTable(Engine* engine, const std::string& name) {
  try {
    engine->OpenTable(name);
  } catch (const Error& e) {
    return e.kind() == Error::kUsage ? e.what() : "another kind";
  }
  return "no error";
}

// The limits that docs/embedding.md tells.
TEST(EmbeddedBtree, TakesWhatIsWithinItsLimitsAndNothingBeyond) {
  const OwnDir dir;
  EngineOptions options = Small();
  options.page_size = 4096;
  options.durability = Durability::kNone;
  const std::string longest(512, 'k');
  EXPECT_EQ(BtreeEngineInfo().capabilities.max_value_size, size_t{1} << 30);
  {
    const auto engine = OpenBtree(dir.path(), options);
    for (int i = 1; i < 4095; ++i) engine->OpenTable(std::to_string(i));
    EXPECT_THAT(SentenceOfTable(engine.get(), longest + "k"), testing::HasSubstr("is longer than"));
    const TableId last = engine->OpenTable(longest);
    EXPECT_THAT(SentenceOfTable(engine.get(), "x"), testing::HasSubstr("more than 4095 tables"));
    const auto session = engine->NewSession();
    session->Put(last, longest, "1");
    EXPECT_THROW(session->Put(last, longest + "k", "1"), Error);
    // A value is refused for its length alone: its bytes are not read.
    const std::string_view too_long(longest.data(), (size_t{1} << 30) + 1);
    EXPECT_THROW(session->Put(last, "a", too_long), Error);
    EXPECT_EQ(engine->OpenTable("4094"), 4094u);
  }
  const auto engine = OpenBtree(dir.path(), options);
  EXPECT_THAT(SentenceOfTable(engine.get(), "x"), testing::HasSubstr("more than 4095 tables"));
  const auto session = engine->NewSession();
  std::string_view value;
  EXPECT_TRUE(session->Get(engine->OpenTable(longest), longest, &value));
  EXPECT_EQ(value, "1");
  EXPECT_FALSE(session->Get(engine->OpenTable("4094"), longest + "k", &value));
}

TEST(EmbeddedBtree, ASessionThatEndsInATransactionRollsItBack) {
  const OwnDir dir;
  const auto engine = OpenBtree(dir.path(), Small());
  const TableId table = engine->OpenTable("rows");
  {
    const auto ending = engine->NewSession();
    ending->Begin();
    ending->Put(table, "a", "value");
    const auto cursor = ending->NewCursor(table);
    EXPECT_TRUE(cursor->First());
  }
  EXPECT_EQ(Rows(engine.get(), "value"), 0);
  engine->NewSession()->Put(table, "a", "value");  // nobody holds the row
  EXPECT_EQ(Rows(engine.get(), "value"), 1);
}

TEST(EmbeddedBtree, MisuseIsAnError) {
  const OwnDir dir;
  const auto engine = OpenBtree(dir.path(), Small());
  EXPECT_THROW(OpenBtree(dir.path(), Small()), Error);  // it is open
  EngineOptions none = Small();
  none.create = false;
  EXPECT_THROW(OpenBtree(dir.path() + "/absent", none), Error);
  EngineOptions odd = Small();
  odd.page_size = 5000;
  EXPECT_THROW(OpenBtree(dir.path() + "/odd", odd), Error);
  const auto session = engine->NewSession();
  std::string_view value;
  EXPECT_THROW(session->Get(77, "a", &value), Error);
  EXPECT_THROW(session->Commit(), Error);
  const TableId table = engine->OpenTable("rows");
  EXPECT_THROW(session->Put(table, std::string(60000, 'k'), ""), Error);
  session->Put(table, "a", "1");
  EXPECT_TRUE(session->Get(table, "a", &value));
}

TEST(OwnEngine, ThatLacksWhatAllEnginesHaveIsRefused) {
  const auto refused = [](void (*take)(EngineInfo*)) {
    EngineInfo info = BtreeEngineInfo();
    info.name = "alder";
    take(&info);
    EXPECT_THROW(AddEngine(info), Error);
  };
  refused([](EngineInfo* info) { info->name.clear(); });
  refused([](EngineInfo* info) { info->recognises = nullptr; });
  refused([](EngineInfo* info) { info->open = nullptr; });
  refused([](EngineInfo* info) { info->capabilities.io_modes.clear(); });
  refused([](EngineInfo* info) { info->capabilities.durabilities.clear(); });
  refused([](EngineInfo* info) { info->capabilities.compressions.clear(); });
  EXPECT_THROW(FindEngine("alder"), Error);
}

TEST(OwnEngine, IsOpenedByNameAndItsNameIsItsOwn) {
  const OwnDir dir;
  EngineInfo info = BtreeEngineInfo();
  EXPECT_THROW(AddEngine(info), Error);
  info.name = "oak";
  info.recognises = [](const std::string&) { return false; };
  AddEngine(info);
  EngineOptions options = DefaultEngineOptions(FindEngine("oak"));
  options.cache_bytes = 16 << 20;
  EXPECT_EQ(OpenEngine("oak", dir.path(), options)->name(), "btree");
}

}  // namespace
}  // namespace testbed
