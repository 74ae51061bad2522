// Benchmarks of the accounting: the scope around an operation, a call through the file layer
// compared with the bare system call, and a block request with and without the kernel account.
//
// The benchmarks read a small file in the current directory, or in TESTBED_BENCH_DIR. The file is
// in the page cache, except for those with "Direct" in their names. A benchmark that needs root is
// skipped with a message without it.
#include <benchmark/benchmark.h>
#include <bpf/bpf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/account/block_device.h"
#include "device/account/kernel_account.h"
#include "device/account/ledger.h"
#include "device/error.h"
#include "device/file/file.h"

namespace testbed {
namespace {

constexpr size_t kPage = 8192;
constexpr size_t kPages = 1024;

std::string Directory() {
  const char* directory = std::getenv("TESTBED_BENCH_DIR");
  return directory != nullptr ? directory : ".";
}

// A PageFile is a temporary file of kPages written pages. The destructor removes it.
class PageFile {
 public:
  PageFile() : path_(Directory() + "/ledger_bench.tmp") {
    FileOptions options;
    options.create = FileOptions::kTruncate;
    auto file = File::Open(path_, options);
    const std::string page(kPage, 'x');
    for (size_t i = 0; i < kPages; ++i) file->Write(i * kPage, page.data(), kPage);
    file->Sync(true);
  }
  ~PageFile() { ::unlink(path_.c_str()); }
  std::unique_ptr<File> Open(IoMode mode) const {
    FileOptions options;
    options.mode = mode;
    return File::Open(path_, options);
  }
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

// A Depth sets the ledger's depth for one benchmark. If the kernel account cannot be started,
// valid() is false and the benchmark is marked as skipped.
class Depth {
 public:
  Depth(benchmark::State& state, AccountDepth depth) {
    if (depth >= AccountDepth::kKernel) {
      std::string why;
      const std::optional<BlockDevice> device = BlockDevice::Find(Directory());
      if (device) account_ = KernelAccount::Start(*device, &why);
      if (account_ == nullptr) {
        state.SkipWithError(device ? why.c_str() : "no block device under the directory");
        return;
      }
    }
    valid_ = true;
    Ledger::Get().Configure(depth, account_.get());
  }
  ~Depth() { Ledger::Get().Configure(AccountDepth::kFile, nullptr); }
  bool valid() const { return valid_; }
  const KernelAccount* account() const { return account_.get(); }

