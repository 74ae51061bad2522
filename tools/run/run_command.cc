#include "tools/run/run_command.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "device/error.h"
#include "device/file/page_cache.h"
#include "device/machine/host.h"
#include "device/machine/memory_budget.h"
#include "device/os/allocator.h"
#include "device/os/dir_lock.h"
#include "device/os/signal_guard.h"
#include "engines/registry.h"
#include "tools/cache/cache_rehearsal.h"
#include "tools/database/copy_tree.h"
#include "tools/database/database_dir.h"
#include "tools/database/database_files.h"
#include "tools/live/live_view.h"
#include "tools/output/json_text.h"
#include "tools/output/output_file.h"
#include "tools/output/table.h"
#include "tools/release/build_info.h"
#include "tools/report/csv.h"
#include "tools/report/report.h"
#include "tools/run/run_checks.h"
#include "tools/run/run_process.h"
#include "tools/run/surroundings.h"
#include "tools/run/tasks/recorded_options.h"
#include "tools/run/tasks/task_join.h"
#include "tools/trace/trace_options.h"
#include "tools/unused_options.h"
#include "workloads/dataset.h"
#include "workloads/registry.h"
#include "workloads/trace/trace_writer.h"

namespace testbed {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

bool Loads(const std::string& workload) { return FindWorkload(workload).loads; }

// Returns whether the workload only reads. Such a workload leaves the database as it was, so that
// the next run can use it too.
bool ReadsOnly(const std::string& workload) { return FindWorkload(workload).reads_only; }

void PutBack(const RunOptions& options, DatabaseDir* dir);

// Returns an exception as the error of a run, with the exit code that it would have ended the
// command with.
json ErrorJson(const std::exception& e) {
  if (const auto* of_file = dynamic_cast<const fs::filesystem_error*>(&e)) {
    return {{"sentence", fmt::format("{} cannot be used: {}", of_file->path1().string(),
                                     of_file->code().message())},
            {"exit_code", 2}};
  }
  const Error error = Error::Of(e);
  const bool refused = error.kind() == Error::kUsage || error.kind() == Error::kIo;
  return {{"sentence", error.what()}, {"exit_code", refused ? 2 : 1}};
}

// Executes the runs that the options ask for, one after the other, until a run fails or the user
// stops them.
class Runs {
 public:
  // `options` are those that `dir` was made with; each load sets its seed in them.
  // `tasks`, which may be null, are those of a run of several.
  Runs(RunOptions* options, const Surroundings& surroundings, DatabaseDir* dir,
       const Writers& writers, TaskGroup* tasks, LiveView* live, json* document)
      : options_(*options),
        seed_(options->data.seed),
        surroundings_(surroundings),
        dir_(*dir),
        writers_(writers),
        tasks_(tasks),
        live_(live),
        document_(*document) {}
  ~Runs() { UseLoad(0); }

  // An error between two runs, such as a directory that can no longer be prepared, is recorded as a
  // failed run, so that the runs before it are kept. Throws the error when there are no runs before
  // it.
  void Execute() {
    try {
      for (int load = 0; load < options_.repeat; ++load) {
        UseLoad(load);
        if (!ExecuteLoad()) return;
      }
    } catch (const std::exception& e) {
      if (document_["runs"].empty()) throw;
      document_["runs"].push_back({{"threads", threads_},
                                   {"repeat", repeat_},
                                   {"load", load_},
                                   {"seed", options_.data.seed},
                                   {"phases", json::array()},
                                   {"partial", true},
                                   {"error", ErrorJson(e)}});
    }
  }

 private:
  // Gives each load a seed of its own. Loads of the same data in the same order would differ less
  // than two independent loads do.
  void UseLoad(int load) {
    load_ = load;
    options_.data.seed = options_.workload.seed = seed_ + static_cast<uint64_t>(load);
  }

