// --cache-pct auto: the methods of ChildRun that measure the workload with several shares of the
// memory in the engine's cache and choose the fastest (tools/cache/cache_tuning.h).
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "device/error.h"
#include "device/os/allocator.h"
#include "engines/databases.h"
#include "engines/registry.h"
#include "tools/run/child/child_run.h"
#include "tools/run/child/draw_seeds.h"
#include "workloads/random.h"
#include "workloads/registry.h"
#include "workloads/row_chooser.h"

namespace testbed {

uint64_t ChildRun::ShareBytes(double cache_pct) const { return options_.CacheBytesOf(cache_pct); }

// Returns the smallest share of kLeastShare and more with which the engine can be opened. The run
// has begun with --cache-pct auto's first share, so the engine accepts that one.
double ChildRun::LeastAcceptedShare() const {
  EngineOptions engine = options_.engine;
  for (double pct = kLeastShare; pct < options_.cache_pct; ++pct) {
    engine.cache_bytes = ShareBytes(pct);
    try {
      CheckDatabaseOptions(options_.engine_name, engine, options_.databases);
      return pct;
    } catch (const Error& error) {
      if (error.kind() != Error::kUsage) throw;
    }
  }
  return std::max(kLeastShare, options_.cache_pct);
}

// Resizes the cache of the engine, which stays open. Throws Error (kRun) when the engine refuses
// the size, because a trial would measure another size than it is noted for.
void ChildRun::ResizeToShare(double cache_pct) {
  const uint64_t bytes = ShareBytes(cache_pct);
  if (engine_->ResizeCache(bytes)) return;
  throw Error(Error::kRun,
              fmt::format("{} refuses a cache of {:.3g} % of --ram ({} bytes), which --cache-pct "
                          "auto tries: give --cache-pct a number, or more --ram",
                          options_.engine_name, cache_pct, bytes));
}

// Opens the engine again with a cache of this share, so that the measurement starts from the same
// state as a run with this share. After many cache sizes the blocks that the engine still holds lie
// scattered over the allocator's pages, which therefore cannot be returned and are lost to the page
// cache (18 MB of 256 MB were seen).
void ChildRun::ReopenWithShare(double cache_pct) {
  CloseEngine();
  ReturnFreeMemory();
  cache_bytes_ = ShareBytes(cache_pct);
  OpenEngine();
}

// Measures the cost of an operation with the share that is set: runs phases until both caches are
// at rest, then one phase as the trial. Each of them gives *drawn, the workload's options, a seed
// of its own: a share that is tried again would find the rows cached that its first trial has read.
CacheTrial ChildRun::TryShare(const std::string& name, double cache_pct, WorkloadOptions* drawn) {
  PhaseOptions phase = MeasuredPhase(false);
  phase.operations = 0;
  phase.seconds = std::clamp(options_.seconds.value_or(0) / 2, 0.5, 30.0);
  const auto measure = [&](const char* part) {
    drawn->seed = SeedOfNextTrial(drawn->seed);
    return Measure(fmt::format("{} {}", name, part), PhaseKind::kTune,
                   *FindWorkload(name).make(dataset_, *drawn), phase);
  };
  // Both caches must fill again, which takes longer than a phase on a slow device. While they fill,
  // the device reads hardly fall at first, so the bytes cached are watched as well.
  constexpr int kMostSettling = 8;
  constexpr double kSettled = 0.97, kFull = 0.02;
  double reads = -1, held = 0;
  for (int i = 0; i < kMostSettling && !stop_(); ++i) {
    const PhaseRecord settling = measure("settling");
    const double now = settling.DeviceReadsPerOperation(), holds = settling.CachedBytes();
    const bool fills = holds > held + kFull * static_cast<double>(options_.ram_bytes);
    if (now == 0 || (reads >= 0 && now > reads * kSettled && !fills)) break;
    reads = now;
    held = holds;
  }
  ReturnFreeMemory();
  return TrialOf(cache_pct, measure("trial"));
}

// Returns the figures of the phase that tried the share.
CacheTrial ChildRun::TrialOf(double cache_pct, const PhaseRecord& trial) const {
  const auto count = static_cast<double>(std::max<uint64_t>(1, trial.charged_operations()));
  const PhaseAccount& account = trial.account;
  const auto misses = static_cast<double>(account.engine.block_reads.value_or(0));
  const auto miss_bytes = static_cast<double>(account.engine.block_read_bytes.value_or(0));
  const double clients = static_cast<double>(plan_.threads) * options_.queue_depth;
  const double reads = trial.DeviceReadsPerOperation();
  // Under --read-iops each client waits for its turn, and the device's own statistics do not count
  // that wait.
  const double device_seconds = options_.read_iops > 0
                                    ? reads * clients / static_cast<double>(options_.read_iops)
                                    : trial.DeviceReadSecondsPerOperation();
  const MemoryParts memory = trial.memory ? trial.memory->parts : MemoryParts{};
  // A cache of which the engine does not tell what it holds is taken to be full.
  const bool knows_memory = trial.memory && trial.memory->knows_cache;
  const double untold = knows_memory ? 0 : static_cast<double>(ShareBytes(cache_pct));
  return {
      .cache_pct = cache_pct,
      .measured = {.rate = static_cast<double>(trial.operations()) / trial.seconds,
                   .engine_misses = misses / count,
                   .device_reads = reads,
                   .cpu_seconds = (account.cpu_user_seconds + account.cpu_system_seconds) / count,
                   .device_seconds = device_seconds,
                   .clients = clients},
      .other_bytes = std::max(0.0, static_cast<double>(memory.process_other) - untold) +
                     static_cast<double>(memory.kernel),
      .block_bytes = miss_bytes / std::max(1.0, misses),
      .knows_misses = account.engine.block_reads.has_value(),
      .knows_device = account.device.has_value(),
      .knows_memory = knows_memory};
}

// Returns a function that predicts, from trials, how the rate of point reads depends on the share;
// an empty function for other workloads, and for reads in sequence: the model takes references as
// independent.
std::function<SharePrediction(const std::vector<CacheTrial>&)> ChildRun::SharePredictor(
    const std::string& name) {
  const bool in_sequence = options_.workload.distribution == Distribution::kSequential;
  if (name != "point-read" || in_sequence) return {};
  const DatasetOptions& data = options_.data;
  const double row = static_cast<double>(dataset_->key_bytes() + dataset_->value_bytes()) /
                     static_cast<double>(dataset_->rows());
  const double page = options_.engine.page_size;
  const double pages = std::max(1.0, static_cast<double>(data.rows) * row / page);
  const auto ram = static_cast<double>(options_.ram_bytes);
  WorkloadOptions drawn = options_.workload;
  drawn.popular_rows = workload_.popular_rows;
  RowChooser chooser(*dataset_, drawn, drawn.seed);
  const bool scattered = data.order == KeyOrder::kRandom || data.order == KeyOrder::kFile;
  const PagePopularity popularity(
      [&] {
        const uint64_t at = chooser.Next();
        return scattered ? Mix64(at) % data.rows : at;
      },
      data.rows, page / row);
  const CacheSizes sizes{
      .ram_bytes = ram,
      .page_bytes = page,
      .stored_bytes = static_cast<double>(engine_->SizeOnDisk().data_bytes) / pages,
      .page_cache = options_.engine.io != IoMode::kDirect};
  return [=](const std::vector<CacheTrial>& trials) {
    const OtherMemory other = FitOtherMemory(trials, ram);
    CacheSizes with_other = sizes;
    with_other.other_bytes = other.bytes;
    with_other.overhead = other.per_cache_byte;
    with_other.stored_bytes = StoredBytes(trials, sizes.stored_bytes);
    return SharePrediction(CacheModel(with_other, popularity), ram, trials);
  };
}

void ChildRun::TuneCache(const std::string& name, WorkloadOptions* drawn) {
  ShareSearch search;
  search.start = options_.cache_pct;
  search.most = FindEngine(options_.engine_name).capabilities.most_cache_pct;
  search.least = std::min(LeastAcceptedShare(), search.most);
  search.ram_bytes = static_cast<double>(options_.ram_bytes);
  search.measure = [&](double pct) {
    if (stop_()) return CacheTrial{pct, {1, 0, 0}};
    ResizeToShare(pct);
    // The allocator keeps memory that a smaller cache has freed, which the page cache could use.
    ReturnFreeMemory();
    return TryShare(name, pct, drawn);
  };
  search.predict = SharePredictor(name);
  double best = options_.cache_pct;
  const std::vector<CacheTrial> trials = ClimbShare(search, &best);
  if (stop_()) return;
  record_.cache_tunings.push_back(
      CacheTuning{name, options_.cache_pct, best, trials,
                  search.predict ? search.predict(trials).ToJson() : nlohmann::json()});
  // Both caches must come to rest at the chosen share before the workload is measured. The search
  // is cleared first, because its prediction holds data on each page, in memory that the page cache
  // would otherwise use.
  search = {};
  ReopenWithShare(best);
  TryShare(name, best, drawn);
  ReturnFreeMemory();
}

}  // namespace testbed
