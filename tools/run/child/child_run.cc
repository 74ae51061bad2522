// ExecuteRun (run_child.h), and the methods of ChildRun that open the engine and run the phases.
#include "tools/run/child/child_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "device/error.h"
#include "device/file/read_trace.h"
#include "device/os/allocator.h"
#include "device/os/signal_guard.h"
#include "engines/databases.h"
#include "engines/elsewhere.h"
#include "engines/registry.h"
#include "tools/live/second_reporter.h"
#include "tools/output/progress.h"
#include "tools/rate/rate_text.h"
#include "tools/run/child/code_of_run.h"
#include "tools/run/child/draw_seeds.h"
#include "tools/run/child/run_rows.h"
#include "tools/run/memory_watch.h"
#include "tools/run/run_child.h"
#include "tools/run/run_json.h"
#include "tools/run/run_slices.h"
#include "workloads/measure/clock.h"
#include "workloads/measure/harness_cost.h"
#include "workloads/measure/meter.h"
#include "workloads/population.h"
#include "workloads/registry.h"
#include "workloads/trace/trace_recorder.h"
#include "workloads/writing_phases.h"

namespace testbed {
namespace {

using nlohmann::json;

// Sets the shares of the processors that the run could not use between two readings.
void NoteProcessors(const CpuUse& before, const CpuUse& after, PhaseRecord* phase) {
  const int64_t cpus = ::sysconf(_SC_NPROCESSORS_ONLN);
  phase->foreign_cpu_share = ForeignCpuShare(before, after, cpus);
  phase->own_cpu_share = OwnCpuShare(before, after, cpus);
  phase->steal_share = StealShare(before, after, cpus);
}

}  // namespace

void ChildRun::OpenEngine() {
  EngineOptions engine_options = options_.engine;
  engine_options.cache_bytes = cache_bytes_;
  // Only a load creates a database, and only when the run opens the engine for the first time: a
  // database that is missing later is an error, never a reason to begin with an empty one.
  const bool first = !std::exchange(opened_, true);
  engine_options.create = first && !options_.reuse && FindWorkload(plan_.phases.front()).loads;
  engine_options.replace = options_.fresh && engine_options.create;
  if (IsGuest()) {
    engine_options.create = true;  // a guest makes an empty directory of its own
    engine_options.guest_of = guest_of_;
  }
  if (options_.cache_auto) {
    engine_options.most_cache_bytes =
        ShareBytes(FindEngine(options_.engine_name).capabilities.most_cache_pct);
  }
  {
    IoScope scope(kOpen);
    engine_ =
        OpenDatabases(options_.engine_name, plan_.engine_dir, engine_options, options_.databases);
  }
  EngineInUse in_use{options_.engine_name, FindEngine(options_.engine_name).version, {}};
  for (const auto& [name, value] : engine_->EffectiveSettings()) in_use.effective[name] = value;
  if (in_use.effective.contains("version")) in_use.version = in_use.effective.at("version");
  if (in_use.effective.contains("charged")) NoteCharges(in_use.effective.at("charged"));
  record_.engine = std::move(in_use);
  meter_ = std::make_unique<Meter>(*engine_, plan_.engine_dir, options_.account, account_->device(),
                                   plan_.exclusive_device, account_->in_kernel());
}

// Leaves the kernel level out, and says why, where an engine whose server runs already charges the
// blocks to no operation.
void ChildRun::NoteCharges(const std::string& charged) {
  if (charged == kChargedToOperations) return;
  account_->LeaveOutKernel(charged);
  RunAccounting now = account_->Describe();
  record_.accounting->in_kernel = now.in_kernel;
  record_.accounting->missing = std::move(now.missing);
  KeepWorse(now.grade, &record_.accounting->grade);
}

// Returns in how many operations one is checked. It is 0, and the database is not checked as a
// whole either, where --verify says so or the engine keeps nothing that can be read.
uint32_t ChildRun::VerifyEvery() const {
  const Capabilities& can = FindEngine(options_.engine_name).capabilities;
  return can.persistent && can.reads ? options_.verify_every : 0;
}

PhaseOptions ChildRun::MeasuredPhase(bool loads) const {
  PhaseOptions phase;
  phase.threads = plan_.threads;
  phase.loads = loads;
  phase.account = options_.account;
  phase.verify_every = VerifyEvery();
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
    if (const double own = options_.OwnSeconds(current_)) {
      phase.seconds = own;
      phase.operations = 0;
    }
    if (const double own = options_.OwnRate(current_)) phase.rate = own;
  }
  TakeShare(&phase);
  return phase;
}