  bool ExecuteLoad() {
    const std::vector<std::string>& all = options_.workloads;
    const auto first_other = std::find_if_not(all.begin(), all.end(), Loads);
    // A guest (a task other than task 0) does not load. Tasks do one run each, in which they meet.
    if (options_.tasks.guest()) return Fresh({first_other, all.end()}, options_.threads[0], 0);
    // With at_once, all phases run on the database that the load has left open, even if they only
    // read.
    const bool shared =
        !options_.at_once && tasks_ == nullptr && std::all_of(first_other, all.end(), ReadsOnly);
    if (shared && first_other != all.begin() && first_other != all.end()) {
      // All later workloads only read, so one load serves every number of threads and every run.
      return Fresh({all.begin(), first_other}, options_.threads[0], 0) &&
             ForEach(
                 [&](int threads, int run) { return One({first_other, all.end()}, threads, run); });
    }
    if (Loads(all[0]) && !options_.reuse) {
      return ForEach([&](int threads, int run) { return Fresh(all, threads, run); });
    }
    bool first = true;
    return ForEach([&](int threads, int run) {
      // The database is put back before each run but the first, because a run that writes changes
      // it.
      if (!std::exchange(first, false)) PutBack(options_, &dir_);
      return !StopRequested() && One(all, threads, run);
    });
  }

  template <typename Function>
  bool ForEach(Function run) {
    for (int threads : options_.threads) {
      for (int i = 0; i < options_.repeat_runs; ++i) {
        if (!run(threads, i)) return false;
      }
    }
    return true;
  }

  bool Fresh(std::vector<std::string> phases, int threads, int repeat) {
    threads_ = threads;
    repeat_ = repeat;
    dir_.Prepare();
    return One(std::move(phases), threads, repeat);
  }

  // Returns whether one of the phases is among the workloads `names`.
  static bool HasOne(const std::vector<std::string>& phases, const std::set<std::string>& names) {
    return std::any_of(phases.begin(), phases.end(),
                       [&names](const std::string& name) { return names.contains(name); });
  }

  // Calls `write`, which writes the database's record, and turns its failure into a note: a full
  // disk must not cost the measurements. The old record then stays, so that a later run refuses the
  // database or counts its rows.
  template <typename Function>
  void KeepRecord(Function write) {
    try {
      write();
    } catch (const std::exception& e) {
      document_["notes"].push_back(
          fmt::format("the record of the database could not be written ({}): a later --reuse will "
                      "refuse the database or count its rows first",
                      ErrorJson(e)["sentence"].get<std::string>()));
    }
  }

  // Adds an error to the run when the directory was moved or replaced while the run used it: an
  // engine that opens files by path may have worked in another directory. What the run measured is
  // kept.
  void NoteMovedDirectory(json* run) const {
    try {
      CheckLockedDirectory(dir_.path());
    } catch (const Error& e) {
      if (!run->contains("error")) (*run)["error"] = {{"sentence", e.what()}, {"exit_code", 1}};
    }
  }

  // Executes one run and adds its document. Returns whether to go on with the next run.
  bool One(std::vector<std::string> phases, int threads, int repeat) {
    threads_ = threads;
    repeat_ = repeat;
    RunPlan plan;
    plan.phases = std::move(phases);
    plan.threads = threads;
    plan.repeat = repeat;
    plan.label = options_.EngineWithRelease() + ", " + Counted(threads, "thread");
    plan.engine_dir = dir_.engine_path();
    plan.exclusive_device = surroundings_.exclusive_device();
    // Pages cached before the run are charged to no budget, so the run would get them for free.
    if (fs::exists(plan.engine_dir)) DropPages(plan.engine_dir);
    std::unique_ptr<MemoryBudget> budget = surroundings_.NewBudget();
    plan.budget = budget.get();
    const std::unique_ptr<ReadLimit> read_limit = surroundings_.NewReadLimit(budget.get());
    plan.read_limit = read_limit.get();
    plan.population = dir_.population();
    plan.writing_phases = dir_.writing_phases();
    plan.loader = dir_.loader();
    plan.tasks = tasks_;
    const bool other_sizes = dir_.other_sizes();
    // The record must not claim rows while the run changes them: it may be killed.
    if (HasOne(plan.phases, writers_.all)) dir_.RecordContents(nullptr, nullptr);
    if (HasOne(plan.phases, writers_.of_other_sizes)) dir_.RecordOtherSizes(true);
    const auto loaded = [this] { KeepRecord([this] { dir_.RecordLoaded(); }); };
    json run = ExecuteRunInChild(options_, plan, {.enough = {}, .loaded = loaded, .live = live_});
    NoteMovedDirectory(&run);
    if (run.contains("writing_phases")) {
      KeepRecord(
          [&] { dir_.RecordContents(run.value("population", json()), run["writing_phases"]); });
      run.erase("population");
      run.erase("writing_phases");
    }
    if (other_sizes) run[kOtherSizes] = true;
    run["load"] = load_;
    run["seed"] = options_.data.seed;
    const bool go_on = !run.contains("error") && !run.value("partial", false);
    document_["runs"].push_back(std::move(run));
    const std::string stays = budget != nullptr ? budget->Remove() : "";
    if (!stays.empty()) document_["notes"].push_back(stays);
    return go_on && !StopRequested();
  }

