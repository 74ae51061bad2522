#include "tools/experiment/run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <system_error>

#include "device/error.h"
#include "device/file/directory.h"
#include "device/machine/scratch.h"
#include "device/os/signal_guard.h"
#include "tools/database/copy_tree.h"
#include "tools/database/database_files.h"
#include "tools/experiment/cluster/claim.h"
#include "tools/experiment/cluster/part.h"
#include "tools/experiment/sweep/forecast.h"
#include "tools/experiment/sweep/time_left.h"
#include "tools/output/progress.h"
#include "tools/run/run_command.h"
#include "tools/trace/workload_list.h"

namespace testbed {
namespace {

using nlohmann::json;

class ExperimentRun {
 public:
  ExperimentRun(const std::vector<Cell>& cells, const ResultsDir& results,
                const ExperimentRunOptions& options)
      : cells_(cells), results_(results), options_(options) {
    const std::vector<Forecast> forecasts = ForecastOfEach(
        cells_, [&](const Cell& cell) { return results_.HasCell(cell); }, results_.RehearsalsDir());
    for (size_t i = 0; i < cells_.size(); ++i) {
      if (forecasts[i].cells == 0) continue;  // it is finished, or does not run
      to_come_.insert(i);
      time_left_.Add(cells_[i].name, ForecastSeconds(forecasts[i]));
    }
    wanted_ = to_come_.size();
    home_ = options_.databases.empty() ? results_.path() : options_.databases;
    if (!to_come_.empty() && !options_.databases.empty()) MakeDirectories(home_);
    if (!results_.shared() || to_come_.empty()) return;
    // What a process with --keep-databases leaves, no process without it takes over.
    part_.emplace(options_.databases.empty() ? home_ + "/databases" : home_,
                  PartId(results_.path()) + (options_.keep_databases ? "-kept" : ""));
    home_ = part_->path();
    if (!options_.keep_databases) part_->RemoveLeftovers(LoadsToCome());
  }

  bool Execute();

 private:
  std::set<std::string> LoadsToCome() const;
  void UseScratch(const Cell& cell);
  // Returns the directory of the database that the cell shares.
  std::string LoadDir(const Cell& cell) const { return base_ + "/" + cell.load_key; }
  std::string OwnBase() const { return part_ ? part_->path() : home_ + "/databases"; }
  bool Do(Cell* cell, std::string* dir);
  RunOptions OptionsOf(const OptionMap& map, const std::string& dir) const;
  bool HasLoad(const std::string& key) const;
  bool KeepLoad(const Cell& cell, const std::string& dir, const json& document) const;
  std::string KeyOfLoad(const Cell& cell, std::optional<Claim>* claim) const;
  bool Load(const Cell& cell, const std::string& dir);
  bool One(const Cell& cell, const std::string& dir);
  bool Run(const Cell& cell, const RunOptions& run, const std::vector<std::string>& command,
           const std::string& what, json* document) const;
  std::string KeptText(const Cell& cell, const json& document) const;
  bool LastOfLoad(size_t i) const;
  // Failures are printed even with --quiet.
  static void Complain(const std::string& text) { fmt::print(stderr, "testbed: {}\n", text); }
  // Names the cell that begins: each on a line of its own on a terminal, otherwise one a minute.
  void Say(const std::string& text) {
    if (!options_.quiet && ::isatty(STDERR_FILENO) == 1) {
      fmt::print(stderr, "{}\n", text);
    } else {
      progress_.Say(text);
    }
  }
  void Begin(const Cell& cell, int rounds);
  void Leave(size_t i);

