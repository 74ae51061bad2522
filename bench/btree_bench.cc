// Benchmarks of the b-tree's inner loops: search in a node, fix and unfix of a page in the pool,
// and gets and puts of cached rows.
//
//   btree_bench --benchmark_filter=Get
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "engines/btree/page/node.h"
#include "engines/btree/store/store.h"
#include "engines/registry.h"

namespace testbed::btree {
namespace {

std::string KeyOf(uint64_t i) {
  const uint64_t big_endian = __builtin_bswap64(i);
  return std::string(reinterpret_cast<const char*>(&big_endian), 8);
}

void NodeSearch(benchmark::State& state) {
  const auto page_size = static_cast<uint32_t>(state.range(0));
  AlignedBuffer page(page_size);
  Node node(page.data(), page_size);
  node.Init(1, 1, PageType::kLeaf, 0, {}, {}, true);
  std::vector<std::string> keys;
  const std::string value(100, 'v');
  for (uint64_t i = 0;; i += 3) {
    keys.push_back(KeyOf(i));
    if (!node.InsertLeaf(node.count(), keys.back(), {value, false})) break;
  }
  keys.pop_back();
  std::mt19937 random(1);
  std::shuffle(keys.begin(), keys.end(), random);
  size_t i = 0;
  for ([[maybe_unused]] auto _ : state) {
    bool found;
    benchmark::DoNotOptimize(node.LowerBound(keys[i], &found));
    if (++i == keys.size()) i = 0;
  }
  state.counters["entries"] = static_cast<double>(node.count());
}
BENCHMARK(NodeSearch)->Arg(4096)->Arg(8192)->Arg(65536);

// A Database is a btree database of kRows rows in the working directory. The destructor removes it.
struct Database {
  Database() {
    std::string pattern = std::filesystem::current_path() / "btree_bench_XXXXXX";
    dir = mkdtemp(pattern.data());
    EngineOptions options;
    options.cache_bytes = 512 << 20;
    options.durability = Durability::kLazy;
    engine = FindEngine("btree").open(dir, options);
    table = engine->OpenTable("t");
    auto session = engine->NewSession();
    for (uint64_t i = 0; i < kRows;) {
      session->Begin();
      for (int n = 0; n < 1000; ++n) session->Put(table, KeyOf(i++), value);
      session->Commit();
    }
    engine->Settle();
  }
  ~Database() {
    engine.reset();
    std::filesystem::remove_all(dir);
  }
  static Database& Get() {
    static Database database;
    return database;
  }
  static constexpr uint64_t kRows = 1'000'000;
  std::string dir;
  std::unique_ptr<Engine> engine;
  TableId table = 0;
  const std::string value = std::string(100, 'v');
};

void PoolFix(benchmark::State& state) {
  static std::unique_ptr<Store> store;
  static std::string dir;
  constexpr PageId kPages = 1000;
  if (state.thread_index() == 0) {
    std::string pattern = std::filesystem::current_path() / "btree_bench_XXXXXX";
    dir = mkdtemp(pattern.data());
    store = Store::Open(dir, StoreOptions{});
    PoolClient client(store->pool());
    store->space()->Reserve(kPages);
    for (PageId i = 0; i < kPages; ++i) store->pool()->WriteNew(&client, 10 + i);
  }
  // Each thread makes its client inside the loop: threads enter the loop only after thread 0 has
  // opened the store.
  std::unique_ptr<PoolClient> client;
  std::mt19937 random(static_cast<uint32_t>(state.thread_index()));
  for ([[maybe_unused]] auto _ : state) {
    if (client == nullptr) client = std::make_unique<PoolClient>(store->pool());
    const SharedGuard guard = store->pool()->Read(client.get(), 10 + random() % kPages);
    benchmark::DoNotOptimize(guard.page());
  }
  client.reset();
  if (state.thread_index() == 0) {
    store.reset();
    std::filesystem::remove_all(dir);
  }
}
BENCHMARK(PoolFix);

void Get(benchmark::State& state) {
  Database& database = Database::Get();
  auto session = database.engine->NewSession();
  std::mt19937_64 random(static_cast<uint64_t>(state.thread_index()));
  for ([[maybe_unused]] auto _ : state) {
    std::string_view value;
    benchmark::DoNotOptimize(
        session->Get(database.table, KeyOf(random() % Database::kRows), &value));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(Get)->ThreadRange(1, 2)->UseRealTime();

void Put(benchmark::State& state) {
  Database& database = Database::Get();
  auto session = database.engine->NewSession();
  std::mt19937_64 random(static_cast<uint64_t>(state.thread_index()));
  const auto rows = static_cast<int>(state.range(0));
  for ([[maybe_unused]] auto _ : state) {
    session->Begin();
    for (int i = 0; i < rows; ++i) {
      session->Put(database.table, KeyOf(random() % (2 * Database::kRows)), database.value);
    }
    session->Commit();
  }
  state.SetItemsProcessed(state.iterations() * rows);
}
BENCHMARK(Put)->Arg(1)->Arg(100)->ThreadRange(1, 2)->UseRealTime();

void Scan(benchmark::State& state) {
  Database& database = Database::Get();
  auto session = database.engine->NewSession();
  auto cursor = session->NewCursor(database.table);
  std::mt19937_64 random(1);
  int64_t rows = 0;
  for ([[maybe_unused]] auto _ : state) {
    bool on = cursor->Seek(KeyOf(random() % Database::kRows));
    for (int i = 0; on && i < 100; ++i, ++rows) on = cursor->Next();
  }
  state.SetItemsProcessed(rows);
}
BENCHMARK(Scan);

}  // namespace
}  // namespace testbed::btree
