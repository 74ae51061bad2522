// Benchmarks of your own on any engine, by google-benchmark (https://github.com/google/benchmark).
// The ledger's counts of an operation are counters of the benchmark. Targets testbed::engines and
// benchmark::benchmark_main.
//
//   void ReadTwice(BenchmarkRun& run) {
//     run.Open([&](Session& session) { session.Put(run.table(), "ada", "1815"); });
//     std::string_view value;
//     run.Measure([&] {
//       run.session().Get(run.table(), "ada", &value);
//       run.session().Get(run.table(), "ada", &value);
//     });
//   }
//   TESTBED_BENCHMARK(btree, ReadTwice);
//   TESTBED_BENCHMARK(rocksdb, ReadTwice)->Threads(4);
//
// google-benchmark calls the function several times, until the time is long enough; each call has a
// database of its own in the working directory, which is removed after it. ->Iterations(N) calls it
// once. With ->Threads(N) it is called on N threads that share one database and have a session
// each. The first thread opens it; when that thread ends before its Open, the others' Open throws.
//
// Counters, of one operation: file_reads, file_read_bytes, file_writes, file_write_bytes and syncs
// are the operation's calls of files, for engines whose calls are counted. background_write_bytes
// is what the engine's own threads wrote to files in the same time. As root, kernel_reads,
// kernel_read_bytes, kernel_writes and kernel_write_bytes are the block requests that the
// operation's threads made; they are left out when there were more threads than the account counts
// (KernelAccount::kDefaultThreads). docs/accounting.md says what each level counts.
//
// Public here: BenchmarkRun, TESTBED_BENCHMARK and TESTBED_BENCHMARK_EACH.
#ifndef TESTBED_BENCHMARK_H_
#define TESTBED_BENCHMARK_H_

#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>

// The macros of the headers below stay within this one (device/os/mutex.h).
#define TESTBED_MARKS_BEGIN
#include "device/os/mutex.h"
#undef TESTBED_MARKS_BEGIN

#include "device/account/block_device.h"
#include "device/account/counts.h"
#include "device/account/kernel_account.h"
#include "device/account/ledger.h"
#include "device/account/operations.h"
#include "device/error.h"
#include "engines/engine.h"
#include "engines/registry.h"

#define TESTBED_MARKS_END
#include "device/os/mutex.h"
#undef TESTBED_MARKS_END

namespace testbed {

// Holds what the threads of one call of a benchmark share: the database and the ledger's counts at
// the begin. Not public.
class BenchmarkPlace {
 public:
  BenchmarkPlace(std::string engine, std::string name)
      : engine_name(std::move(engine)), name_(std::move(name)) {}

  // Opens the database on the first thread of a call; the other threads wait for it. When `open`
  // throws, each thread throws that exception. When the first thread leaves without entering, the
  // others throw Error.
  void Enter(bool first, const std::function<void(BenchmarkPlace*)>& open) {
    std::unique_lock lock(mutex_);
    if (first) {
      try {
        open(this);
        before_ = Ledger::Get().Counts();
      } catch (...) {
        error_ = std::current_exception();
      }
      answered_ = true;
      answer_.notify_all();
    }
    answer_.wait(lock, [this] { return answered_; });
    if (error_ != nullptr) std::rethrow_exception(error_);
  }

  // Each thread of a call calls this at its end, whether it has entered or not. Returns true to the
  // last thread, which then closes the database.
  bool Leave(bool first, int threads) {
    const std::lock_guard lock(mutex_);
    if (first && !answered_) {
      error_ = std::make_exception_ptr(
          Error(Error::kRun, "the benchmark's first thread ended before it opened the database"));
      answered_ = true;
      answer_.notify_all();
    }
    if (++left_ < threads) return false;
    answered_ = false;
    left_ = 0;
    error_ = nullptr;
    return true;
  }

  void Open(const EngineOptions& options) {
    std::string pattern = std::filesystem::current_path() / "testbed_benchmark_XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) {
      throw Error::Io("make a directory", pattern, errno);
    }
    directory_ = pattern;
    account_ = Account(directory_);
    engine = OpenEngine(engine_name, directory_, options);
    table = engine->OpenTable("default");
  }
  // Leaves files that cannot be removed, because a destructor calls this function and must not
  // throw.
  void Close() {
    engine.reset();
    std::error_code ignored;
    if (!directory_.empty()) std::filesystem::remove_all(std::exchange(directory_, ""), ignored);
  }
  // Returns what was counted since the call began to measure.
  LedgerCounts Counts() const { return Ledger::Get().Counts() - before_; }
  // Returns whether the kernel account had a slot for every thread.
  bool AllThreadsCounted() const { return account_ == nullptr || account_->Refused() == 0; }
  OpKind op() const { return op_; }