// Returns how the rate of the measured phase changes, if it does, and makes its mean the rate of
// the phase. A warm-up, and trials of a cache, have the mean of whole periods, because a curve
// belongs to a whole phase.
std::optional<RateCurve> ChildRun::ShapeRate(PhaseOptions* phase) const {
  const std::optional<RateCurve> curve =
      ParseRateCurve(options_.OwnCurve(current_), phase->seconds);
  if (curve && phase->seconds > 0) phase->rate = curve->Until(phase->seconds) / phase->seconds;
  return curve;
}

// Reads the meter at the border of a phase. With slices, no figure is of a phase as a whole, so the
// reading does not wait until the device is at rest, which other sides and programs may never let
// happen. With `at_once`, waiting would let the engine settle between two phases.
Reading ChildRun::ReadBorder(bool at_once) const {
  return plan_.in_slices || at_once ? meter_->ReadNow() : meter_->Read();
}

PhaseRecord ChildRun::Measure(const std::string& name, PhaseKind kind, Workload& workload,
                              const PhaseOptions& options) {
  ReportBeginning(name);
  ProgressLine progress(fmt::format("{} {}", plan_.label, name), options_.progress());
  PhaseOptions with_progress = options;
  std::optional<SecondReporter> seconds;
  with_progress.progress = [&](const PhaseOptions::Progress& p) {
    progress.Show(p);
    if (seconds) seconds->Second(p);
  };
  if (IsOfAllTasks(kind)) BeginTogether(name, &with_progress);
  // The model needs recorded reads, and only reads that pass the file layer can be recorded.
  const bool model = options_.readahead_model && kind == PhaseKind::kMeasure &&
                     FindEngine(options_.engine_name).capabilities.file_layer;
  ReturnFreeMemory();  // the caches of this phase may use what the last one freed
  const bool follows = kind != PhaseKind::kLoad && (searching_ || options_.at_once);
  const bool goes_on = follows && (kind == PhaseKind::kTune || (options_.at_once && !IsLast()));
  const Reading before = ReadBorder(follows && MayStillWork());
  if (options_.live.any()) {
    seconds.emplace(name, workload.ops(), account_->Levels(), before.ledger, talk_.offer);
  }
  NoteLimitHits();
  // The recording takes memory of the run's budget, so it is limited to a sixteenth of it.
  if (model) {
    const uint64_t room = options_.ram_bytes == 0 ? 256 << 20 : options_.ram_bytes / 16;
    ReadTrace::Start(room / sizeof(ReadTrace::Read));
  }
  MemoryWatch watch(plan_.budget);
  Engine& engine = options.recorder != nullptr ? options.recorder->engine() : *engine_;
  PhaseRecord phase{.name = name, .kind = kind};
  phase.work.emplace(PhaseRecord::Work{options.threads, options.rate, workload.ops(), {}, {}});
  PhaseResult& result = phase.work->result;
  result = RunPhase(engine, workload, with_progress);
  // The recording is of the phase alone: the check below reads the whole database.
  const auto reads = model ? ReadTrace::Stop() : ReadTrace::Recording();
  if (IsOfAllTasks(kind)) EndTogether(name, options);
  if (seconds) seconds->Rest(result);
  const MemoryWatch::Held held = watch.Stop();
  progress.Clear();
  const Reading after = ReadBorder(goes_on);
  NoteMemory(after, &phase);
  phase.seconds = result.seconds;
  NoteProcessors(result.cpu_begin, result.cpu_end, &phase);
  const std::string wrong = IsChecked(kind) && !result.partial ? Check(workload) : "";
  phase.work->details = workload.Details();
  if (model) phase.readahead = Readahead(reads, result.operations());
  if (held.samples != 0) {
    phase.held = {held, ReadsPageCache(FindEngine(options_.engine_name), options_.engine)};
  }
  Finish(before, after, &phase);
  if (!wrong.empty()) throw Error(Error::kRun, wrong);
  if (result.wrong != 0) {
    throw Error(Error::kRun, fmt::format("{}; {} of {} checked answers were wrong",
                                         result.first_wrong, result.wrong, result.verified));
  }
  return phase;
}

