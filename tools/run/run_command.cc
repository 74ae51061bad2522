#include "tools/run/run_command.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

#include "device/account/block_device.h"
#include "device/error.h"
#include "device/file/page_cache.h"
#include "device/machine/host.h"
#include "device/machine/memory_budget.h"
#include "device/machine/readahead.h"
#include "device/machine/scratch.h"
#include "device/os/signal_guard.h"
#include "engines/registry.h"
#include "tools/cache/cache_rehearsal.h"
#include "tools/database/database_dir.h"
#include "tools/database/database_files.h"
#include "tools/output/json_text.h"
#include "tools/output/output_file.h"
#include "tools/output/progress.h"
#include "tools/report/report.h"
#include "tools/run/run_process.h"
#include "workloads/dataset.h"
#include "workloads/registry.h"

namespace testbed {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// Memory that a sanitizer needs for itself (shadow memory, red zones, quarantine) is added to the
// budget, because --ram does not cover it.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t kSanitizerBytes = 1ull << 30;
#else
constexpr uint64_t kSanitizerBytes = 0;
#endif

// Returns the directory that will hold the database, or its nearest existing parent.
std::string ExistingDirectory(const std::string& path) {
  fs::path at = fs::absolute(path.empty() ? "." : path);
  while (!fs::exists(at)) at = at.parent_path();
  return at.string();
}

// Records that the machine refused a setting that the user asked for: as a note for readers, and in
// "not_in_force", by its option, for programs.
void NotInForce(const std::string& option, const std::string& how, const std::string& why,
                json* document) {
  (*document)["notes"].push_back(fmt::format("--{} {}: {}", option, how, why));
  (*document)["not_in_force"].push_back({{"option", option}, {"why", why}});
}

// The settings of the machine for the runs: the scratch device and the readahead, which the
// destructor undoes on every path, and whether --ram and --read-iops can be enforced. The
// constructor also removes what killed runs left behind. It throws Error (kUsage) when a setting
// cannot be made and --strict is given.
class Surroundings {
 public:
  Surroundings(const RunOptions& options, json* document) : options_(options) {
    json& notes = (*document)["notes"] = json::array();
    for (const std::string& sentence : ReadaheadGuard::RestoreStale()) notes.push_back(sentence);
    for (const std::string& sentence : MemoryBudget::CleanLeftovers()) notes.push_back(sentence);
    for (const std::string& sentence : ReadLimit::CleanLeftovers()) notes.push_back(sentence);
    MakeScratch();
    (*document)["not_in_force"] = json::array();
    SetReadahead(document);
    CheckBudget(document);
    CheckReadLimit(document);
  }

  // Returns a new budget for one run, `spare` bytes larger than --ram; null when --ram is 0 or
  // cannot be enforced.
  std::unique_ptr<MemoryBudget> NewBudget(uint64_t spare = 0) const {
    if (options_.ram_bytes == 0) return nullptr;
    std::string why;
    return MemoryBudget::Create(options_.ram_bytes + kSanitizerBytes + spare, &why);
  }
  // Returns a new limit of reads per second for one run; null when --read-iops is 0 or cannot be
  // enforced. The limit refers to `budget`, which may be null.
  std::unique_ptr<ReadLimit> NewReadLimit(const MemoryBudget* budget) const {
    std::string why;
    return LimitReads(budget, &why);
  }
  const std::string& scratch_path() const { return scratch_path_; }
  bool exclusive_device() const { return scratch_ != nullptr || options_.exclusive_device; }

 private:
  void MakeScratch();
  void SetReadahead(json* document);
  void CheckBudget(json* document);
  void CheckReadLimit(json* document);
  std::string Where() const;
  std::unique_ptr<ReadLimit> LimitReads(const MemoryBudget* budget, std::string* why) const;

