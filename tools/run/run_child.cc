#include "tools/run/run_child.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <thread>
#include <utility>

#include "device/error.h"
#include "device/file/page_cache.h"
#include "device/file/read_trace.h"
#include "engines/databases.h"
#include "engines/registry.h"
#include "tools/cache/cache_tuning.h"
#include "tools/output/progress.h"
#include "tools/report/insert_benchmark_metrics.h"
#include "tools/run/memory_watch.h"
#include "tools/run/phase_json.h"
#include "tools/run/run_account.h"
#include "workloads/measure/clock.h"
#include "workloads/measure/meter.h"
#include "workloads/population.h"
#include "workloads/registry.h"
#include "workloads/row_chooser.h"

namespace testbed {
namespace {

using nlohmann::json;

class Run {
 public:
  Run(const RunOptions& options, const RunPlan& plan, bool (*stop)(), json* document,
      std::function<void(const json&)> report)
      : options_(options),
        plan_(plan),
        stop_(stop),
        document_(*document),
        report_(std::move(report)) {}

  void Execute();

 private:
  void ReportBeginning(const std::string& phase);
  void OpenEngine();
  void CountRows();
  void ReportLoaded(bool at_end);
  void RunWorkload(const std::string& name);
  void Measure(const std::string& name, const std::string& kind, Workload& workload,
               const PhaseOptions& phase);
  uint64_t ShareBytes(double cache_pct) const;
  void ReopenWithShare(double cache_pct);
  CacheTrial TryShare(const std::string& name, double cache_pct);
  std::function<SharePrediction(const std::vector<CacheTrial>&)> SharePredictor(
      const std::string& name);
  void TuneCache(const std::string& name);
  void Step(const std::string& name, const std::string& kind, OpKind op, const std::string& what,
            const std::function<json()>& does);
  void Settle();
  void Finish(json phase, const Reading& before, const Reading& after);
  PhaseOptions MeasuredPhase(bool loads) const;