  const std::string engine_name;
  std::unique_ptr<Engine> engine;
  TableId table = 0;

 private:
  // Counts block requests from the first call on, if this user may; else returns null. The account
  // lasts as long as the process.
  static const KernelAccount* Account(const std::string& directory) {
    static const KernelAccount* const account = [&directory]() -> const KernelAccount* {
      std::string why_not;
      const auto device = BlockDevice::Find(directory);
      auto* started = device ? KernelAccount::Start(*device, &why_not).release() : nullptr;
      if (started != nullptr) Ledger::Get().Configure(AccountDepth::kKernel, started);
      return started;
    }();
    return account;
  }

  const std::string name_;
  const OpKind op_ = DefineOp(name_, Ground::kForeground);
  std::string directory_;
  std::mutex mutex_;
  std::condition_variable answer_;
  bool answered_ = false;     // whether the first thread of the call has opened or failed
  std::exception_ptr error_;  // what its `open` threw; null: nothing
  int left_ = 0;              // threads of the call that have ended
  LedgerCounts before_;
  const KernelAccount* account_ = nullptr;
};

// One call of a benchmark on one of its threads. Not thread-safe: each thread has its own.
class BenchmarkRun {
 public:
  BenchmarkRun(benchmark::State* state, BenchmarkPlace* place) : state_(*state), place_(*place) {}
  ~BenchmarkRun() { End(); }
  BenchmarkRun(const BenchmarkRun&) = delete;
  BenchmarkRun& operator=(const BenchmarkRun&) = delete;

  // Returns google-benchmark's state: arguments, threads, and counters that the benchmark adds.
  benchmark::State& state() { return state_; }
  const std::string& engine_name() const { return place_.engine_name; }

  // Opens a new database with the options, or those that the engine has by default and a cache of
  // 256 MiB, lets `load` fill it in a transaction on the first thread, and brings it to rest. Call
  // it once, before anything below; `load` may call table() and engine(). Throws Error, and so do
  // calls in another order; TESTBED_BENCHMARK reports it as the benchmark's error.
  void Open(const std::function<void(Session&)>& load = nullptr) {
    EngineOptions options = DefaultEngineOptions(FindEngine(engine_name()));
    options.cache_bytes = 256 << 20;
    Open(options, load);
  }
  void Open(const EngineOptions& options, const std::function<void(Session&)>& load = nullptr) {
    if (session_ != nullptr) throw Error(Error::kUsage, "a benchmark's function calls Open once");
    place_.Enter(state_.thread_index() == 0, [&](BenchmarkPlace* place) {
      place->Open(options);
      if (load == nullptr) return;
      const std::unique_ptr<Session> loader = place->engine->NewSession();
      const bool transaction = FindEngine(engine_name()).capabilities.transactions;
      if (transaction) loader->Begin();
      load(*loader);
      if (transaction) loader->Commit();
      place->engine->Settle();
    });
    session_ = place_.engine->NewSession();
  }
  Engine& engine() {
    CheckOpen(place_.engine != nullptr);
    return *place_.engine;
  }
  TableId table() const { return place_.table; }
  // Returns this thread's session.
  Session& session() {
    CheckOpen(session_ != nullptr);
    return *session_;
  }

  // Calls the operation for each iteration of the benchmark, and charges what it reads and writes
  // to the benchmark's name. Each operation includes the cost of an IoScope, some nanoseconds. Call
  // it once, as the counters are those of all iterations of a call.
  template <class Operation>
  void Measure(Operation operation) {
    CheckOpen(session_ != nullptr);
    if (measured_) throw Error(Error::kUsage, "a benchmark's function calls Measure once");
    const OpKind op = place_.op();
    for ([[maybe_unused]] auto _ : state_) {
      const IoScope scope(op);
      operation();
    }
    state_.SetItemsProcessed(state_.iterations());
    measured_ = true;
  }