  const RunOptions& options_;
  std::unique_ptr<ScratchDevice> scratch_;
  std::string scratch_path_;
  std::unique_ptr<ReadaheadGuard> readahead_;
};

void Surroundings::MakeScratch() {
  if (options_.scratch_bytes == 0) return;
  ScratchOptions scratch;
  scratch.bytes = options_.scratch_bytes;
  scratch.file_system = options_.scratch_fs == "xfs" ? FileSystem::kXfs : FileSystem::kExt4;
  scratch.directory = ".";
  ProgressLine progress("scratch device", options_.quiet);
  scratch.progress = [&progress](uint64_t done, uint64_t all) {
    progress.Say(fmt::format("{} of {} written", ShortSize(done), ShortSize(all)));
  };
  scratch_ = ScratchDevice::Create(scratch);
  scratch_path_ = scratch_->path();
}

std::string Surroundings::Where() const {
  return scratch_ ? scratch_path_ : options_.dir.empty() ? "." : options_.dir;
}

void Surroundings::SetReadahead(json* document) {
  if (!options_.readahead_bytes) return;
  try {
    readahead_ =
        ReadaheadGuard::Under(ExistingDirectory(Where()), *options_.readahead_bytes / 1024);
  } catch (const Error& e) {
    if (options_.strict) throw;
    NotInForce("readahead", "is not in force", e.what(), document);
  }
}

void Surroundings::CheckBudget(json* document) {
  if (options_.ram_bytes == 0) return;
  std::string why;
  if (MemoryBudget::Create(options_.ram_bytes, &why) != nullptr) return;
  if (options_.strict) throw Error(Error::kUsage, "--ram cannot be enforced: " + why);
  NotInForce("ram", "is not enforced, the page cache may hold more", why, document);
}

std::unique_ptr<ReadLimit> Surroundings::LimitReads(const MemoryBudget* budget,
                                                    std::string* why) const {
  if (options_.read_iops == 0) return nullptr;
  const std::optional<BlockDevice> device = BlockDevice::Find(ExistingDirectory(Where()));
  if (device) return ReadLimit::Create(*device, options_.read_iops, budget, why);
  *why = "the database's file system has no block device";
  return nullptr;
}

void Surroundings::CheckReadLimit(json* document) {
  if (options_.read_iops == 0) return;
  std::string why;
  if (LimitReads(NewBudget().get(), &why) != nullptr) return;
  if (options_.strict) throw Error(Error::kUsage, "--read-iops cannot be enforced: " + why);
  NotInForce("read-iops", "is not enforced", why, document);
}

void CheckSpace(const RunOptions& options, const std::shared_ptr<const Dataset>& dataset,
                const std::string& where) {
  const uint64_t need = DataBytes(options.workloads, dataset, options.workload);
  std::error_code error;
  const fs::space_info space = fs::space(where, error);
  if (!error && space.available < need) {
    throw Error(
        Error::kUsage,
        fmt::format("the file system of {} has {} free, and the database needs {} at least; "
                    "free space, or give fewer --rows or another --dir",
                    where, ShortSize(space.available), ShortSize(need)));
  }
}

bool Loads(const std::string& workload) { return FindWorkload(workload).loads; }

// Returns whether the workload only reads. Such a workload leaves the database as it was, so that
// the next run can use it too.
bool ReadsOnly(const std::string& workload) { return FindWorkload(workload).reads_only; }

void CheckReads(const RunOptions& options) {
  if (FindEngine(options.engine_name).capabilities.reads) return;
  for (const std::string& name : options.workloads) {
    if (Loads(name)) continue;
    throw Error(Error::kUsage,
                fmt::format("--workload {} reads, and nothing can be read from --engine {}; give "
                            "one that only loads, such as {}",
                            name, options.engine_name, FindWorkload(name).loader));
  }
}

// Opens the engine in an empty directory, so that a wrong value of --engine-option is refused
// before anything is created or removed. Only the engine can judge these values, and it does when
// it opens.
void TryEngineOptions(const RunOptions& options, const std::string& where) {
  if (options.engine.extra.empty()) return;
  const TemporaryDatabase directory(where);
  RunPlan plan;
  plan.engine_dir = directory.engine_path();
  const json trial = ExecuteRunInChild(options, plan);
  if (trial.contains("error") && trial["error"]["exit_code"] == 2) {
    throw Error(Error::kUsage, trial["error"]["sentence"].get<std::string>());
  }
}

// Executes the runs that the options ask for, one after the other, until a run fails or the user
// stops them.
class Runs {
 public:
  // `writers` are the names of the workloads that write.
  Runs(const RunOptions& options, const Surroundings& surroundings, DatabaseDir* dir,
       const std::set<std::string>& writers, json* document)
      : options_(options),
        surroundings_(surroundings),
        dir_(*dir),
        writers_(writers),
        document_(*document) {}