  const RunOptions& options_;
  bool opened_ = false;                                 // OpenEngine has run before
  uint64_t cache_bytes_ = options_.engine.cache_bytes;  // size of the engine's cache now
  const RunPlan& plan_;
  bool (*const stop_)();
  json& document_;
  const std::function<void(const json&)> report_;
  std::optional<RunAccount> account_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Meter> meter_;
  std::shared_ptr<const Dataset> dataset_;
  WorkloadOptions workload_ = options_.workload;  // the user's options plus the population
  bool loaded_ = false;                           // {"loaded": true} was reported
};

void Run::OpenEngine() {
  EngineOptions engine_options = options_.engine;
  engine_options.cache_bytes = cache_bytes_;
  // Only a load creates a database, and only when the run opens the engine for the first time: a
  // database that is missing later is an error, never a reason to begin with an empty one. A run
  // without phases only tries the engine's options, in an empty directory.
  const bool first = !std::exchange(opened_, true);
  engine_options.create = first && (plan_.phases.empty() ||
                                    (!options_.reuse && FindWorkload(plan_.phases.front()).loads));
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
                                   account_->in_kernel());
  const EngineInfo& info = FindEngine(options_.engine_name);
  json effective = json::object();
  for (const auto& [name, value] : engine_->EffectiveSettings()) effective[name] = value;
  document_["engine"] = {{"name", options_.engine_name},
                         {"version", effective.value("version", info.version)},
                         {"effective", effective}};
}

PhaseOptions Run::MeasuredPhase(bool loads) const {
  PhaseOptions phase;
  phase.threads = plan_.threads;
  phase.account = options_.account;
  const Capabilities& can = FindEngine(options_.engine_name).capabilities;
  phase.verify_every = can.persistent && can.reads ? options_.verify_every : 0;
  phase.consume = options_.consume;
  phase.rate = options_.rate;
  phase.arrivals = options_.arrivals;
  phase.seed = options_.data.seed;
  phase.device = account_->device();
  phase.stop = stop_;
  if (!loads) {
    phase.queue_depth = options_.queue_depth;
    phase.operations = options_.operations;
    phase.seconds = options_.seconds.value_or(0);
  }
  return phase;
}

void Run::Measure(const std::string& name, const std::string& kind, Workload& workload,
                  const PhaseOptions& phase) {
  ReportBeginning(name);
  ProgressLine progress(fmt::format("{} {}", plan_.label, name), options_.quiet);
  PhaseOptions with_progress = phase;
  with_progress.progress = [&progress](const PhaseOptions::Progress& p) { progress.Show(p); };
  // Only reads that pass the file layer can be recorded.
  const bool model = options_.readahead_model && kind == "measure" &&
                     FindEngine(options_.engine_name).capabilities.file_layer;
  const Reading before = meter_->Read();
  // The recording takes memory of the run's budget, so it is limited to a sixteenth of it.
  if (model) {
    const uint64_t room = options_.ram_bytes == 0 ? 256 << 20 : options_.ram_bytes / 16;
    ReadTrace::Start(room / sizeof(ReadTrace::Read));
  }
  MemoryWatch watch(plan_.budget);
  const PhaseResult result = RunPhase(*engine_, workload, with_progress);
  const MemoryWatch::Held held = watch.Stop();
  progress.Clear();
  const Reading after = meter_->Read();

  json j = PhaseJson(name, kind, phase, workload.ops(), result);
  std::string wrong;
  if (!result.partial && phase.verify_every != 0) {
    const IoScope scope(VerifyOp());
    wrong = workload.CheckDatabase(*engine_);
  }
  if (json details = workload.Details(); !details.is_null()) j["details"] = std::move(details);
  if (model) {
    const uint64_t cache = plan_.budget == nullptr
                               ? 0
                               : options_.ram_bytes - std::min(options_.ram_bytes, cache_bytes_);
    j["readahead_2014"] = ReadaheadModelJson(
        ReadTrace::Stop(), result.operations(), cache,
        options_.engine.io == IoMode::kMmap && options_.engine.mmap_advice == Advice::kRandom);
  }
  if (held.samples != 0) j["memory"] = HeldJson(held, options_.engine.io != IoMode::kDirect);
  Finish(j, before, after);
  if (!wrong.empty()) throw Error(Error::kRun, wrong);
  if (result.wrong != 0) {
    throw Error(Error::kRun, fmt::format("{}; {} of {} checked answers were wrong",
                                         result.first_wrong, result.wrong, result.verified));
  }
}

void Run::Finish(json phase, const Reading& before, const Reading& after) {
  phase["account"] = meter_->Account(before, after);
  account_->GradePhase(&phase, &document_["accounting"]);
  if (plan_.budget != nullptr) {
    phase["memory"].update(MemoryJson(*plan_.budget, after.engine.cache_bytes.value_or(0)));
  }
  const DiskSize size = engine_->SizeOnDisk();
  phase["database_bytes"] = size.total();
  phase["log_file_bytes"] = size.log_bytes;
  if (json metrics = InsertBenchmarkMetrics(phase); !metrics.is_null()) {
    phase["details"]["metrics"] = std::move(metrics);
  }
  // A trial's histograms and series are dropped: memory that the document takes is lost to the page
  // cache, and would change the trials that follow.
  if (phase["kind"] == "tune") {
    for (const char* part : {"operations", "series"}) phase[part] = json::array();
  }
  report_({{"phase", phase}});
  document_["phases"].push_back(std::move(phase));
}

// Tells the parent which phase begins, and sends the document as far as it is known, so that the
// parent can report both if this process dies in the phase.
void Run::ReportBeginning(const std::string& phase) {
  json known = json::object();
  for (const auto& [name, value] : document_.items()) {
    if (name != "phases") known[name] = value;  // the parent has the phases already
  }
  report_({{"run", std::move(known)}, {"begins", phase}});
}

// Runs `does` as a step between phases, measures its time and charges its IO to `op`. `does`
// returns further fields for the step's JSON.
void Run::Step(const std::string& name, const std::string& kind, OpKind op, const std::string& what,
               const std::function<json()>& does) {
  const Clock& clock = Clock::Get();
  ReportBeginning(name);
  ProgressLine progress(fmt::format("{} {}", plan_.label, name), options_.quiet);
  progress.Say(what);
  json step = {{"name", name}, {"kind", kind}};
  const Reading before = meter_->Read();
  const CpuUse cpu_before = ReadCpuUse();
  const uint64_t start = clock.Now();
  {
    const IoScope scope(op);
    step.update(does());
  }
  step["seconds"] = static_cast<double>(clock.ToNs(clock.Now() - start)) / 1e9;
  step["foreign_cpu_share"] = ForeignCpuJson(cpu_before, ReadCpuUse());
  const Reading after = meter_->Read();
  progress.Clear();
  Finish(std::move(step), before, after);
}

void Run::Settle() {
  Step("settle", "settle", kSettle, "flushing, compacting, taking a checkpoint", [this] {
    engine_->Settle();
    return json::object();
  });
}

// Counts the rows of a database whose last run was killed or failed, and so did not record them.
// The engine is opened again afterwards, and the pages are dropped, because pages that the count
// cached would speed up the phases that are measured next.
void Run::CountRows() {
  static const OpKind op = DefineOp("count-rows", Ground::kBackground);
  Step("count-rows", "count", op, "an earlier run did not end, so the rows are counted", [this] {
    workload_.population->Count(*engine_, stop_);
    const bool known = workload_.population->known();
    return known ? json{{"rows", workload_.population->there().count()}} : json{{"partial", true}};
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
  const json& phases = document_["phases"];
  const bool at_rest = !phases.empty() && phases.back()["kind"] == "settle";
  if (!at_rest && !at_end) {
    if (options_.engine.durability == Durability::kNone) return;
    if (options_.engine.durability == Durability::kLazy) {
      std::this_thread::sleep_for(std::chrono::milliseconds(options_.engine.lazy_interval_ms));
    }
  }
  loaded_ = true;
  report_({{"loaded", true}});
}

uint64_t Run::ShareBytes(double cache_pct) const {
  return static_cast<uint64_t>(static_cast<double>(options_.ram_bytes) * cache_pct / 100);
}

// Opens the engine again with a cache of this share, so that it is measured in the state of a run
// that starts with it. After many cache sizes the blocks that the engine still holds lie scattered
// over the allocator's pages, which therefore cannot be returned and are lost to the page cache (18
// MB of 256 MB were seen). The document grew between the engine's blocks, so it is copied, too.
void Run::ReopenWithShare(double cache_pct) {
  engine_.reset();
  const std::vector<uint8_t> document = json::to_cbor(document_);
  document_ = nullptr;
  ::malloc_trim(0);
  document_ = json::from_cbor(document);
  cache_bytes_ = ShareBytes(cache_pct);
  OpenEngine();
}

double OperationCount(const json& phase) { return std::max(1.0, phase["count"].get<double>()); }

double DeviceReadsPerOperation(const json& phase) {
  return phase["account"].value("device", json::object()).value("reads", 0.0) /
         OperationCount(phase);
}

double CachedBytes(const json& phase) {
  const json memory = phase.value("memory", json::object());
  return memory.value("engine_cache", 0.0) + memory.value("page_cache", 0.0);
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
    Measure(fmt::format("{} {}", name, part), "tune", *FindWorkload(name).make(dataset_, drawn),
            phase);
  };
  // Both caches must fill again, which takes longer than a phase on a slow device. While they fill,
  // the device reads hardly fall at first, so the bytes cached are watched as well.
  constexpr int kMostSettling = 8;
  constexpr double kSettled = 0.97, kFull = 0.02;
  double reads = -1, held = 0;
  for (int i = 0; i < kMostSettling && !stop_(); ++i) {
    measure("settling");
    const json& settled = document_["phases"].back();
    const double now = DeviceReadsPerOperation(settled), holds = CachedBytes(settled);
    const bool fills = holds > held + kFull * static_cast<double>(options_.ram_bytes);
    if (now == 0 || (reads >= 0 && now > reads * kSettled && !fills)) break;
    reads = now;
    held = holds;
  }
  ::malloc_trim(0);
  measure("trial");
  const json& trial = document_["phases"].back();
  const double count = OperationCount(trial);
  const json& account = trial["account"];
  const json device = account.value("device", json::object());
  const double cpu =
      account.value("cpu_user_seconds", 0.0) + account.value("cpu_system_seconds", 0.0);
  const json memory = trial.value("memory", json::object());
  const double clients = static_cast<double>(plan_.threads) * options_.queue_depth;
  // Under --read-iops each client waits for its turn, and the device's own statistics do not count
  // that wait.
  const double device_seconds =
      options_.read_iops > 0
          ? DeviceReadsPerOperation(trial) * clients / static_cast<double>(options_.read_iops)
          : device.value("read_ms", 0.0) / 1000 / count;
  return {cache_pct,
          {.rate = trial["rate"],
           .engine_misses = account["engine"].value("block_reads", 0.0) / count,
           .device_reads = DeviceReadsPerOperation(trial),
           .cpu_seconds = cpu / count,
           .device_seconds = device_seconds,
           .clients = clients},
          std::max(0.0, memory.value("process_other", 0.0)) + memory.value("kernel", 0.0),
          account["engine"].value("block_read_bytes", 0.0) /
              std::max(1.0, account["engine"].value("block_reads", 0.0))};
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
    ::malloc_trim(0);
    return TryShare(name, pct);
  };
  search.predict = SharePredictor(name);
  double best = options_.cache_pct;
  const std::vector<CacheTrial> trials = ClimbShare(search, &best);
  if (stop_()) return;
  json tuning = {
      {"start_pct", options_.cache_pct}, {"chosen_pct", best}, {"trials", json::array()}};
  for (const CacheTrial& trial : trials) {
    tuning["trials"].push_back({{"cache_pct", trial.cache_pct},
                                {"times", trial.times},
                                {"rate", trial.measured.rate},
                                {"engine_misses_per_operation", trial.measured.engine_misses},
                                {"device_reads_per_operation", trial.measured.device_reads},
                                {"cpu_us_per_operation", trial.measured.cpu_seconds * 1e6},
                                {"device_us_per_operation", trial.measured.device_seconds * 1e6},
                                {"other_bytes", trial.other_bytes}});
  }
  if (search.predict) tuning["prediction"] = search.predict(trials).ToJson();
  document_["cache_tuning"] = std::move(tuning);
  // Both caches must come to rest at the chosen share before the workload is measured. The search
  // is cleared first, because its prediction holds data on each page, in memory that the page cache
  // would otherwise use.
  search = {};
  ReopenWithShare(best);
  TryShare(name, best);
  ::malloc_trim(0);
}

void Run::RunWorkload(const std::string& name) {
  const WorkloadInfo& info = FindWorkload(name);
  WorkloadOptions workload_options = workload_;
  workload_options.directory = std::filesystem::path(plan_.engine_dir).parent_path();
  std::unique_ptr<Workload> workload = info.make(dataset_, workload_options);
  if (!info.loads && options_.drop_caches) DropPages(plan_.engine_dir);
  if (!info.loads && workload->operations() == 0 && options_.warmup.value_or(0) > 0) {
    PhaseOptions warmup = MeasuredPhase(false);
    warmup.operations = 0;
    warmup.seconds = *options_.warmup;
    Measure(name + " warm-up", "warm-up", *workload, warmup);
    workload_options.seed = Mix64(workload_options.seed);  // draws rows other than the warm-up's
    workload = info.make(dataset_, workload_options);
  }
  if (options_.cache_auto && !info.loads && !stop_()) TuneCache(name);
  if (stop_()) return;
  Measure(name, info.loads ? "load" : "measure", *workload, MeasuredPhase(info.loads));
  if (workload->settles() && !stop_()) Settle();
}

void Run::Execute() {
  account_.emplace(options_, plan_);
  dataset_ = std::make_shared<const Dataset>(options_.data);
  PhaseOptions calibration = MeasuredPhase(false);
  document_["accounting"] = account_->Describe();
  document_["accounting"]["harness_ns_per_operation"] =
      HarnessCostNs(calibration, dataset_, options_.workload);
  document_["accounting"]["clock"] = Clock::Get().uses_tsc() ? "tsc" : "clock_gettime";
  document_["accounting"]["latency_relative_error"] = Histogram::kRelativeError;
  if (plan_.budget != nullptr) plan_.budget->Enter();
  if (plan_.read_limit != nullptr) plan_.read_limit->Enter();
  if (HasPopulation(plan_.phases)) {
    workload_.population = std::make_shared<Population>(dataset_);
    if (!FindWorkload(plan_.phases.front()).loads) workload_.population->FromJson(plan_.population);
  }
  OpenEngine();
  const std::shared_ptr<Population>& population = workload_.population;
  if (population && !population->known()) CountRows();
  for (const std::string& phase : plan_.phases) {
    const WorkloadInfo& info = FindWorkload(phase);
    if (stop_()) break;
    if (!info.loads) ReportLoaded(false);
    RunWorkload(phase);
  }
  if (!stop_() && !plan_.phases.empty()) ReportLoaded(true);
  // The engine may have chosen settings while it ran, so they are read once more.
  for (const auto& [name, value] : engine_->EffectiveSettings()) {
    document_["engine"]["effective"][name] = value;
  }
  document_["database"] = {{"bytes", engine_->SizeOnDisk().total()}};
  if (!population || population->known()) {
    document_["database"]["rows"] = population ? population->there().count() : dataset_->rows();
  }
  document_["partial"] = stop_();
  engine_.reset();
  if (population) document_["population"] = population->ToJson();
}

json ErrorJson(const std::string& sentence, int exit_code) {
  return {{"sentence", sentence}, {"exit_code", exit_code}};
}

}  // namespace

bool HasPopulation(const std::vector<std::string>& workloads) {
  return !workloads.empty() && FindWorkload(workloads.front()).loader == "insert";
}

json ExecuteRun(const RunOptions& options, const RunPlan& plan, bool (*stop)(),
                const std::function<void(const json&)>& report) {
  json document = {{"threads", plan.threads}, {"repeat", plan.repeat}, {"phases", json::array()}};
  Run run(options, plan, stop, &document, report);
  try {
    run.Execute();
  } catch (const Error& e) {
    document["error"] = ErrorJson(e.what(), e.kind() == Error::kUsage ? 2 : 1);
  } catch (const std::bad_alloc&) {
    document["error"] = ErrorJson("memory is exhausted; give a larger --ram or a smaller cache", 1);
  } catch (const std::exception& e) {
    document["error"] = ErrorJson(e.what(), 1);
  }
  return document;
}

}  // namespace testbed