// Returns what the readahead model computes from the recorded reads of a phase of `operations`
// operations.
Readahead2014 ChildRun::Readahead(const ReadTrace::Recording& reads, uint64_t operations) const {
  const uint64_t cache =
      plan_.budget == nullptr ? 0 : options_.ram_bytes - std::min(options_.ram_bytes, cache_bytes_);
  const bool random =
      options_.engine.io == IoMode::kMmap && options_.engine.mmap_advice == Advice::kRandom;
  return ReplayReadahead2014(reads, operations, cache, random);
}

// Notes how often the limit of the budget was hit before the phase that begins now.
void ChildRun::NoteLimitHits() {
  if (plan_.budget != nullptr) limit_hits_ = plan_.budget->Usage().failcnt;
}

// Notes what memory is in use at the reading `after`, which was made just now.
void ChildRun::NoteMemory(const Reading& after, PhaseRecord* phase) const {
  if (plan_.budget == nullptr) return;
  MemoryUsage usage = plan_.budget->Usage();
  usage.failcnt -= std::min(usage.failcnt, limit_hits_);
  const bool has_cache = FindEngine(options_.engine_name).capabilities.cache;
  phase->memory = {plan_.budget->Parts(after.engine.cache_bytes.value_or(0)), usage,
                   after.engine.cache_bytes || !has_cache};
}

// Checks the database as a whole, unless nothing is checked. Returns a sentence about the first
// error, or an empty string.
std::string ChildRun::Check(Workload& workload) {
  if (VerifyEvery() == 0) return "";
  const IoScope scope(VerifyOp());
  return workload.CheckDatabase(*engine_);
}

// Runs the check of an earlier phase's workload, when no later phase has checked the database. The
// engine may have been opened anew since that phase.
void ChildRun::CheckUnchecked() {
  if (!unchecked_) return;
  unchecked_->OpenForCheck(*engine_, plan_.threads);
  if (const std::string wrong = Check(*unchecked_); !wrong.empty()) throw Error(Error::kRun, wrong);
}

// Completes a phase that ended at the reading `after`, and sends it to the parent.
void ChildRun::Finish(const Reading& before, const Reading& after, PhaseRecord* phase) {
  phase->account = meter_->Account(before, after);
  if (phase->work) phase->account.LeaveOut(phase->work->result.checks);
  if (phase->work && IsOfAllTasks(phase->kind)) GatherTasks(phase);
  account_->GradePhase(phase, &record_.accounting->grade);
  if (!phase->memory) NoteMemory(after, phase);
  const DiskSize size = engine_->SizeOnDisk();
  phase->database_bytes = size.total();
  phase->log_file_bytes = size.log_bytes;
  if (options_.cache_auto && phase->kind != PhaseKind::kTune) {
    phase->cache_pct =
        100 * static_cast<double>(cache_bytes_) / static_cast<double>(options_.ram_bytes);
  }
  talk_.report({{"phase", PhaseJson(*phase)}});
  last_kind_ = phase->kind;
}

// Tells the parent which phase begins, and sends what is known of the run, so that the parent can
// report both if this process dies in the phase.
void ChildRun::ReportBeginning(const std::string& phase) {
  talk_.report({{"run", RunJson(record_)}, {"begins", phase}});
}

