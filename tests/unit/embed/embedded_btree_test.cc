// What a program expects of a library that it embeds (docs/embedding.md).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "embed/testbed/btree.h"
#include "embed/testbed/engines.h"
#include "tests/unit/embed/own_dir.h"

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

TEST(EmbeddedBtree, LeavesSignalsAlone) {
  const OwnDir dir;
  const auto before = Handlers();
  const auto engine = OpenBtree(dir.path(), Small());
  Write(engine.get(), "a", "value");
  EXPECT_EQ(Handlers(), before);
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
