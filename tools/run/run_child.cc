#include "tools/run/run_child.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include "device/error.h"
#include "device/file/page_cache.h"
#include "device/file/read_trace.h"
#include "device/os/allocator.h"
#include "engines/databases.h"
#include "engines/registry.h"
#include "tools/cache/cache_tuning.h"
#include "tools/live/second_reporter.h"
#include "tools/output/progress.h"
#include "tools/run/memory_watch.h"
#include "tools/run/run_account.h"
#include "tools/run/run_json.h"
#include "tools/run/run_record.h"
#include "tools/run/run_slices.h"
#include "workloads/measure/clock.h"
#include "workloads/measure/harness_cost.h"
#include "workloads/measure/meter.h"
#include "workloads/population.h"
#include "workloads/registry.h"
#include "workloads/row_chooser.h"
#include "workloads/trace/trace_recorder.h"

namespace testbed {
namespace {

using nlohmann::json;

std::optional<double> ForeignCpu(const CpuUse& before, const CpuUse& after) {
  return ForeignCpuShare(before, after, ::sysconf(_SC_NPROCESSORS_ONLN));
}

class Run {
 public:
  // Fills in *record while it runs.
  Run(const RunOptions& options, const RunPlan& plan, bool (*stop)(), RunRecord* record,
      RunTalk talk)
      : options_(options), plan_(plan), stop_(stop), record_(*record), talk_(std::move(talk)) {}

  void Execute();

 private:
  void ReportBeginning(const std::string& phase);
  void OpenEngine();
  void CountRows();
  void ReportLoaded(bool at_end);
  void RunWorkload(const std::string& name);
  void RunSlices(const std::string& name, Workload& workload);
  PhaseRecord Measure(const std::string& name, PhaseKind kind, Workload& workload,
                      const PhaseOptions& options);
  uint64_t ShareBytes(double cache_pct) const;
  void ReopenWithShare(double cache_pct);
  CacheTrial TryShare(const std::string& name, double cache_pct);
  CacheTrial TrialOf(double cache_pct, const PhaseRecord& trial) const;
  Readahead2014 Readahead(uint64_t operations) const;
  std::function<SharePrediction(const std::vector<CacheTrial>&)> SharePredictor(
      const std::string& name);
  void TuneCache(const std::string& name);
  void Step(const std::string& name, PhaseKind kind, OpKind op, const std::string& what,
            const std::function<void(PhaseRecord*)>& does);
  void Settle();
  void Finish(const Reading& before, const Reading& after, PhaseRecord* phase);
  PhaseOptions MeasuredPhase(bool loads) const;
  Reading ReadBorder() const;

