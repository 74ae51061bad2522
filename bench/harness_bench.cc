// Benchmarks of the harness: the time per operation of the runner's loop on the null engine, at
// each depth of accounting, with and without latency, with rows drawn uniformly and by Zipf's law.
// The kernel depth needs root; without it, its benchmark is skipped with a message.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>

#include "device/account/block_device.h"
#include "device/account/kernel_account.h"
#include "workloads/measure/clock.h"
#include "workloads/measure/harness_cost.h"

namespace testbed {
namespace {

void BM_NullPointRead(benchmark::State& state) {
  const auto depth = static_cast<AccountDepth>(state.range(0));
  std::unique_ptr<KernelAccount> kernel;
  if (depth >= AccountDepth::kKernel) {
    std::string why = "the current directory is on no block device";
    if (auto device = BlockDevice::Find(".")) kernel = KernelAccount::Start(*device, &why);
    if (!kernel) return state.SkipWithError(why.c_str());
  }
  Ledger::Get().Configure(depth, kernel.get());
  PhaseOptions options;
  options.account = depth;
  options.latency = state.range(1) != 0;
  WorkloadOptions operations;
  operations.distribution = static_cast<Distribution>(state.range(2));
  DatasetOptions rows;
  rows.rows = 1000000;
  rows.value_size = 0;
  const auto dataset = std::make_shared<const Dataset>(rows);
  Clock::Get();
  for ([[maybe_unused]] auto _ : state) {
    state.SetIterationTime(HarnessCostNs(options, dataset, operations) * 1e-9);  // one operation
  }
  Ledger::Get().Configure(AccountDepth::kFile, nullptr);
}
BENCHMARK(BM_NullPointRead)
    ->ArgNames({"depth", "latency", "distribution"})
    ->Args({static_cast<int>(AccountDepth::kOff), 0, static_cast<int>(Distribution::kUniform)})
    ->Args({static_cast<int>(AccountDepth::kOff), 1, static_cast<int>(Distribution::kUniform)})
    ->Args({static_cast<int>(AccountDepth::kFile), 1, static_cast<int>(Distribution::kUniform)})
    ->Args({static_cast<int>(AccountDepth::kFile), 1, static_cast<int>(Distribution::kZipfian)})
    ->Args({static_cast<int>(AccountDepth::kFile), 1, static_cast<int>(Distribution::kLatest)})
    ->Args({static_cast<int>(AccountDepth::kKernel), 1, static_cast<int>(Distribution::kUniform)})
    ->Iterations(20)
    ->UseManualTime()
    ->Unit(benchmark::kNanosecond);

}  // namespace
}  // namespace testbed
