// Benchmarks of Get and Put at the Engine interface, for every engine of this build, including the
// null engine: the time of a row without the harness.
//
//   engine_bench --benchmark_filter=Get
//
// Gets read from 100,000 rows of 16 + 100 bytes, all of which are in the engine's cache or, if it
// has none, in the page cache. Each value is touched, as workloads touch it: an engine may return a
// pointer into a mapping, and then nothing of the value has been read. Puts write random keys with
// durability lazy, alone and in transactions of 100. An item is a row. The databases are in the
// working directory while the program runs.
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "engines/engine.h"
#include "engines/registry.h"
#include "workloads/consume.h"

namespace testbed {
namespace {

constexpr uint64_t kRows = 100000;
constexpr size_t kValueSize = 100;
using Key = std::array<char, 16>;

// Returns the key of a row as db_bench makes it: the number in eight bytes, big-endian, and
// padding.
Key MakeKey(uint64_t row) {
  Key key;
  key.fill('0');
  for (int i = 0; i < 8; ++i) key[i] = static_cast<char>(row >> (56 - 8 * i));
  return key;
}

std::string_view View(const Key& key) { return {key.data(), key.size()}; }

// Returns random keys, more than the processor's branch predictors and caches can learn.
std::vector<Key> RandomKeys(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Key> keys(1 << 17);
  for (Key& key : keys) key = MakeKey(random() % kRows);
  return keys;
}

// A Database is made for one benchmark and removed after it.
class Database {
 public:
  explicit Database(const std::string& engine) {
    std::string pattern = std::filesystem::current_path() / "engine_bench_XXXXXX";
    dir_ = mkdtemp(pattern.data());
    EngineOptions options = DefaultEngineOptions(FindEngine(engine));
    options.cache_bytes = 256 << 20;
    engine_ = OpenEngine(engine, dir_, options);
    table_ = engine_->OpenTable("default");
  }
  ~Database() {
    engine_.reset();
    std::filesystem::remove_all(dir_);
  }
  void Load() {
    const std::unique_ptr<Session> session = engine_->NewSession();
    std::string value(kValueSize, 'v');
    for (uint64_t row = 0; row < kRows;) {
      session->Begin();
      for (const uint64_t end = row + 1000; row < end; ++row) {
        const Key key = MakeKey(row);
        std::memcpy(value.data(), key.data(), key.size());
        session->Put(table_, View(key), value);
      }
      session->Commit();
    }
    engine_->Settle();
    Consumer touch(Consume::kTouch);
    std::string_view read;
    for (uint64_t row = 0; row < kRows; ++row) {
      if (session->Get(table_, View(MakeKey(row)), &read)) touch(read);
    }
  }
  Engine* engine() { return engine_.get(); }
  TableId table() const { return table_; }

 private:
  std::string dir_;
  std::unique_ptr<Engine> engine_;
  TableId table_ = 0;
};

void Get(benchmark::State& state, const std::string& engine) {
  Database database(engine);
  database.Load();
  const std::unique_ptr<Session> session = database.engine()->NewSession();
  const std::vector<Key> keys = RandomKeys(301);
  Consumer touch(Consume::kTouch);
  std::string_view value;
  size_t i = 0;
  for ([[maybe_unused]] auto _ : state) {
    if (!session->Get(database.table(), View(keys[i++ & (keys.size() - 1)]), &value)) {
      state.SkipWithError("a row is missing");
      break;
    }
    touch(value);
  }
  state.SetItemsProcessed(state.iterations());
}

void Put(benchmark::State& state, const std::string& engine, int rows_per_transaction) {
  Database database(engine);
  const std::unique_ptr<Session> session = database.engine()->NewSession();
  const std::vector<Key> keys = RandomKeys(302);
  const std::string value(kValueSize, 'v');
  size_t i = 0;
  for ([[maybe_unused]] auto _ : state) {
    if (rows_per_transaction == 1) {
      session->Put(database.table(), View(keys[i++ & (keys.size() - 1)]), value);
      continue;
    }
    session->Begin();
    for (int row = 0; row < rows_per_transaction; ++row) {
      session->Put(database.table(), View(keys[i++ & (keys.size() - 1)]), value);
    }
    session->Commit();
  }
  state.SetItemsProcessed(state.iterations() * rows_per_transaction);
}

void RegisterAll() {
  for (const EngineInfo& info : Engines()) {
    // An engine that lacks what it needs on this machine, or cannot do what is timed, is left out.
    if (info.missing != nullptr && !info.missing().empty()) continue;
    if (info.capabilities.server) continue;  // the time would be mostly that of its server
    const std::string name = info.name;
    if (info.capabilities.reads && info.capabilities.persistent) {
      benchmark::RegisterBenchmark(("Get/" + name).c_str(),
                                   [name](benchmark::State& state) { Get(state, name); });
    }
    benchmark::RegisterBenchmark(("Put/" + name).c_str(),
                                 [name](benchmark::State& state) { Put(state, name, 1); });
    if (!info.capabilities.transactions) continue;
    benchmark::RegisterBenchmark(("PutInTransaction/" + name).c_str(),
                                 [name](benchmark::State& state) { Put(state, name, 100); });
  }
}

// Registers the benchmarks before main(), which is in benchmark's library.
[[maybe_unused]] const bool registered = (RegisterAll(), true);

}  // namespace
}  // namespace testbed