  const std::vector<Cell>& cells_;
  const ResultsDir& results_;
  const ExperimentRunOptions& options_;
  std::string home_;          // directory of the databases' folder and of images
  std::optional<Part> part_;  // this process's own, when the results are shared
  std::unique_ptr<ScratchDevice> scratch_;
  std::string scratch_asked_;  // option "scratch" that scratch_ was made for; empty: none was
  std::string base_;           // directory that databases are made in
  std::string loaded_;         // key of the load that was finished or found last
  std::set<size_t> to_come_;   // places in cells_ of those that are still to run
  size_t wanted_ = 0;          // number of cells that were to run at first
  TimeLeft time_left_;
  std::string place_;  // names the cell that runs in printed lines: "[9/27, 0:31:00 left] "
  ProgressLine progress_{"experiment", options_.progress()};
};

// Returns the keys of the loads that this process still needs.
std::set<std::string> ExperimentRun::LoadsToCome() const {
  std::set<std::string> loads = options_.loads_to_come;
  for (const Cell& cell : cells_) {
    if (cell.runs() && !results_.HasCell(cell)) loads.insert(cell.load_key);
  }
  return loads;
}

// Returns the command that repeats a run on a database that cells share, in a directory of its own;
// the experiment's directory is gone then. `mode` is --fresh for the load and --reuse for the rest.
std::vector<std::string> CommandOf(OptionMap options, const RunOptions& run,
                                   const std::string& mode) {
  options.erase("scratch");
  options["dir"] = "testbed-repeat";
  options["workload"] = WorkloadText(run);
  for (auto option = options.begin(); option != options.end();) {
    const bool foreign = option->first.starts_with("workload-option.") &&
                         !run.workload.extra.contains(option->first.substr(16));
    option = foreign ? options.erase(option) : std::next(option);
  }
  std::vector<std::string> words = OptionWords(options);
  words.push_back(mode);
  return words;
}

// Returns the scratch device that a cell asks for; an empty string when it asks for none.
std::string AskedScratch(const Cell& cell) {
  const auto found = cell.options.find("scratch");
  return found == cell.options.end() || found->second == "none" ? "" : found->second;
}

// Returns the scratch device that a cell gets: none unless the user is root.
std::string ScratchOf(const Cell& cell) { return ::geteuid() == 0 ? AskedScratch(cell) : ""; }

void NoteScratch(const Cell& cell, json* document) {
  if (ScratchOf(cell) == AskedScratch(cell)) return;
  (*document)["not_in_force"].push_back(
      {{"option", "scratch"}, {"why", "only root may make a device of its own"}});
}

// Makes the scratch device that a cell asks for, if the user may make one. Consecutive cells that
// ask for the same device share it. Throws Error when it cannot be made: the cell must not run on
// another device then.
void ExperimentRun::UseScratch(const Cell& cell) {
  const std::string asked = ScratchOf(cell);
  if (asked == scratch_asked_) return;
  // Until there is a device, none counts as made: after a failure the next cell that asks for it
  // tries again, instead of running without.
  scratch_.reset();
  scratch_asked_.clear();
  base_ = OwnBase();
  if (asked.empty()) return;
  uint64_t bytes = 0;
  for (const Cell& other : cells_) {
    if (!other.runs() || ScratchOf(other) != asked) continue;
    bytes = std::max(bytes, other.scratch_bytes);
  }
  const size_t comma = asked.find(',');
  const std::string size = asked.substr(0, comma);
  ScratchOptions scratch;
  scratch.bytes = size == "auto" ? bytes : ParseSize("scratch", size, 64 << 20, UINT64_MAX);
  if (comma != std::string::npos) {
    scratch.file_system = ParseName("scratch", asked.substr(comma + 1),
                                    {FileSystem::kExt4, FileSystem::kXfs}, FileSystemName);
  }
  scratch.directory = home_;
  ProgressLine progress("scratch device", options_.progress());
  scratch.progress = [&progress](uint64_t done, uint64_t all) {
    progress.Say(fmt::format("{} of {} written", ShortSize(done), ShortSize(all)));
  };
  scratch_ = ScratchDevice::Create(scratch);
  base_ = scratch_->path();
  scratch_asked_ = asked;
}

RunOptions ExperimentRun::OptionsOf(const OptionMap& map, const std::string& dir) const {
  OptionMap placed = map;
  placed.erase("scratch");
  placed["dir"] = dir;
  RunOptions run = CellRunOptions(placed);
  run.exclusive_device = scratch_ != nullptr;
  run.rehearsals_dir = results_.RehearsalsDir();
  run.quiet = options_.quiet;
  if (options_.line_seconds > 0) run.live.report_interval = options_.line_seconds;
  run.live.line_prefix = place_;
  // Experiments that an earlier version began may have --repeat. A round has one load, so that it
  // made as many runs on that load.
  run.repeat_runs *= run.repeat;
  run.repeat = 1;
  return run;
}

// Keeps the document of a run that failed, and returns where it is. The run's own error is told
// even when the document cannot be written.
std::string ExperimentRun::KeptText(const Cell& cell, const json& document) const {
  const auto has_phases = [](const json& run) {
    return run.contains("phases") && !run["phases"].empty();
  };
  const json& runs = document["runs"];
  try {
    const std::string file = results_.WriteFailure(cell, document);
    return std::any_of(runs.begin(), runs.end(), has_phases)
               ? "the phases that it finished are in " + file
               : "it had finished no phase; its settings are in " + file;
  } catch (const Error& error) {
    return std::string("the phases that it finished could not be kept: ") + error.what();
  }
}

bool ExperimentRun::Run(const Cell& cell, const RunOptions& run,
                        const std::vector<std::string>& command, const std::string& what,
                        json* document) const {
  *document = ExecuteRuns(run, command);
  if (StopRequested()) return false;
  for (const json& one : (*document)["runs"]) {
    if (!one.contains("error")) continue;
    Complain(fmt::format("{}: {}; {}", what, one["error"].value("sentence", ""),
                         KeptText(cell, *document)));
    return false;
  }
  return !document->value("partial", false);
}

// The member of a database's record that names the run which loaded the database (NameOfRun).
constexpr char kLoadRun[] = "load_run";

// Returns what tells the run of a document from others: its host, and when it began.
json NameOfRun(const json& document) {
  return {{"host", document.value("host", json())}, {"started", document.value("started", json())}};
}

// Returns whether the database of the load is there, and the document of its making. A process that
// ends between the two leaves a database without a document, and that of another process, which has
// made a load of this key meanwhile, does not tell of it.
bool ExperimentRun::HasLoad(const std::string& key) const {
  const std::optional<json> record = ReadRecord(base_ + "/" + key);
  if (!record || !record->value("loaded", false)) return false;
  const json document = results_.ReadLoad(key);
  return document.is_object() && record->value(kLoadRun, json()) == NameOfRun(document);
}

// Writes the document of the load in `dir`, and notes in the record of its database that the two
// belong together. Returns false when another process has made a load of this key meanwhile, which
// can only be where this host has lost its claim: then no cell runs on the database.
bool ExperimentRun::KeepLoad(const Cell& cell, const std::string& dir, const json& document) const {
  if (!results_.WriteLoad(cell.load_key, document)) return false;
  std::optional<json> record = ReadRecord(dir);
  if (!record) return true;
  (*record)[kLoadRun] = NameOfRun(document);
  WriteRecord(dir, *record);
  return true;
}

// Returns the key of the load that the cell runs on: the plan's or, when finished cells were
// measured on a load of that key whose database is gone, KEY.2 and so on. What is loaded now is
// another load, and its document must not take the place of the one with their figures. In results
// that are shared, *claim is set to the claim on a load that is still to be made: another process
// may be making its own of that key, for other cells, and then this one makes KEY.2.
std::string ExperimentRun::KeyOfLoad(const Cell& cell, std::optional<Claim>* claim) const {
  const bool any = std::any_of(cells_.begin(), cells_.end(), [&](const Cell& other) {
    return other.load_key == cell.load_key && results_.HasCell(other);
  });
  std::string key = cell.load_key;
  for (int n = 2; !HasLoad(key); ++n) {
    if (results_.shared()) *claim = Claim::Try(results_.ClaimFile(key));
    const bool of_another = results_.shared() && !*claim;
    // Documents of cells are read only where one of them may name the load.
    std::error_code none_yet;
    const bool may_be_named = any || std::filesystem::exists(results_.LoadFile(key), none_yet);
    const bool is_named = may_be_named && results_.NeedsLoad(key, cell.load_key, cell.round);
    if (!of_another && !is_named) break;
    RemoveDatabaseDirectory(base_ + "/" + key);  // no cell will run on what is left there
    key = fmt::format("{}.{}", cell.load_key, n);
  }
  return key;
}

bool ExperimentRun::Load(const Cell& cell, const std::string& dir) {
  RunOptions run = OptionsOf(cell.load_options, dir);
  if (HasLoad(cell.load_key)) {
    loaded_ = cell.load_key;
    return true;
  }
  KeepLoadAlone(&run);
  run.fresh = true;
  json document;
  if (!Run(cell, run, CommandOf(cell.load_options, run, "--fresh"), "loading for " + cell.name,
           &document)) {
    return false;
  }
  NoteScratch(cell, &document);
  if (!KeepLoad(cell, dir, document)) {
    Complain(cell.name +
             ": another process has made its load meanwhile, and that one counts; the "
             "same command loads again for this cell");
    return false;
  }
  loaded_ = cell.load_key;
  return true;
}

bool ExperimentRun::One(const Cell& cell, const std::string& dir) {
  RunOptions run = OptionsOf(cell.options, dir);
  if (cell.copies_load) {
    run.copy_of = LoadDir(cell);
    CopyDatabase(run.copy_of, dir);
    if (StopRequested()) return false;
  }
  if (cell.load_key.empty()) {
    run.fresh = true;
  } else {
    LeaveOutLoad(&run);
    run.reuse = true;
  }
  json document;
  const bool shares = !cell.load_key.empty();
  // The load's document is read before the run, so that a file that cannot be read costs no run.
  const json loaded = shares ? results_.ReadLoad(cell.load_key) : json();
  OptionMap options = cell.options;
  const auto command = [&] {
    return shares ? CommandOf(options, run, "--reuse") : OptionWords(options);
  };
  if (!Run(cell, run, command(), cell.name, &document)) return false;
  if (cell.copies_load && document.contains("cache_rehearsal")) {
    // The stored command names the share that the rehearsals found: a user who repeats the run has
    // no second copy of the load to rehearse on.
    options["cache-pct"] = fmt::format("{}", document["options"].value("cache_pct", 0.0));
    document["command"] = command();
  }
  if (loaded.is_object()) document["load_command"] = loaded.value("command", json());
  NoteScratch(cell, &document);
  if (!results_.WriteCell(cell, std::move(document))) {
    Complain(cell.name + ": another process has finished it meanwhile, and its result counts");
  }
  return true;
}

bool ExperimentRun::LastOfLoad(size_t i) const {
  return std::none_of(
      cells_.begin() + static_cast<ptrdiff_t>(i) + 1, cells_.end(), [&](const Cell& cell) {
        return cell.load_key == cells_[i].load_key && cell.runs() && !results_.HasCell(cell);
      });
}

// Names the cell that begins, with its place among those that are to run.
void ExperimentRun::Begin(const Cell& cell, int rounds) {
  std::string time;
  if (const std::optional<double> left = time_left_.Seconds()) {
    const auto seconds = static_cast<uint64_t>(*left);
    time = fmt::format(", {}:{:02}:{:02} left", seconds / 3600, seconds / 60 % 60, seconds % 60);
  }
  place_ = fmt::format("[{}/{}{}] ", wanted_ - to_come_.size() + 1, wanted_, time);
  Say(fmt::format("{}{}{}", place_, rounds > 1 ? fmt::format("round {}: ", cell.round) : "",
                  cell.name));
}

// Leaves the cell to another process, or to a later call.
void ExperimentRun::Leave(size_t i) {
  if (to_come_.erase(i) != 0) time_left_.Drop(cells_[i].name);
}

// Runs one cell. Sets the key of its load to that of the load that it gets (KeyOfLoad), and then
// *dir to the directory of its database, or of its copy. Returns whether the cell is finished.
bool ExperimentRun::Do(Cell* cell, std::string* dir) {
  std::optional<Claim> claim;
  if (results_.shared()) {
    const std::string file = results_.ClaimFile(CellKey(*cell));
    claim = Claim::Try(file);
    if (!claim) {
      Complain(fmt::format("{}: {} runs it now", cell->name, Claim::Holder(file)));
      return false;
    }
    // The process that held the claim before may have finished the cell.
    if (results_.HasCell(*cell)) return true;
  }
  UseScratch(*cell);
  const bool shares = !cell->load_key.empty();
  std::optional<Claim> load;
  if (shares) cell->load_key = KeyOfLoad(*cell, &load);
  *dir = shares && !cell->copies_load ? LoadDir(*cell) : base_ + "/" + kOwnDatabase;
  if (shares && !Load(*cell, LoadDir(*cell))) return false;
  load.reset();  // the document of the load is there, which keeps its key
  return One(*cell, *dir);
}

bool ExperimentRun::Execute() {
  if (to_come_.empty()) return true;
  base_ = OwnBase();
  bool all = true;
  const int rounds = cells_.back().round;
  for (size_t i = 0; i < cells_.size() && !StopRequested(); ++i) {
    if (!cells_[i].runs()) continue;
    if (results_.HasCell(cells_[i])) {
      Leave(i);
      continue;
    }
    Cell cell = cells_[i];
    Begin(cell, rounds);
    const auto start = std::chrono::steady_clock::now();
    std::string dir;
    bool done = false;
    try {
      done = Do(&cell, &dir);
    } catch (const Stopped&) {
      // The caller says that the user has asked to stop; the cell has not failed.
    } catch (const Error& error) {
      // The other cells run even when one cell cannot.
      Complain(fmt::format("{}: {}", cell.name, error.what()));
    }
    all = all && done;
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    if (dir.empty()) {  // it has not begun
      Leave(i);
    } else if (to_come_.erase(i) != 0) {
      time_left_.Ended(cells_[i].name, passed.count(), done);
    }
    if (options_.keep_databases || dir.empty()) continue;
    if (cell.load_key.empty() || cell.copies_load) RemoveDatabaseDirectory(dir);
    if (cell.load_key.empty()) continue;
    // A load that is finished stays for the call that goes on with the cell.
    const bool goes_on = !done && StopRequested() && loaded_ == cell.load_key;
    if (!goes_on && LastOfLoad(i)) RemoveDatabaseDirectory(LoadDir(cell));
  }
  if (!scratch_ && !options_.keep_databases && !StopRequested()) ::rmdir(base_.c_str());
  return all && !StopRequested();
}

}  // namespace

bool RunExperiment(const Experiment& experiment, const std::vector<Cell>& cells,
                   const ResultsDir& results, const ExperimentRunOptions& options) {
  return ExperimentRun(cells, results, options).Execute();
}

}  // namespace testbed