// Runs `does` as a step between phases, measures its time and charges its IO to `op`. `does` may
// add to the step's record.
void ChildRun::Step(const std::string& name, PhaseKind kind, OpKind op, const std::string& what,
                    const std::function<void(PhaseRecord*)>& does) {
  const Clock& clock = Clock::Get();
  ReportBeginning(name);
  ProgressLine progress(fmt::format("{} {}", plan_.label, name), options_.progress());
  progress.Say(what);
  PhaseRecord step{.name = name, .kind = kind};
  const Reading before =
      ReadBorder(options_.at_once && kind == PhaseKind::kSettle && MayStillWork());
  NoteLimitHits();
  const CpuUse cpu_before = ReadCpuUse();
  const uint64_t start = clock.Now();
  {
    const IoScope scope(op);
    does(&step);
  }
  step.seconds = static_cast<double>(clock.ToNs(clock.Now() - start)) / 1e9;
  NoteProcessors(cpu_before, ReadCpuUse(), &step);
  const Reading after = ReadBorder(false);
  progress.Clear();
  Finish(before, after, &step);
}

void ChildRun::Settle() {
  if (IsGuest()) return;
  Step("settle", PhaseKind::kSettle, kSettle, "flushing, compacting, taking a checkpoint",
       [this](PhaseRecord*) {
         engine_->Settle();
         ReturnFreeMemory();
       });
}

// Measures the workload in the slices that the parent grants. The phase has no end of its own.
void ChildRun::RunSlices(const std::string& name, Workload& workload) {
  meter_->WriteBack();  // what the load left in the page cache must not be written during slices
  ParentSlices slices(*meter_, talk_);
  PhaseOptions phase = MeasuredPhase(false);
  phase.operations = 0;
  phase.seconds = 0;
  phase.rate = 0;
  phase.slices = &slices;
  Measure(name, PhaseKind::kMeasure, workload, phase);
}

void ChildRun::RunWorkload(const std::string& name) {
  const WorkloadInfo& info = FindWorkload(name);
  ++(info.loads ? loads_ : current_);
  if (info.only_settles) return Settle();
  workload_.popular_rows = info.loads ? 1 : options_.OwnPopular(current_);
  WorkloadOptions workload_options = workload_;
  workload_options.directory = std::filesystem::path(plan_.engine_dir).parent_path();
  std::unique_ptr<Workload> workload = info.make(dataset_, workload_options);
  const bool draws = !info.loads && workload->operations() == 0;
  if (draws && drawing_++ != 0) {
    // With an equal seed the workload would access the rows of the phase before it, in the same
    // order, and find them cached.
    workload_options.seed = SeedOfDrawing(workload_options.seed, drawing_);
    workload = info.make(dataset_, workload_options);
  }
  if (!info.loads && options_.drop_caches) DropCaches();
  if (plan_.in_slices && name == plan_.phases.back()) return RunSlices(name, *workload);
  if (draws && options_.warmup.value_or(0) > 0) {
    PhaseOptions warmup = MeasuredPhase(false);
    warmup.operations = 0;
    warmup.seconds = *options_.warmup;
    Measure(name + " warm-up", PhaseKind::kWarmUp, *workload, warmup);
    workload_options.seed = SeedAfterWarmUp(workload_options.seed);
    workload = info.make(dataset_, workload_options);
  }
  WorkloadOptions trials = workload_options;
  if (options_.cache_auto && !info.loads && !stop_()) TuneCache(name, &trials);
  std::optional<FoundRate> found;
  if (!options_.find_rate.empty() && !info.loads && !stop_()) {
    found = FindRate(name, trials);
  }
  if (stop_()) {
    if (found) record_.found_rates.push_back(std::move(*found));
    return;
  }
  PhaseOptions phase = MeasuredPhase(info.loads);
  const std::optional<RateCurve> curve = info.loads ? std::nullopt : ShapeRate(&phase);
  if (curve) phase.curve = &*curve;
  const bool last = &name == &plan_.phases.back() && name == options_.workloads.back();
  std::optional<TraceRecorder> recorder;
  if (last && !options_.record_file.empty()) {
    recorder.emplace(options_.record_file, *engine_, name, workload->ops());
    phase.recorder = &*recorder;
  }
  if (found) {
    MeasureAtFoundRate(name, *workload, phase, std::move(*found), workload_options);
  } else {
    const PhaseRecord done =
        Measure(name, info.loads ? PhaseKind::kLoad : PhaseKind::kMeasure, *workload, phase);
    // A load that was stopped has written an unknown part of the rows.
    if (info.loads && done.work->result.partial && workload_.population)
      workload_.population->Forget();
  }
  if (recorder) recorder->Finish();
  if (workload->settles() && (info.loads || !options_.at_once) && !stop_()) Settle();
  if (!info.loads && workload->checks()) unchecked_ = IsLast() ? nullptr : std::move(workload);
}