 private:
  static void CheckOpen(bool open) {
    if (open) return;
    throw Error(Error::kUsage, "a benchmark's function calls Open before what it measures");
  }
  void End() {
    session_.reset();
    if (!place_.Leave(state_.thread_index() == 0, state_.threads())) return;
    if (measured_) Count(place_.Counts());
    place_.Close();
  }
  void Count(const LedgerCounts& counts) {
    // A number of requests is below 0 where the threads joined more waiting requests than they made
    // (device/account/kernel_account.h).
    const auto per_operation = [this](const char* name, uint64_t n) {
      state_.counters[name] = benchmark::Counter(static_cast<double>(static_cast<int64_t>(n)),
                                                 benchmark::Counter::kAvgIterations);
    };
    const LedgerCounts::Op& own = counts.ops[place_.op().id];
    if (FindEngine(engine_name()).capabilities.file_layer) {
      const FileCounts calls = own.FileTotal();
      uint64_t background = 0;
      for (size_t op = 0; op < kMaxOps; ++op) {
        if (op != place_.op().id) background += counts.ops[op].FileTotal().write_bytes;
      }
      per_operation("file_reads", calls.reads);
      per_operation("file_read_bytes", calls.read_bytes);
      per_operation("file_writes", calls.writes);
      per_operation("file_write_bytes", calls.write_bytes);
      per_operation("syncs", calls.syncs);
      per_operation("background_write_bytes", background);
    }
    if (Ledger::Get().depth() < AccountDepth::kKernel || !place_.AllThreadsCounted()) return;
    const BlockCounts blocks = own.KernelTotal();
    per_operation("kernel_reads", blocks.reads);
    per_operation("kernel_read_bytes", blocks.read_bytes);
    per_operation("kernel_writes", blocks.writes);
    per_operation("kernel_write_bytes", blocks.write_bytes);
  }

  benchmark::State& state_;
  BenchmarkPlace& place_;
  std::unique_ptr<Session> session_;
  bool measured_ = false;
};

// Registers the function for an engine, as FUNCTION/ENGINE/real_time. Returns google-benchmark's
// benchmark, for ->Threads, ->Arg and the like. An engine that this build does not have, or that
// lacks what it needs on this machine, is an error of the benchmark when it runs.
inline auto* RegisterBenchmarkOn(const std::string& engine, const std::string& name,
                                 void (*function)(BenchmarkRun&)) {
  const auto place = std::make_shared<std::unique_ptr<BenchmarkPlace>>();
  const auto once = std::make_shared<std::once_flag>();
  auto* const registered =
      benchmark::RegisterBenchmark((name + "/" + engine).c_str(), [=](benchmark::State& state) {
        try {
          std::call_once(*once, [&] { *place = std::make_unique<BenchmarkPlace>(engine, name); });
          BenchmarkRun run(&state, place->get());
          // The error is reported before BenchmarkRun's destructor lets the other threads fail
          // because of this one: google-benchmark keeps the first error that it gets.
          try {
            function(run);
            // google-benchmark ends the program when a function returns before it has run its
            // iterations.
            if (!state.error_occurred() && state.iterations() < state.max_iterations) {
              state.SkipWithError("the benchmark's function returned before it measured");
            }
          } catch (const std::exception& error) {
            state.SkipWithError(error.what());
          }
        } catch (const std::exception& error) {
          state.SkipWithError(error.what());
        }
      });
  // Real time is reported, because an operation that waits for the device takes no processor time.
  return registered->UseRealTime();
}

// Returns the name of an engine that is the argument of a macro. A name such as bf-tree looks like
// a difference, into which formatters put blanks. Not public.
inline std::string EngineNameIn(std::string argument) {
  std::erase(argument, ' ');
  return argument;
}

// Registers the function for each engine of the build that reads, keeps rows and works on this
// machine without a server. Returns true.
inline bool RegisterBenchmarkOnEach(const std::string& name, void (*function)(BenchmarkRun&)) {
  for (const EngineInfo& info : Engines()) {
    if (info.missing != nullptr && !info.missing().empty()) continue;
    const Capabilities& can = info.capabilities;
    if (can.reads && can.persistent && !can.server) RegisterBenchmarkOn(info.name, name, function);
  }
  return true;
}

}  // namespace testbed

// Registers a function void (BenchmarkRun&) before main: for the engine of this name, without
// quotes, or for each engine of the build. A pair may be registered several times, as with several
// numbers of threads.
#define TESTBED_BENCHMARK(engine, function)                                     \
  [[maybe_unused]] static auto* const TESTBED_BENCHMARK_VARIABLE(__COUNTER__) = \
      testbed::RegisterBenchmarkOn(testbed::EngineNameIn(#engine), #function, function)
#define TESTBED_BENCHMARK_EACH(function)                                       \
  [[maybe_unused]] static const bool TESTBED_BENCHMARK_VARIABLE(__COUNTER__) = \
      testbed::RegisterBenchmarkOnEach(#function, function)
// Not public: a variable's name with the number of __COUNTER__, which is expanded between the two
// macros.
#define TESTBED_BENCHMARK_VARIABLE(number) TESTBED_BENCHMARK_PASTE(testbed_benchmark_, number)
#define TESTBED_BENCHMARK_PASTE(a, b) a##b

#endif  // TESTBED_BENCHMARK_H_