  const RunOptions& options_;
  bool opened_ = false;                                 // OpenEngine has run before
  uint64_t cache_bytes_ = options_.engine.cache_bytes;  // size of the engine's cache now
  const RunPlan& plan_;
  bool (*const stop_)();
  RunRecord& record_;
  const RunTalk talk_;
  std::optional<RunAccount> account_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Meter> meter_;
  std::shared_ptr<const Dataset> dataset_;
  WorkloadOptions workload_ = options_.workload;  // the user's options plus the population
  std::optional<PhaseKind> last_kind_;            // of the phase that was finished last
  bool loaded_ = false;                           // {"loaded": true} was reported
  uint64_t drawing_ = 0;                          // workloads so far that drew their rows
};

void Run::OpenEngine() {
  EngineOptions engine_options = options_.engine;
  engine_options.cache_bytes = cache_bytes_;
  // Only a load creates a database, and only when the run opens the engine for the first time: a
  // database that is missing later is an error, never a reason to begin with an empty one.
  const bool first = !std::exchange(opened_, true);
  engine_options.create = first && !options_.reuse && FindWorkload(plan_.phases.front()).loads;
  engine_options.replace = options_.fresh && engine_options.create;
  if (options_.cache_auto) {
    engine_options.most_cache_bytes =
        ShareBytes(FindEngine(options_.engine_name).capabilities.most_cache_pct);
  }
  {
    IoScope scope(kOpen);
    engine_ =
        OpenDatabases(options_.engine_name, plan_.engine_dir, engine_options, options_.databases);
  }
  meter_ = std::make_unique<Meter>(*engine_, plan_.engine_dir, options_.account, account_->device(),
                                   plan_.exclusive_device, account_->in_kernel());
  EngineInUse in_use{options_.engine_name, FindEngine(options_.engine_name).version, {}};
  for (const auto& [name, value] : engine_->EffectiveSettings()) in_use.effective[name] = value;
  if (in_use.effective.contains("version")) in_use.version = in_use.effective.at("version");
  record_.engine = std::move(in_use);
}

PhaseOptions Run::MeasuredPhase(bool loads) const {
  PhaseOptions phase;
  phase.threads = plan_.threads;
  phase.account = options_.account;
  const Capabilities& can = FindEngine(options_.engine_name).capabilities;
  phase.verify_every = can.persistent && can.reads ? options_.verify_every : 0;
  phase.consume = options_.consume;
  phase.added_delay_ns = options_.added_delay_ns;
  phase.rate = options_.rate;
  phase.arrivals = options_.arrivals;
  phase.seed = options_.data.seed;
  phase.device = account_->device();
  phase.budget = plan_.budget;
  phase.stop = stop_;
  if (!loads) {
    phase.queue_depth = options_.queue_depth;
    phase.operations = options_.operations;
    phase.seconds = options_.seconds.value_or(0);
  }
  return phase;
}

// Reads the meter at the border of a phase. In slices nothing is said of phases as a whole, so the
// reading does not wait for a device that other sides and programs use, too.
Reading Run::ReadBorder() const { return plan_.in_slices ? meter_->ReadNow() : meter_->Read(); }

PhaseRecord Run::Measure(const std::string& name, PhaseKind kind, Workload& workload,
                         const PhaseOptions& options) {
  ReportBeginning(name);
  ProgressLine progress(fmt::format("{} {}", plan_.label, name), options_.progress());
  PhaseOptions with_progress = options;
  std::optional<SecondReporter> seconds;
  if (options_.live.any()) seconds.emplace(name, workload.ops(), account_->Levels(), talk_.offer);
  with_progress.progress = [&](const PhaseOptions::Progress& p) {
    progress.Show(p);
    if (seconds) seconds->Second(p);
  };
  // Only reads that pass the file layer can be recorded.
  const bool model = options_.readahead_model && kind == PhaseKind::kMeasure &&
                     FindEngine(options_.engine_name).capabilities.file_layer;
  ReturnFreeMemory();  // what the phase before freed serves the caches of this one
  const Reading before = ReadBorder();
  // The recording takes memory of the run's budget, so it is limited to a sixteenth of it.
  if (model) {
    const uint64_t room = options_.ram_bytes == 0 ? 256 << 20 : options_.ram_bytes / 16;
    ReadTrace::Start(room / sizeof(ReadTrace::Read));
  }
  MemoryWatch watch(plan_.budget);
  Engine& engine = options.recorder != nullptr ? options.recorder->engine() : *engine_;
  PhaseRecord phase{.name = name, .kind = kind};
  PhaseResult& result = phase.work
                            .emplace(PhaseRecord::Work{options.threads,
                                                       options.rate,
                                                       workload.ops(),
                                                       RunPhase(engine, workload, with_progress),
                                                       {}})
                            .result;
  if (seconds) seconds->Rest(result);
  const MemoryWatch::Held held = watch.Stop();
  progress.Clear();
  const Reading after = ReadBorder();

  phase.seconds = result.seconds;
  phase.foreign_cpu_share = ForeignCpu(result.cpu_begin, result.cpu_end);
  std::string wrong;
  if (!result.partial && options.verify_every != 0) {
    const IoScope scope(VerifyOp());
    wrong = workload.CheckDatabase(*engine_);
  }
  phase.work->details = workload.Details();
  if (model) phase.readahead = Readahead(result.operations());
  if (held.samples != 0) phase.held = {held, options_.engine.io != IoMode::kDirect};
  Finish(before, after, &phase);
  if (!wrong.empty()) throw Error(Error::kRun, wrong);
  if (result.wrong != 0) {
    throw Error(Error::kRun, fmt::format("{}; {} of {} checked answers were wrong",
                                         result.first_wrong, result.wrong, result.verified));
  }
  return phase;
}

// Ends the recording of a phase of `operations` operations and returns what the model makes of it.
Readahead2014 Run::Readahead(uint64_t operations) const {
  const uint64_t cache =
      plan_.budget == nullptr ? 0 : options_.ram_bytes - std::min(options_.ram_bytes, cache_bytes_);
  const bool random =
      options_.engine.io == IoMode::kMmap && options_.engine.mmap_advice == Advice::kRandom;
  return ReplayReadahead2014(ReadTrace::Stop(), operations, cache, random);
}

// Completes a phase that ended at the reading `after`, and sends it to the parent.
void Run::Finish(const Reading& before, const Reading& after, PhaseRecord* phase) {
  phase->account = meter_->Account(before, after);
  account_->GradePhase(phase, &record_.accounting->grade);
  if (plan_.budget != nullptr) {
    phase->memory = {plan_.budget->Parts(after.engine.cache_bytes.value_or(0)),
                     plan_.budget->Usage()};
  }
  const DiskSize size = engine_->SizeOnDisk();
  phase->database_bytes = size.total();
  phase->log_file_bytes = size.log_bytes;
  talk_.report({{"phase", PhaseJson(*phase)}});
  last_kind_ = phase->kind;
}

// Tells the parent which phase begins, and sends what is known of the run, so that the parent can
// report both if this process dies in the phase.
void Run::ReportBeginning(const std::string& phase) {
  talk_.report({{"run", RunJson(record_)}, {"begins", phase}});
}

// Runs `does` as a step between phases, measures its time and charges its IO to `op`. `does` may
// add to the step's record.
void Run::Step(const std::string& name, PhaseKind kind, OpKind op, const std::string& what,
               const std::function<void(PhaseRecord*)>& does) {
  const Clock& clock = Clock::Get();
  ReportBeginning(name);
  ProgressLine progress(fmt::format("{} {}", plan_.label, name), options_.progress());
  progress.Say(what);
  PhaseRecord step{.name = name, .kind = kind};
  const Reading before = ReadBorder();
  const CpuUse cpu_before = ReadCpuUse();
  const uint64_t start = clock.Now();
  {
    const IoScope scope(op);
    does(&step);
  }
  step.seconds = static_cast<double>(clock.ToNs(clock.Now() - start)) / 1e9;
  step.foreign_cpu_share = ForeignCpu(cpu_before, ReadCpuUse());
  const Reading after = ReadBorder();
  progress.Clear();
  Finish(before, after, &step);
}

void Run::Settle() {
  Step("settle", PhaseKind::kSettle, kSettle, "flushing, compacting, taking a checkpoint",
       [this](PhaseRecord*) {
         engine_->Settle();
         ReturnFreeMemory();
       });
}

// Counts the rows of a database whose last run was killed or failed, and so did not record them.
// The engine is opened again afterwards, and the pages are dropped, because pages that the count
// cached would speed up the phases that are measured next.
void Run::CountRows() {
  static const OpKind op = DefineOp("count-rows", Ground::kBackground);
  Step("count-rows", PhaseKind::kCount, op, "an earlier run did not end, so the rows are counted",
       [this](PhaseRecord* step) {
         workload_.population->Count(*engine_, stop_);
         step->counted.emplace();
         if (workload_.population->known()) {
           step->counted->rows = workload_.population->there().count();
         }
       });
  engine_.reset();
  DropPages(plan_.engine_dir);
  OpenEngine();
}

// Reports the database as loaded when a kill of the next phase can no longer take back what the
// load committed last. After a settle, or `at_end` of the run, that is now. Otherwise commits of
// lazy durability get their interval first, and a load without durability is not reported yet.
void Run::ReportLoaded(bool at_end) {
  if (loaded_ || !FindWorkload(plan_.phases.front()).loads) return;
  const bool at_rest = last_kind_ == PhaseKind::kSettle;
  if (!at_rest && !at_end) {
    if (options_.engine.durability == Durability::kNone) return;
    if (options_.engine.durability == Durability::kLazy) {
      std::this_thread::sleep_for(std::chrono::milliseconds(options_.engine.lazy_interval_ms));
    }
  }
  loaded_ = true;
  talk_.report({{"loaded", true}});
}

uint64_t Run::ShareBytes(double cache_pct) const {
  return static_cast<uint64_t>(static_cast<double>(options_.ram_bytes) * cache_pct / 100);
}

// Opens the engine anew with a cache of this share: after many cache sizes its blocks lie scattered
// over the allocator's pages, which the page cache then lacks (18 MB of 256 MB were seen).
void Run::ReopenWithShare(double cache_pct) {
  engine_.reset();
  ReturnFreeMemory();
  cache_bytes_ = ShareBytes(cache_pct);
  OpenEngine();
}

// Measures the cost of an operation with the share that is set: runs phases until both caches are
// at rest, then one phase as the trial.
CacheTrial Run::TryShare(const std::string& name, double cache_pct) {
  PhaseOptions phase = MeasuredPhase(false);
  phase.operations = 0;
  phase.seconds = std::clamp(options_.seconds.value_or(0) / 2, 0.5, 30.0);
  WorkloadOptions drawn = workload_;
  const auto measure = [&](const char* part) {
    drawn.seed = Mix64(drawn.seed + static_cast<uint64_t>(cache_pct * 8));
    return Measure(fmt::format("{} {}", name, part), PhaseKind::kTune,
                   *FindWorkload(name).make(dataset_, drawn), phase);
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
CacheTrial Run::TrialOf(double cache_pct, const PhaseRecord& trial) const {
  const auto count = static_cast<double>(std::max<uint64_t>(1, trial.operations()));
  const PhaseAccount& account = trial.account;
  const auto misses = static_cast<double>(account.engine.block_reads.value_or(0));
  const auto miss_bytes = static_cast<double>(account.engine.block_read_bytes.value_or(0));
  const double clients = static_cast<double>(plan_.threads) * options_.queue_depth;
  const double reads = trial.DeviceReadsPerOperation();
  // Under --read-iops each client waits for its turn, and the device's own statistics do not count
  // that wait.
  const double device_seconds =
      options_.read_iops > 0 ? reads * clients / static_cast<double>(options_.read_iops)
      : account.device       ? static_cast<double>(account.device->read_ms) / 1000 / count
                             : 0;
  const MemoryParts memory = trial.memory ? trial.memory->parts : MemoryParts{};
  return {
      cache_pct,
      {.rate = static_cast<double>(trial.operations()) / trial.seconds,
       .engine_misses = misses / count,
       .device_reads = reads,
       .cpu_seconds = (account.cpu_user_seconds + account.cpu_system_seconds) / count,
       .device_seconds = device_seconds,
       .clients = clients},
      std::max(0.0, static_cast<double>(memory.process_other)) + static_cast<double>(memory.kernel),
      miss_bytes / std::max(1.0, misses)};
}

// Returns a function that predicts, from trials, how the rate of point reads depends on the share;
// an empty function for other workloads.
std::function<SharePrediction(const std::vector<CacheTrial>&)> Run::SharePredictor(
    const std::string& name) {
  if (name != "point-read") return {};
  const DatasetOptions& data = options_.data;
  const double row = static_cast<double>(dataset_->key_bytes() + dataset_->value_bytes()) /
                     static_cast<double>(dataset_->rows());
  const double page = options_.engine.page_size;
  const double pages = std::max(1.0, static_cast<double>(data.rows) * row / page);
  const auto ram = static_cast<double>(options_.ram_bytes);
  RowChooser chooser(*dataset_, options_.workload, options_.workload.seed);
  const bool scattered = data.order == KeyOrder::kRandom || data.order == KeyOrder::kFile;
  const PagePopularity popularity(
      [&] {
        const uint64_t at = chooser.Next();
        return scattered ? Mix64(at) % data.rows : at;
      },
      data.rows, page / row);
  const CacheSizes sizes{.ram_bytes = ram,
                         .page_bytes = page,
                         .stored_bytes = static_cast<double>(engine_->SizeOnDisk().total()) / pages,
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

void Run::TuneCache(const std::string& name) {
  ShareSearch search;
  search.start = options_.cache_pct;
  search.most = FindEngine(options_.engine_name).capabilities.most_cache_pct;
  search.ram_bytes = static_cast<double>(options_.ram_bytes);
  search.measure = [&](double pct) {
    if (stop_()) return CacheTrial{pct, {1, 0, 0}};
    engine_->ResizeCache(ShareBytes(pct));
    // The allocator keeps what a smaller cache frees, and would withhold it from the page cache.
    ReturnFreeMemory();
    return TryShare(name, pct);
  };
  search.predict = SharePredictor(name);
  double best = options_.cache_pct;
  const std::vector<CacheTrial> trials = ClimbShare(search, &best);
  if (stop_()) return;
  record_.cache_tuning = {options_.cache_pct, best, trials,
                          search.predict ? search.predict(trials).ToJson() : json()};
  // Both caches must come to rest at the chosen share before the workload is measured. The search
  // is cleared first, because its prediction holds data on each page, in memory that the page cache
  // would otherwise use.
  search = {};
  ReopenWithShare(best);
  TryShare(name, best);
  ReturnFreeMemory();
}

// Measures the workload in the slices that the parent grants. The phase has no end of its own.
void Run::RunSlices(const std::string& name, Workload& workload) {
  meter_->WriteBack();  // what the load left in the page cache must not be written during slices
  ParentSlices slices(*meter_, talk_);
  PhaseOptions phase = MeasuredPhase(false);
  phase.operations = 0;
  phase.seconds = 0;
  phase.rate = 0;
  phase.slices = &slices;
  Measure(name, PhaseKind::kMeasure, workload, phase);
}

void Run::RunWorkload(const std::string& name) {
  const WorkloadInfo& info = FindWorkload(name);
  WorkloadOptions workload_options = workload_;
  workload_options.directory = std::filesystem::path(plan_.engine_dir).parent_path();
  std::unique_ptr<Workload> workload = info.make(dataset_, workload_options);
  const bool draws = !info.loads && workload->operations() == 0;
  if (draws && drawing_++ != 0) {
    // With the same seed it would access the rows of the phase before it, in the same order, and find
    // them cached.
    workload_options.seed = Mix64(workload_options.seed ^ Mix64(drawing_));
    workload = info.make(dataset_, workload_options);
  }
  if (!info.loads && options_.drop_caches) DropPages(plan_.engine_dir);
  if (plan_.in_slices && name == plan_.phases.back()) return RunSlices(name, *workload);
  if (draws && options_.warmup.value_or(0) > 0) {
    PhaseOptions warmup = MeasuredPhase(false);
    warmup.operations = 0;
    warmup.seconds = *options_.warmup;
    Measure(name + " warm-up", PhaseKind::kWarmUp, *workload, warmup);
    workload_options.seed = Mix64(workload_options.seed);  // draws rows other than the warm-up's
    workload = info.make(dataset_, workload_options);
  }
  if (options_.cache_auto && !info.loads && !stop_()) TuneCache(name);
  if (stop_()) return;
  PhaseOptions phase = MeasuredPhase(info.loads);
  const bool last = &name == &plan_.phases.back() && name == options_.workloads.back();
  std::optional<TraceRecorder> recorder;
  if (last && !options_.record_file.empty()) {
    recorder.emplace(options_.record_file, *engine_, name, workload->ops());
    phase.recorder = &*recorder;
  }
  Measure(name, info.loads ? PhaseKind::kLoad : PhaseKind::kMeasure, *workload, phase);
  if (recorder) recorder->Finish();
  if (workload->settles() && !stop_()) Settle();
}

void Run::Execute() {
  account_.emplace(options_, plan_);
  dataset_ = std::make_shared<const Dataset>(options_.data);
  PhaseOptions calibration = MeasuredPhase(false);
  record_.accounting = account_->Describe();
  record_.accounting->harness_ns_per_operation =
      HarnessCostNs(calibration, dataset_, options_.workload, !options_.record_file.empty());
  record_.accounting->clock_is_tsc = Clock::Get().uses_tsc();
  // Pages that are here already are charged to no budget, so what is free of them must not serve the
  // run.
  ReturnFreeMemory();
  if (plan_.budget != nullptr) plan_.budget->Enter();
  if (plan_.read_limit != nullptr) plan_.read_limit->Enter();
  if (HasPopulation(plan_)) {
    workload_.population = std::make_shared<Population>(dataset_);
    if (!FindWorkload(plan_.phases.front()).loads) workload_.population->FromJson(plan_.population);
  }
  OpenEngine();
  const std::shared_ptr<Population>& population = workload_.population;
  for (const std::string& phase : plan_.phases) {
    const WorkloadInfo& info = FindWorkload(phase);
    if (stop_()) break;
    if (population && !population->known()) CountRows();
    if (!info.loads) ReportLoaded(false);
    RunWorkload(phase);
  }
  // The engine may have chosen settings while it ran, so they are read once more.
  for (const auto& [name, value] : engine_->EffectiveSettings()) {
    record_.engine->effective[name] = value;
  }
  record_.database_bytes = engine_->SizeOnDisk().total();
  // The end of the engine would make the last commits durable, too, and could not tell of a failure.
  if (options_.engine.durability != Durability::kSync) engine_->Checkpoint();
  if (!stop_()) ReportLoaded(true);
  if (!population || population->known()) {
    record_.database_rows = population ? population->there().count() : dataset_->rows();
  }
  record_.partial = stop_();
  engine_.reset();
  if (population) record_.population = population->ToJson();
}

}  // namespace

bool HasPopulation(const RunPlan& plan) {
  const std::string& loader = FindWorkload(plan.phases.front()).loader;
  return loader.empty() ? !plan.population.is_null() : loader == "insert";
}

json ExecuteRun(const RunOptions& options, const RunPlan& plan, bool (*stop)(),
                const RunTalk& talk) {
  RunRecord record{.threads = plan.threads, .repeat = plan.repeat};
  Run run(options, plan, stop, &record, talk);
  try {
    run.Execute();
  } catch (const Error& e) {
    record.error = {e.what(), e.kind() == Error::kUsage ? 2 : 1};
  } catch (const std::bad_alloc&) {
    record.error = {"memory is exhausted; give a larger --ram or a smaller cache", 1};
  } catch (const std::exception& e) {
    record.error = {e.what(), 1};
  }
  return RunJson(record);
}

}  // namespace testbed