  void Execute() {
    const std::vector<std::string>& all = options_.workloads;
    const auto first_other = std::find_if_not(all.begin(), all.end(), Loads);
    const bool shared = std::all_of(first_other, all.end(), ReadsOnly);
    if (shared && first_other != all.begin() && first_other != all.end()) {
      // All later workloads only read, so one load serves every number of threads and repetition.
      if (!Fresh({all.begin(), first_other}, options_.threads[0], 0)) return;
      ForEach(
          [&](int threads, int repeat) { return One({first_other, all.end()}, threads, repeat); });
    } else if (Loads(all[0]) && !options_.reuse) {
      ForEach([&](int threads, int repeat) { return Fresh(all, threads, repeat); });
    } else {
      ForEach([&](int threads, int repeat) { return One(all, threads, repeat); });
    }
  }

 private:
  template <typename Function>
  void ForEach(Function run) {
    for (int threads : options_.threads) {
      for (int repeat = 0; repeat < options_.repeat; ++repeat) {
        if (!run(threads, repeat)) return;
      }
    }
  }

  bool Fresh(std::vector<std::string> phases, int threads, int repeat) {
    dir_.Prepare();
    return One(std::move(phases), threads, repeat);
  }

  bool Writes(const std::vector<std::string>& phases) const {
    return std::any_of(phases.begin(), phases.end(),
                       [this](const std::string& name) { return writers_.contains(name); });
  }

  // Calls `write`, which writes the database's record, and turns its failure into a note: a full
  // disk must not cost the measurements. The old record then stays, so that a later run refuses the
  // database or counts its rows.
  template <typename Function>
  void KeepRecord(Function write) {
    try {
      write();
    } catch (const Error& e) {
      document_["notes"].push_back(
          fmt::format("the record of the database could not be written ({}): a later --reuse will "
                      "refuse the database or count its rows first",
                      e.what()));
    }
  }

  // Executes one run and adds its document. Returns whether to go on with the next run.
  bool One(std::vector<std::string> phases, int threads, int repeat) {
    RunPlan plan;
    plan.phases = std::move(phases);
    plan.threads = threads;
    plan.repeat = repeat;
    plan.label =
        fmt::format("{}, {} thread{}", options_.engine_name, threads, threads == 1 ? "" : "s");
    plan.engine_dir = dir_.engine_path();
    plan.exclusive_device = surroundings_.exclusive_device();
    // Pages cached before the run are charged to no budget, so the run would get them for free.
    if (fs::exists(plan.engine_dir)) DropPages(plan.engine_dir);
    std::unique_ptr<MemoryBudget> budget = surroundings_.NewBudget();
    plan.budget = budget.get();
    const std::unique_ptr<ReadLimit> read_limit = surroundings_.NewReadLimit(budget.get());
    plan.read_limit = read_limit.get();
    plan.population = dir_.population();
    // The record must not claim rows while the run changes them: it may be killed.
    if (Writes(plan.phases)) dir_.RecordPopulation(nullptr);
    const auto loaded = [this] { KeepRecord([this] { dir_.RecordLoaded(); }); };
    json run = ExecuteRunInChild(options_, plan, {.enough = {}, .loaded = loaded});
    if (run.contains("population")) {
      KeepRecord([&] { dir_.RecordPopulation(run["population"]); });
      run.erase("population");
    }
    if (run.contains("error") && budget != nullptr && budget->OomKilled()) {
      run["error"]["out_of_memory"] = true;
    }
    const bool go_on = !run.contains("error") && !run.value("partial", false);
    document_["runs"].push_back(std::move(run));
    return go_on && !StopRequested();
  }

