// Runs benchmarks of your own on every engine of the build, by google-benchmark, with the ledger's
// counts of an operation as counters. The databases are in the working directory while it runs.
//
//   own_benchmark --benchmark_filter=btree --benchmark_counters_tabular=true
#include <testbed/benchmark.h>

#include <string>
#include <string_view>

using namespace testbed;

namespace {

constexpr int kAccounts = 10000;

std::string KeyOf(int account) { return "account " + std::to_string(100000 + account); }

void LoadAccounts(BenchmarkRun& run) {
  run.Open([&](Session& session) {
    const std::string balance(100, '0');
    for (int i = 0; i < kAccounts; ++i) session.Put(run.table(), KeyOf(i), balance);
  });
}

void ReadBalance(BenchmarkRun& run) {
  LoadAccounts(run);
  std::string_view balance;
  int i = run.state().thread_index();
  run.Measure([&] {
    run.session().Get(run.table(), KeyOf(i = (i + 7919) % kAccounts), &balance);
    benchmark::DoNotOptimize(balance);
  });
}

// Measures what a sync costs: each change is an operation of its own, durable when it ends.
void ChangeBalance(BenchmarkRun& run) {
  EngineOptions options = DefaultEngineOptions(FindEngine(run.engine_name()));
  options.durability = Durability::kSync;
  run.Open(options);
  int i = 0;
  run.Measure(
      [&] { run.session().Put(run.table(), KeyOf(++i % kAccounts), std::string(100, '1')); });
}

TESTBED_BENCHMARK_EACH(ReadBalance);
TESTBED_BENCHMARK(btree, ReadBalance)->Threads(2);
TESTBED_BENCHMARK(btree, ChangeBalance)->Iterations(100);
TESTBED_BENCHMARK(bf - tree, ReadBalance)->Threads(2);  // bf-tree, with clang-format's blanks
TESTBED_BENCHMARK(leveldb,
                  ChangeBalance);  // the line of an engine that the build lacks shows an error

}  // namespace
