// Benchmarks of the write-ahead log: the CPU time of an append, the time and bytes of a sync
// commit. The log is in the current directory.
//
//   log_bench
//   log_bench --benchmark_filter=SyncCommit
//
// Columns of SyncCommit: bytes/commit is the number of bytes written to the log file per commit of
// a 300-byte record; records/group is the number of commits that share a write. Further writes to
// the device, such as the file system's journal, are not counted.
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>

#include "device/error.h"
#include "device/log/log.h"

namespace testbed {
namespace {

constexpr size_t kRecordBytes = 300;

// A BenchLog is the log of all threads of a benchmark, in a directory that the destructor removes.
class BenchLog {
 public:
  explicit BenchLog(const LogOptions& options) {
    std::string pattern = std::filesystem::current_path() / "log_bench_XXXXXX";
    directory_ = mkdtemp(pattern.data());
    try {
      log_ = Log::Open(directory_, options);
    } catch (...) {
      std::filesystem::remove_all(directory_);
      throw;
    }
  }
  ~BenchLog() {
    log_.reset();
    std::filesystem::remove_all(directory_);
  }
  Log* operator->() { return log_.get(); }

 private:
  std::string directory_;
  std::unique_ptr<Log> log_;
};

std::unique_ptr<BenchLog> shared;

// Truncates the log at every 4096th call, as checkpoints do, so that it stays at a few segments.
void TruncateNowAndThen(uint64_t i) {
  if (i % 4096 == 0) (*shared)->TruncateBefore((*shared)->DurableLsn());
}

LogOptions OptionsOf(const benchmark::State& state) {
  LogOptions options;
  options.mode = state.range(0) ? IoMode::kDirect : IoMode::kBuffered;
  options.write_size = static_cast<uint32_t>(state.range(1));
  options.pad = state.range(2);
  options.min_segments = 3;
  return options;
}

// Measures the cost of a commit with lazy durability to the committing thread; the log's own thread
// writes.
void Append(benchmark::State& state) {
  const std::string record(static_cast<size_t>(state.range(0)), 'r');
  if (state.thread_index() == 0) {
    LogOptions options;
    options.flush_interval_ms = 100;
    options.sync = LogSync::kNone;
    options.min_segments = 8;
    shared = std::make_unique<BenchLog>(options);
  }
  uint64_t i = 0;
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize((*shared)->Append(record));
    if (state.thread_index() == 0 && ++i % 65536 == 0) {
      (*shared)->TruncateBefore((*shared)->WrittenLsn());
    }
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * state.range(0));
  if (state.thread_index() == 0) shared.reset();
}
BENCHMARK(Append)->Arg(32)->Arg(130)->Arg(300)->Threads(1)->Threads(2)->UseRealTime();

void SyncCommit(benchmark::State& state) {
  const std::string record(kRecordBytes, 'r');
  if (state.thread_index() == 0) {
    try {
      shared = std::make_unique<BenchLog>(OptionsOf(state));
    } catch (const Error& e) {
      if (e.kind() != Error::kUsage) throw;
    }
  }
  uint64_t i = 0;
  for ([[maybe_unused]] auto _ : state) {
    if (shared == nullptr) {
      state.SkipWithError("this file system has no direct writes of this size");
      break;
    }
    (*shared)->WaitDurable((*shared)->Append(record).end);
    if (state.thread_index() == 0) TruncateNowAndThen(++i);
  }
  if (state.thread_index() == 0 && shared != nullptr) {
    const LogCounters c = (*shared)->Counters();
    state.counters["bytes/commit"] =
        static_cast<double>(c.written_bytes) / static_cast<double>(c.records);
    state.counters["records/group"] =
        static_cast<double>(c.records) / static_cast<double>(c.groups);
    shared.reset();
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}
BENCHMARK(SyncCommit)
    ->ArgNames({"direct", "write_size", "pad"})
    ->ArgsProduct({{1}, {512, 4096, 8192}, {0, 1}})
    ->Args({0, 4096, 0})
    ->Args({0, 4096, 1})
    ->Threads(1)
    ->Threads(8)
    ->UseRealTime();

}  // namespace
}  // namespace testbed