void ChildRun::Execute() {
  BeginTasks();
  account_.emplace(options_, plan_);
  dataset_ = std::make_shared<const Dataset>(options_.data);
  PhaseOptions calibration = MeasuredPhase(false);
  record_.accounting = account_->Describe();
  record_.accounting->harness_ns_per_operation =
      HarnessCostNs(calibration, dataset_, options_.workload, !options_.record_file.empty());
  record_.accounting->clock_is_tsc = Clock::Get().uses_tsc();
  // Code is not what the budget is about, so the kernel must not charge it to the run.
  if (plan_.budget != nullptr) ReadCodeOfRun(FindEngine(options_.engine_name), options_.engine);
  // Memory that this process already has is charged to no budget, so the free part of it is
  // returned to the system before the run could use it.
  ReturnFreeMemory();
  if (plan_.budget != nullptr) plan_.budget->Enter();
  if (plan_.read_limit != nullptr) plan_.read_limit->Enter();
  if (HasPopulation(plan_)) {
    workload_.population = std::make_shared<Population>(dataset_);
    if (!FindWorkload(plan_.phases.front()).loads) workload_.population->FromJson(plan_.population);
  }
  workload_.writing_phases = std::make_shared<WritingPhases>(plan_.writing_phases);
  workload_.loader = LoaderOfRun(plan_);
  if (IsGuest()) MeetLoaded();
  OpenEngine();
  const std::shared_ptr<Population>& population = workload_.population;
  for (const std::string& phase : plan_.phases) {
    const WorkloadInfo& info = FindWorkload(phase);
    if (stop_()) break;
    if (population && !population->known()) CountRows(!info.loader.empty());
    if (!info.loads) ReportLoaded(false);
    if (!info.loads) MeetLoaded();
    RunWorkload(phase);
  }
  if (!stop_()) CheckUnchecked();
  // The engine may have chosen settings while it ran, so they are read once more.
  for (const auto& [name, value] : engine_->EffectiveSettings()) {
    record_.engine->effective[name] = value;
  }
  record_.database_size = engine_->SizeOnDisk();
  const bool durable = MakeDurable();
  if (!stop_()) ReportLoaded(true);
  if (population || !stop_()) {
    record_.database_rows = RowsAtEnd(plan_, population.get(), *dataset_);
  }
  MeetAtEnd();
  record_.partial = stop_();
  engine_.reset();
  // The next run counts rows of which nobody knows whether they outlive a power cut.
  if (population && durable) record_.population = population->ToJson();
  record_.writing_phases = workload_.writing_phases->last();
}

namespace {

// Tells the other tasks how this task's run ended: with an error, stopped early, or whole.
void EndTasks(const RunRecord& record, TaskGroup* tasks) {
  if (record.error) return tasks->End(record.error->sentence, record.error->exit_code);
  if (record.partial.value_or(true)) return tasks->EndStopped();
  tasks->End("");
}

}  // namespace

json ExecuteRun(const RunOptions& options, const RunPlan& plan, bool (*stop)(),
                const RunTalk& talk) {
  RunRecord record{.threads = plan.threads, .repeat = plan.repeat};
  ChildRun run(options, plan, stop, &record, talk);
  try {
    run.Execute();
  } catch (const Stopped&) {
    record.partial = true;
  } catch (const Error& e) {
    record.error = {e.what(), e.kind() == Error::kUsage ? 2 : 1};
  } catch (const std::exception& e) {
    record.error = {SentenceOf(e), 1};
  }
  if (plan.tasks != nullptr) EndTasks(record, plan.tasks);
  json document = RunJson(record);
  if (plan.tasks != nullptr && TaskIsStopped()) document[kStoppedByTask] = true;
  return document;
}

}  // namespace testbed
