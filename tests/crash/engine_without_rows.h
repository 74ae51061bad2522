// An engine for tests of `testbed crashtest` itself, and the options of such a test. The engine
// keeps no rows, and its only file is empty, so a round on it shows what the crash test does with
// errors that the test makes.
#ifndef TESTBED_TESTS_CRASH_ENGINE_WITHOUT_ROWS_H_
#define TESTBED_TESTS_CRASH_ENGINE_WITHOUT_ROWS_H_

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engines/registry.h"
#include "tools/crashtest/crashtest.h"
#include "tools/options.h"
#include "workloads/random.h"

namespace testbed {

// Calls a function for each commit, and one for each point read.
class SessionWithoutRows : public Session {
 public:
  SessionWithoutRows(std::function<void()> commit, std::function<void()> get)
      : commit_(std::move(commit)), get_(std::move(get)) {}
  void Begin() override {}
  void Commit() override { commit_(); }
  void Rollback() override {}
  bool Get(TableId, std::string_view, std::string_view*) override {
    get_();
    return false;
  }
  void Put(TableId, std::string_view, std::string_view) override {}
  void Erase(TableId, std::string_view) override {}
  std::unique_ptr<Cursor> NewCursor(TableId) override { return nullptr; }

 private:
  std::function<void()> commit_, get_;
};

class EngineWithoutRows : public Engine {
 public:
  EngineWithoutRows(std::string name, std::function<void()> commit, std::function<void()> get)
      : name_(std::move(name)), commit_(std::move(commit)), get_(std::move(get)) {}
  std::string name() const override { return name_; }
  TableId OpenTable(const std::string&) override { return 0; }
  std::unique_ptr<Session> NewSession() override {
    return std::make_unique<SessionWithoutRows>(commit_, get_);
  }
  void Flush() override {}
  void Checkpoint() override {}
  void Settle() override {}
  std::vector<std::pair<std::string, std::string>> EffectiveSettings() const override { return {}; }
  EngineCounters Counters() const override { return {}; }
  DiskSize SizeOnDisk() const override { return {}; }

 private:
  const std::string name_;
  const std::function<void()> commit_, get_;
};

// Returns what the crash test asks of such an engine, without its opening.
inline EngineInfo InfoWithoutRows(const std::string& name) {
  EngineInfo info;
  info.name = name;
  info.summary = "keeps nothing, for a test";
  info.version = "1";
  info.capabilities.io_modes = {IoMode::kBuffered};
  info.capabilities.durabilities = {Durability::kSync, Durability::kLazy};
  info.capabilities.compressions = {"none"};
  info.capabilities.max_key_size = info.capabilities.max_value_size = SIZE_MAX;
  info.recognises = [](const std::string&) { return false; };
  return info;
}

// Registers such an engine. Its opening calls `open`, each commit calls `commit`, and each point
// read calls `get`. The clients of a crash test read nothing; its verifier does.
inline void AddEngineWithoutRows(
    const std::string& name, std::function<void()> open, std::function<void()> commit,
    std::function<void()> get = [] {}) {
  EngineInfo info = InfoWithoutRows(name);
  // OpenEngine opens an existing database only when the engine recognises it.
  const std::string made = "/" + name + ".made";
  info.recognises = [made](const std::string& dir) { return std::filesystem::exists(dir + made); };
  info.open = [name, made, open = std::move(open), commit = std::move(commit),
               get = std::move(get)](const std::string& dir, const EngineOptions&) {
    open();
    const std::ofstream file(dir + made);
    return std::make_unique<EngineWithoutRows>(name, commit, get);
  };
  AddEngine(info);
}

// Returns the options of a crash test of that engine that is as short as can be: one client, which
// commits durably, and crashes that come at once. `where` are the words that give the database its
// place.
inline CrashtestOptions ShortCrashtest(const std::string& engine,
                                       const std::vector<std::string>& where) {
  std::vector<std::string> words = {"--engine", engine, "--io", "buffered"};
  words.insert(words.end(), {"--durability", "sync", "--rows", "1", "--quiet"});
  words.insert(words.end(), where.begin(), where.end());
  CrashtestOptions options;
  options.run = ParseRunOptions(words);
  options.run.Resolve();
  options.writers = 1;
  options.longest_ms = 1;
  return options;
}

// Returns a seed with which the first crash comes where the draw, of 0 to 99, is below `end` and at
// least `begin` (AnyPlace, tools/crashtest/crash_kind.h).
inline uint64_t SeedOfFirstCrash(uint64_t end, uint64_t begin = 0) {
  const auto draw = [](uint64_t tried) { return Random(tried).Below(100); };
  uint64_t seed = 1;
  while (draw(seed) < begin || draw(seed) >= end) ++seed;
  return seed;
}

}  // namespace testbed

#endif  // TESTBED_TESTS_CRASH_ENGINE_WITHOUT_ROWS_H_