  RunOptions& options_;
  const uint64_t seed_;                      // seed of the first load
  int load_ = 0, threads_ = 1, repeat_ = 0;  // numbers of the run under way
  const Surroundings& surroundings_;
  DatabaseDir& dir_;
  const Writers& writers_;
  TaskGroup* const tasks_;
  LiveView* const live_;
  json& document_;
};

// Copies the database anew that the run's is a copy of; does nothing when it is no copy. Until its
// files are all there the record says that it is not loaded, and so it stays when the user stops.
void PutBack(const RunOptions& options, DatabaseDir* dir) {
  if (options.copy_of.empty()) return;
  const DirLock source(options.copy_of, "--databases");
  dir->RecordUnloaded();
  RemoveEngineFiles(dir->engine_path(), options.engine_name);
  CopyTree(options.copy_of + "/" + kEngineFiles, dir->engine_path());
  SyncTree(dir->engine_path());
  if (StopRequested()) return;
  dir->RecordLoaded();
  const std::optional<json> record = ReadRecord(options.copy_of);
  if (!record) return;
  dir->RecordOtherSizes(HasOtherSizes(*record));
  dir->RecordContents(record->value("population", json()), record->value("writing_phases", json()));
}

// Runs one rehearsal of --cache-pct most with the share `cache_pct`, in the run's own directory.
// With --reuse it uses the database of that directory, since then all phases only read, or the
// database is a copy that is put back. The rehearsal's budget is a quarter larger than the run's,
// so that a share that is too large gets measured before the kernel kills it. Throws Stopped when
// the user asks to stop.
Rehearsal Rehearse(RunOptions options, const Surroundings& surroundings, DatabaseDir* dir,
                   double cache_pct, LiveView* live) {
  cache_pct = ShareInForce(options, cache_pct);
  options.engine.cache_bytes = options.CacheBytesOf(cache_pct);
  RunPlan plan;
  plan.phases = options.workloads;
  plan.threads = options.threads[0];
  plan.label = fmt::format("{}, rehearsal with {:.1f} %", options.EngineWithRelease(), cache_pct);
  plan.exclusive_device = surroundings.exclusive_device();
  if (!options.reuse) dir->Prepare();
  plan.engine_dir = dir->engine_path();
  if (options.reuse) {
    plan.population = dir->population();
    plan.writing_phases = dir->writing_phases();
    plan.loader = dir->loader();
    DropPages(plan.engine_dir);
  }
  std::unique_ptr<MemoryBudget> budget = surroundings.NewBudget(options.ram_bytes / 4);
  if (budget == nullptr) budget = surroundings.NewBudget();
  plan.budget = budget.get();
  const std::unique_ptr<ReadLimit> read_limit = surroundings.NewReadLimit(budget.get());
  plan.read_limit = read_limit.get();
  const auto cache = static_cast<double>(options.engine.cache_bytes);
  const auto enough = [&](const json& phases) { return ShowedEnough(phases, plan.phases, cache); };
  const json run = ExecuteRunInChild(options, plan, {.enough = enough, .loaded = {}, .live = live});
  PutBack(options, dir);
  // A rehearsal that was stopped has not shown how much memory the run needs.
  if (StopRequested()) throw Stopped("while --cache-pct most was rehearsed");
  if (budget != nullptr && budget->OomKilled()) {
    const auto all = static_cast<double>(budget->limit());
    return {.cache_pct = cache_pct, .own_mean = all, .own_most = all};
  }
  return RehearsalOf(cache_pct, cache, run);
}

void UseRehearsed(const json& rehearsals, RunOptions* options, json* document) {
  options->cache_pct = rehearsals["chosen_pct"];
  options->engine.cache_bytes = options->CacheBytesOf(options->cache_pct);
  (*document)["cache_rehearsal"] = rehearsals;
  (*document)["options"] = options->ToJson();
}

// Sets the cache size that --cache-pct most stands for, from the rehearsals of an earlier run if
// they were kept, otherwise from new ones.
void SetMostCache(const Surroundings& surroundings, DatabaseDir* dir, LiveView* live,
                  RunOptions* options, json* document) {
  if (!options->cache_most || !FindEngine(options->engine_name).capabilities.cache) return;
  json rehearsals = KeptRehearsals(*options);
  if (rehearsals.is_null()) {
    const RunOptions rehearsal = RehearsalOptions(*options);
    const auto ram = static_cast<double>(options->ram_bytes + SanitizerBytes());
    double chosen = 0;
    const std::vector<Rehearsal> all = FindMostShare(
        options->cache_pct, ram,
        [&](double pct) {
          Rehearsal result = Rehearse(rehearsal, surroundings, dir, pct, live);
          if (IsWhole(*options)) result.to_come = 0;
          return result;
        },
        &chosen);
    rehearsals = RehearsalsJson(all, ShareInForce(*options, chosen));
    if (StopRequested()) return;
    KeepRehearsals(*options, rehearsals);
  }
  UseRehearsed(rehearsals, options, document);
}

// Lowers the share of --cache-pct most when the last run was killed for want of memory. Returns
// whether the runs are to be done again with it. A run may need more memory than its rehearsal,
// because an allocator's gaps differ from run to run.
bool LowerMostCache(RunOptions* options, json* document) {
  constexpr size_t kMostTimes = 5;
  const json& runs = (*document)["runs"];
  const bool ended = !runs.empty() && runs.back().contains("error") &&
                     runs.back()["error"].value("out_of_memory", false);
  if (!ended || !document->contains("cache_rehearsal") || StopRequested()) return false;
  json rehearsals = (*document)["cache_rehearsal"];
  if (rehearsals["ended_pct"].size() == kMostTimes) return false;
  LowerShare(*options, &rehearsals);
  KeepRehearsals(*options, rehearsals);
  UseRehearsed(rehearsals, options, document);
  (*document)["runs"] = json::array();
  return true;
}

// Does the runs again with less cache, as long as LowerMostCache says so. When that fails, or ends
// before the first run has, the runs before are kept.
void RepeatWithLessCache(RunOptions* options, DatabaseDir* dir,
                         const std::function<void()>& execute, json* document) {
  for (;;) {
    const json before = *document;
    std::string why;
    try {
      if (!LowerMostCache(options, document)) return;
      PutBack(*options, dir);
      execute();
    } catch (const std::exception& e) {
      why = ErrorJson(e)["sentence"].get<std::string>();
    }
    const bool none = (*document)["runs"].empty();
    if (why.empty() && !none) continue;
    if (none) *document = before;
    (*document)["notes"].push_back("the runs could not all be repeated with less cache: " +
                                   (why.empty() ? "that was interrupted" : why));
    return;
  }
}

// A run that was to record a trace and did not has failed: a script would go on without the trace.
int ExitCode(const json& document, bool recorded) {
  for (const json& run : document["runs"]) {
    if (run.contains("error")) return run["error"]["exit_code"];
  }
  if (document.value("partial", false)) return 130;
  return recorded ? 0 : 1;
}

// Returns the results document before the first run: the command, the options and the version of
// this program.
json NewDocument(const RunOptions& options, const std::vector<std::string>& command_line) {
  json document = {
      {"schema", kResultsSchema},
      {"testbed", TESTBED_VERSION},
      {"command", command_line},
      {"build",
       {{"commit", ThisBuild().commit},
        {"compiler", ThisBuild().compiler},
        {"allocator", AllocatorName()},
        {"type", ThisBuild().type}}},
      {"host", HostName()},
      {"started", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
      {"options", options.ToJson()},
      {"runs", json::array()}};
  if (!options.label.empty()) document["label"] = options.label;
  return document;
}

// Waits for the other tasks of a run of several, which must have the same plan; returns null when
// there are none.
std::unique_ptr<TaskGroup> Join(const RunOptions& options, const std::vector<std::string>& words) {
  if (!options.tasks.several()) return nullptr;
  json plan = options.ToJson();
  plan["threads"] = options.threads;
  json record = json::object();  // the record by which the others complete their options
  if (options.reuse) record = ReadRecord(options.dir).value_or(record);
  for (const char* own : {"population", "writing_phases", kTableFiles}) record.erase(own);
  return JoinTasks(options.tasks, plan, OptionsGiven(words), record);
}

// Tells the other tasks why this one throws.
void TellError(const std::exception& e, TaskGroup* tasks) {
  if (dynamic_cast<const Stopped*>(&e) != nullptr) return tasks->EndStopped();
  const json error = ErrorJson(e);
  tasks->End(error["sentence"].get<std::string>(), error["exit_code"].get<int>());
}

// Tells the other tasks why the run has ended early, if it has: its process may have been killed.
void TellEnd(const json& document, TaskGroup* tasks) {
  const json& runs = document["runs"];
  if (!runs.empty() && runs.back().contains("error")) {
    const json& error = runs.back()["error"];
    tasks->End(error["sentence"].get<std::string>(), error["exit_code"].get<int>());
  } else if (StopRequested()) {
    tasks->EndStopped();
  }
}

// Executes the runs, and completes the document. `tasks` may be null.
void ExecuteJoined(const RunOptions& options, const std::shared_ptr<const Dataset>& dataset,
                   const Writers& writers, TaskGroup* tasks, LiveView* live, json* document) {
  RunOptions placed = options;
  std::unique_ptr<DatabaseDir> dir;
  if (options.scratch_bytes == 0) dir = std::make_unique<DatabaseDir>(placed);
  Surroundings surroundings(options, document);
  if (!FindEngine(options.engine_name).capabilities.cache) {
    (*document)["notes"].push_back(
        options.engine_name +
        " has no cache of its own: --cache-pct means nothing to it, all of --ram is left to the "
        "page cache");
  }
  const std::string same_values = SameValuesNote(options, dataset);
  if (!same_values.empty()) (*document)["notes"].push_back(same_values);
  if (!dir) {
    placed.dir = surroundings.scratch_path() + "/database";
    dir = std::make_unique<DatabaseDir>(placed);
  }
  const std::string where = ExistingDirectory(dir->path());
  // A database that --fresh removes gives its space to the new one.
  const bool replaces = placed.fresh && !placed.dir.empty();
  const uint64_t freed = replaces ? BytesOfDatabase(dir->path()) : 0;
  const uint64_t need = options.reuse ? 0 : LeastSpace(options, dataset);
  std::error_code unknown;
  if (options.scratch_bytes != 0) {
    CheckScratchSpace(options, need, fs::space(where, unknown).available);
  } else {
    CheckSpace(need, where, 1, freed);
  }
  if (!options.tasks.guest()) TryEngineOptions(options, where);
  document->update(MachineJson(where, surroundings.exclusive_device()));
  SetMostCache(surroundings, dir.get(), live, &placed, document);
  const auto execute = [&] {
    if (StopRequested()) return;
    Runs(&placed, surroundings, dir.get(), writers, tasks, live, document).Execute();
  };
  execute();
  if (tasks != nullptr) TellEnd(*document, tasks);
  RepeatWithLessCache(&placed, dir.get(), execute, document);
  surroundings.Finish(document);
  const auto partial = [](const json& run) { return run.value("partial", false); };
  const json& runs = (*document)["runs"];
  (*document)["partial"] = StopRequested() || std::any_of(runs.begin(), runs.end(), partial);
}

}  // namespace

json ExecuteRuns(const RunOptions& options, const std::vector<std::string>& command_line,
                 LiveView* live) {
  json document = NewDocument(options, command_line);
  const auto dataset = std::make_shared<const Dataset>(options.data);
  // The checks come first, so that nothing has been created when one of them throws.
  CheckRun(options, dataset);
  document["data"] = {{"rows", dataset->rows()},
                      {"key_bytes", dataset->key_bytes()},
                      {"value_bytes", dataset->value_bytes()}};
  const Writers writers = WritersOf(options, dataset);
  const bool guest = options.tasks.guest();  // this task uses the database of task 0
  // Without a load nothing would make the new database that --dir and --fresh ask for, and the run
  // would go on with whatever database lies there.
  if (!options.reuse && !guest && !Loads(options.workloads[0])) {
    throw Error(Error::kUsage,
                fmt::format("--workload {} needs a loaded database; begin with {}, or "
                            "give --reuse and --dir",
                            options.workloads[0], LoaderText(FindWorkload(options.workloads[0]))));
  }
  if (options.scratch_bytes != 0) {
    CheckScratchSpace(options, LeastSpace(options, dataset), options.scratch_bytes);
  }
  const std::unique_ptr<TaskGroup> tasks = Join(options, command_line);
  try {
    ExecuteJoined(options, dataset, writers, tasks.get(), live, &document);
  } catch (const std::exception& e) {
    if (tasks != nullptr) TellError(e, tasks.get());
    throw;
  }
  return document;
}

int RunCommand(RunOptions options, const std::vector<std::string>& command_line) {
  options = WithRecord(std::move(options), command_line);
  options.Resolve();
  CheckUnusedOptions(options, command_line);
  json document;
  const std::vector<OutputFile> files = {
      {"--json", options.json_file, [&document] { return JsonText(document, 1) + "\n"; }},
      {"--csv", options.csv_file, [&document] { return RunsCsv({&document}); }},
      {"--csv-series", options.csv_series_file, [&document] { return SeriesCsv({&document}); }}};
  std::vector<OutputFile> checked = files;
  checked.push_back({"--record", options.record_file});
  const InUse in_use = UsedByRun(options);
  CheckOutputFiles(checked, in_use);
  if (!options.record_file.empty()) {
    CheckOutputPlaces({{"--record", UnfinishedTrace(options.record_file)}}, in_use);
    CheckTracePlace(options.record_file);
  }
  if (options.live.live && options.quiet) {
    throw Error(Error::kUsage, "--live shows the run and --quiet shows nothing of it; give one");
  }
  {
    LiveView live(options.live);
    document = ExecuteRuns(options, command_line, options.live.any() ? &live : nullptr);
  }
  const auto measured = [](const json& run) { return !run["phases"].empty(); };
  // Task 0 prints the results of all tasks.
  const bool any = !options.tasks.guest() &&
                   std::any_of(document["runs"].begin(), document["runs"].end(), measured);
  const auto report = [&] { return any ? ReportText(document, {.wide = options.wide}) : ""; };
  std::optional<Error> unwritten;  // is told behind the error of the run, which may be its cause
  try {
    WriteOutputs(files, report);
  } catch (const Stopped&) {
    throw;
  } catch (const Error& error) {
    unwritten = error;
  }
  std::string sentence = UnrecordedText(options, document);
  const bool recorded = sentence.empty();
  for (const json& run : document["runs"]) {
    if (run.contains("error")) {
      sentence = run["error"]["sentence"].get<std::string>();
      break;
    }
  }
  if (!sentence.empty()) fmt::print(stderr, "testbed: {}\n", sentence);
  if (unwritten) throw Error(*unwritten);
  return ExitCode(document, recorded);
}

}  // namespace testbed