  const RunOptions& options_;
  const Surroundings& surroundings_;
  DatabaseDir& dir_;
  const std::set<std::string>& writers_;
  json& document_;
};

// Runs one rehearsal of --cache-pct most with the share `cache_pct`, in the run's own directory.
// With --reuse it uses the database of that directory, since then all phases only read. The
// rehearsal's budget is a quarter larger than the run's, so that a share that is too large gets
// measured before the kernel kills it.
Rehearsal Rehearse(RunOptions options, const Surroundings& surroundings, DatabaseDir* dir,
                   double cache_pct) {
  options.engine.cache_bytes =
      static_cast<uint64_t>(static_cast<double>(options.ram_bytes) * cache_pct / 100);
  RunPlan plan;
  plan.phases = options.workloads;
  plan.threads = options.threads[0];
  plan.label = fmt::format("{}, rehearsal with {:.1f} %", options.engine_name, cache_pct);
  plan.exclusive_device = surroundings.exclusive_device();
  if (!options.reuse) dir->Prepare();
  plan.engine_dir = dir->engine_path();
  if (options.reuse) {
    plan.population = dir->population();
    DropPages(plan.engine_dir);
  }
  std::unique_ptr<MemoryBudget> budget = surroundings.NewBudget(options.ram_bytes / 4);
  if (budget == nullptr) budget = surroundings.NewBudget();
  plan.budget = budget.get();
  const std::unique_ptr<ReadLimit> read_limit = surroundings.NewReadLimit(budget.get());
  plan.read_limit = read_limit.get();
  const auto cache = static_cast<double>(options.engine.cache_bytes);
  const auto enough = [&](const json& phases) { return ShowedEnough(phases, plan.phases, cache); };
  const json run = ExecuteRunInChild(options, plan, {.enough = enough, .loaded = {}});
  if (budget != nullptr && budget->OomKilled()) {
    const auto all = static_cast<double>(budget->limit());
    return {.cache_pct = cache_pct, .own_mean = all, .own_most = all};
  }
  return RehearsalOf(cache_pct, cache, run);
}

void UseRehearsed(const json& rehearsals, RunOptions* options, json* document) {
  options->cache_pct = rehearsals["chosen_pct"];
  options->engine.cache_bytes =
      static_cast<uint64_t>(static_cast<double>(options->ram_bytes) * options->cache_pct / 100);
  (*document)["cache_rehearsal"] = rehearsals;
  (*document)["options"] = options->ToJson();
}

// Sets the cache size that --cache-pct most stands for, from the rehearsals of an earlier run if
// they were kept, otherwise from new ones.
void SetMostCache(const Surroundings& surroundings, DatabaseDir* dir, RunOptions* options,
                  json* document) {
  if (!options->cache_most || !FindEngine(options->engine_name).capabilities.cache) return;
  json rehearsals = KeptRehearsals(*options);
  if (rehearsals.is_null()) {
    const RunOptions rehearsal = RehearsalOptions(*options);
    const auto ram = static_cast<double>(options->ram_bytes + kSanitizerBytes);
    double chosen = 0;
    const std::vector<Rehearsal> all = FindMostShare(
        options->cache_pct, ram,
        [&](double pct) { return Rehearse(rehearsal, surroundings, dir, pct); }, &chosen);
    rehearsals = RehearsalsJson(all, chosen);
    if (StopRequested()) return;
    KeepRehearsals(*options, rehearsals);
  }
  UseRehearsed(rehearsals, options, document);
}

// Lowers the share of --cache-pct most when the last run was killed for want of memory. Returns
// whether the runs are to be done again with it. A run may need more memory than its rehearsal,
// because an allocator's gaps differ from run to run.
bool LowerMostCache(RunOptions* options, json* document) {
  constexpr size_t kMostTimes = 3;
  const json& runs = (*document)["runs"];
  const bool ended = !runs.empty() && runs.back().contains("error") &&
                     runs.back()["error"].value("out_of_memory", false);
  if (!ended || !document->contains("cache_rehearsal") || StopRequested()) return false;
  json rehearsals = (*document)["cache_rehearsal"];
  if (rehearsals["ended_pct"].size() == kMostTimes) return false;
  LowerShare(&rehearsals);
  KeepRehearsals(*options, rehearsals);
  UseRehearsed(rehearsals, options, document);
  (*document)["runs"] = json::array();
  return true;
}

int ExitCode(const json& document) {
  for (const json& run : document["runs"]) {
    if (run.contains("error")) return run["error"]["exit_code"];
  }
  return document.value("partial", false) ? 130 : 0;
}

}  // namespace