 private:
  std::unique_ptr<KernelAccount> account_;
  bool valid_ = false;
};

AccountDepth DepthOf(const benchmark::State& state) {
  return static_cast<AccountDepth>(state.range(0));
}

void Depths(benchmark::internal::Benchmark* b) {
  b->ArgName("depth");
  for (AccountDepth depth : {AccountDepth::kOff, AccountDepth::kFile, AccountDepth::kKernel}) {
    b->Arg(static_cast<int>(depth));
  }
}

uint64_t Next(uint64_t* state) {
  *state = *state * 6364136223846793005 + 1442695040888963407;
  return (*state >> 33) % kPages;
}

void Scope(benchmark::State& state) {
  const Depth depth(state, DepthOf(state));
  const OpKind op = DefineOp("bench", Ground::kForeground);
  for ([[maybe_unused]] auto _ : state) {
    if (!depth.valid()) break;
    IoScope scope(op);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(Scope)->Apply(Depths);

void ScopeOfAKnownThread(benchmark::State& state) {
  const Depth depth(state, DepthOf(state));
  const OpKind op = DefineOp("bench", Ground::kForeground);
  ThreadLedger& thread = Ledger::ThisThread();
  for ([[maybe_unused]] auto _ : state) {
    if (!depth.valid()) break;
    IoScope scope(op, thread);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(ScopeOfAKnownThread)->Apply(Depths);

void ReadASlot(benchmark::State& state) {
  const Depth depth(state, AccountDepth::kKernel);
  const ThreadLedger& thread = Ledger::ThisThread();
  for ([[maybe_unused]] auto _ : state) {
    if (!depth.valid()) break;
    benchmark::DoNotOptimize(thread.kernel->reads.load(std::memory_order_relaxed));
  }
}
BENCHMARK(ReadASlot);

// Measures the merge of all threads' counts, which a run does at the borders of phases and once a
// second.
void MergeAllCounts(benchmark::State& state) {
  const Depth depth(state, DepthOf(state));
  for ([[maybe_unused]] auto _ : state) {
    if (!depth.valid()) break;
    benchmark::DoNotOptimize(Ledger::Get().Counts());
  }
}
BENCHMARK(MergeAllCounts)->Apply(Depths);

void CachedBarePread(benchmark::State& state) {
  const PageFile pages;
  auto file = pages.Open(IoMode::kBuffered);
  std::vector<char> buffer(kPage);
  uint64_t random = 1;
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(
        ::pread(file->fd(), buffer.data(), kPage, static_cast<off_t>(Next(&random) * kPage)));
  }
}
BENCHMARK(CachedBarePread);

void CachedFileRead(benchmark::State& state) {
  const PageFile pages;
  const Depth depth(state, DepthOf(state));
  auto file = pages.Open(IoMode::kBuffered);
  std::vector<char> buffer(kPage);
  uint64_t random = 1;
  for ([[maybe_unused]] auto _ : state) {
    if (!depth.valid()) break;
    file->Read(Next(&random) * kPage, buffer.data(), kPage);
  }
}
BENCHMARK(CachedFileRead)->Apply(Depths);

uint64_t FirstAndLast(const char* page) {
  return static_cast<uint64_t>(page[0]) + static_cast<uint64_t>(page[kPage - 1]);
}

void MappedBareTouch(benchmark::State& state) {
  const PageFile pages;
  auto file = pages.Open(IoMode::kBuffered);
  void* map = ::mmap(nullptr, kPages * kPage, PROT_READ, MAP_SHARED, file->fd(), 0);
  uint64_t random = 1;
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(FirstAndLast(static_cast<const char*>(map) + Next(&random) * kPage));
  }
  ::munmap(map, kPages * kPage);
}
BENCHMARK(MappedBareTouch);

void MappedFileView(benchmark::State& state) {
  const PageFile pages;
  const Depth depth(state, DepthOf(state));
  auto file = pages.Open(IoMode::kMmap);
  uint64_t random = 1;
  for ([[maybe_unused]] auto _ : state) {
    if (!depth.valid()) break;
    benchmark::DoNotOptimize(FirstAndLast(file->View(Next(&random) * kPage, kPage).data()));
  }
}
BENCHMARK(MappedFileView)->Apply(Depths);

// Measures reads with O_DIRECT, each of which is a request at the device. "program_ns" is the time
// of the account's BPF program per run, as the kernel measures it.
void DirectFileRead(benchmark::State& state) {
  const PageFile pages;
  const Depth depth(state, DepthOf(state));
  std::unique_ptr<File> file;
  try {
    file = pages.Open(IoMode::kDirect);
  } catch (const Error& e) {
    state.SkipWithError(e.what());
  }
  const int stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
  AlignedBuffer buffer(kPage);
  uint64_t random = 1;
  for ([[maybe_unused]] auto _ : state) {
    if (!depth.valid() || file == nullptr) break;
    file->Read(Next(&random) * kPage, buffer.data(), kPage);
  }
  if (depth.account() != nullptr) {
    for (const KernelAccount::Program& program : depth.account()->Programs()) {
      if (program.tracepoint != "block_getrq" || program.runs == 0) continue;
      state.counters["program_ns"] =
          static_cast<double>(program.nanoseconds) / static_cast<double>(program.runs);
    }
  }
  if (stats >= 0) ::close(stats);
}
BENCHMARK(DirectFileRead)->Apply(Depths)->UseRealTime();

}  // namespace
}  // namespace testbed