json ExecuteRuns(const RunOptions& options, const std::vector<std::string>& command_line) {
  json document = {
      {"schema", "testbed-results/1"},
      {"testbed", TESTBED_VERSION},
      {"command", command_line},
      {"started", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
      {"options", options.ToJson()},
      {"runs", json::array()}};
  // The checks come first, so that nothing has been created when one of them throws.
  CheckEngineOptions(FindEngine(options.engine_name), options.engine);
  CheckReads(options);
  const auto dataset = std::make_shared<const Dataset>(options.data);
  document["data"] = {{"rows", dataset->rows()},
                      {"key_bytes", dataset->key_bytes()},
                      {"value_bytes", dataset->value_bytes()}};
  std::set<std::string> writers;
  for (const std::string& name : options.workloads) {
    if (FindWorkload(name).make(dataset, options.workload)->writes()) writers.insert(name);
  }
  CheckWorkloadOptions(options.workloads, options.workload);
  CheckLoaders(options.workloads, options.reuse);
  if (!options.reuse && options.dir.empty() && !Loads(options.workloads[0])) {
    throw Error(Error::kUsage,
                fmt::format("--workload {} needs a loaded database; begin with {}, or "
                            "give --reuse and --dir",
                            options.workloads[0], FindWorkload(options.workloads[0]).loader));
  }
  RunOptions placed = options;
  std::unique_ptr<DatabaseDir> dir;
  if (options.scratch_bytes == 0) dir = std::make_unique<DatabaseDir>(placed);
  Surroundings surroundings(options, &document);
  if (!FindEngine(options.engine_name).capabilities.cache) {
    document["notes"].push_back(options.engine_name +
                                " has no cache of its own: --cache-pct means nothing to it, all "
                                "of --ram is left to the page cache");
  }
  if (!dir) {
    placed.dir = surroundings.scratch_path() + "/database";
    dir = std::make_unique<DatabaseDir>(placed);
  }
  const std::string where = ExistingDirectory(dir->path());
  if (!options.reuse) CheckSpace(options, dataset, where);
  TryEngineOptions(options, where);
  document["machine"] = json::object();
  for (const auto& [name, value] : ReadHostFacts(where).Fields()) document["machine"][name] = value;
  if (std::optional<BlockDevice> device = BlockDevice::Find(where)) {
    json queue = json::object();
    for (const auto& [name, value] : device->QueueSettings()) queue[name] = value;
    document["device"] = {
        {"name", device->name()}, {"queue", queue}, {"exclusive", surroundings.exclusive_device()}};
  }
  SetMostCache(surroundings, dir.get(), &placed, &document);
  do {
    if (!StopRequested()) Runs(placed, surroundings, dir.get(), writers, &document).Execute();
  } while (LowerMostCache(&placed, &document));
  const auto partial = [](const json& run) { return run.value("partial", false); };
  document["partial"] =
      StopRequested() || std::any_of(document["runs"].begin(), document["runs"].end(), partial);
  return document;
}

int RunCommand(RunOptions options, const std::vector<std::string>& command_line) {
  options.Resolve();
  CheckOutputFile("--json", options.json_file);
  CheckOutputFile("--csv", options.csv_file);
  const json document = ExecuteRuns(options, command_line);
  // The report is printed first, so that a file that cannot be written does not cost it.
  const auto measured = [](const json& run) { return !run["phases"].empty(); };
  if (std::any_of(document["runs"].begin(), document["runs"].end(), measured)) {
    fmt::print("{}", ReportText(document));
    std::fflush(stdout);
  }
  WriteOutputFile("--json", options.json_file, JsonText(document, 1) + "\n");
  WriteOutputFile("--csv", options.csv_file, ReportCsv(document));
  for (const json& run : document["runs"]) {
    if (run.contains("error")) {
      fmt::print(stderr, "testbed: {}\n", run["error"]["sentence"].get<std::string>());
      break;
    }
  }
  return ExitCode(document);
}

}  // namespace testbed
