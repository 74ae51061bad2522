#include "tools/experiment/sweep/forecast.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "device/error.h"
#include "device/file/file.h"
#include "engines/registry.h"
#include "tools/cache/cache_rehearsal.h"
#include "tools/output/json_text.h"
#include "tools/output/table.h"
#include "tools/run/run_checks.h"
#include "workloads/registry.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

// The speed of a load is not known before it was seen. A small disk and a slow engine reach 30
// MB/s, so a forecast is rather too long than too short. The entries of an index come in no order:
// rows with n indexes are taken to need n + 1 times as long (WriteSeconds).
constexpr double kLoadBytesPerSecond = 30e6;
// The same of operations whose number alone is set, by --operations.
constexpr double kOperationsPerSecond = 5000;
// What a run takes beside its phases: it opens the engine, lets it come to rest, checks a sample of
// the rows and removes the database.
constexpr double kEdgeSeconds = 0.3;
constexpr double kCopyBytesPerSecond = 100e6;
// FindMostShare rehearses one to four times, most often twice.
constexpr size_t kUsualRehearsals = 2;

std::string TimeText(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", seconds);
  if (seconds < 90 * 60) return fmt::format("{:.0f} minutes", seconds / 60);
  return fmt::format("{:.1f} hours", seconds / 3600);
}

// What the workloads of a run take.
struct PhaseSums {
  double measure_seconds = 0, load_seconds = 0;
  uint64_t load_bytes = 0;
  bool open_ended = false, assumes_rate = false;
};

// Returns how many runs the document of a cell has. A cell that loads its own database does so for
// each of them.
size_t RunsOf(const RunOptions& run) {
  return run.threads.size() * static_cast<size_t>(run.repeat) *
         static_cast<size_t>(run.repeat_runs);
}

// Returns the seconds in which the workload adds its rows.
double WriteSeconds(const Workload& workload) {
  return static_cast<double>(workload.AddedBytes()) * (1 + workload.kept_indexes()) /
         kLoadBytesPerSecond;
}

// Returns the seconds of a load, which keeps to --rate as other phases do; 0 sets none.
double LoadSeconds(const Workload& workload, double rate) {
  const double paced = rate > 0 ? static_cast<double>(workload.operations()) / rate : 0;
  return std::max(WriteSeconds(workload), paced);
}

// Returns the seconds of a phase that ends by itself, which --seconds does not end. `most` is the
// number of operations after which --operations ends it, and `rate` that of --rate; 0 sets none.
double SecondsToItsEnd(const Workload& workload, uint64_t most, double rate, PhaseSums* sums) {
  const auto all = static_cast<double>(workload.operations()), set = static_cast<double>(most);
  const double share = most != 0 ? std::min(1.0, set / all) : 1;
  if (workload.planned_seconds() > 0) return share * workload.planned_seconds();
  const double written = share * WriteSeconds(workload);
  const bool known = written > 0 || most != 0;
  sums->open_ended = sums->open_ended || !known;
  // `all` is a lower bound where it is not known how much the phase writes.
  if (rate > 0) return std::max(written, (written > 0 || most == 0 ? share * all : set) / rate);
  if (written > 0 || !known) return written;
  sums->assumes_rate = true;
  return set / kOperationsPerSecond;
}

// Returns the seconds in which --cache-pct auto tries shares before a phase. ClimbShare tries about
// ten, the best of them twice more, and the chosen one at last; each takes two or three phases, or
// more until the caches are full. ChildRun::TryShare sets the length of these phases.
double TrialSeconds(const RunOptions& run) {
  constexpr double kUsualPhases = 50;
  if (!run.cache_auto) return 0;
  return kUsualPhases * std::clamp(run.seconds.value_or(0) / 2, 0.5, 30.0);
}

// Returns the seconds of the n-th workload that does not load, with its warm-up and trials.
double MeasureSeconds(const RunOptions& run, size_t n, const Workload& workload, PhaseSums* sums) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const double own = run.OwnSeconds(n);
  const double rate = run.OwnRate(n) > 0 ? run.OwnRate(n) : run.rate;
  const uint64_t most = own > 0 ? 0 : run.operations;
  const double trials = TrialSeconds(run);
  if (workload.operations() != 0) return trials + SecondsToItsEnd(workload, most, rate, sums);
  sums->assumes_rate = sums->assumes_rate || (most != 0 && rate <= 0);
  const double by_count =
      most != 0 ? static_cast<double>(most) / (rate > 0 ? rate : kOperationsPerSecond) : kNever;
  const double by_time = own > 0 ? own : run.seconds.value_or(kNever);
  // --find-rate tries about ten rates before the phase counts, each for as long as its percentile
  // needs.
  const double times = run.find_rate.empty() ? 1 : 11;
  sums->open_ended = sums->open_ended || !run.find_rate.empty();
  return trials + (run.warmup.value_or(0) + std::min(by_time, by_count)) * times;
}

// Adds up the workloads of a run: its loads once, and the others for each run of the document.
// `data_bytes` is what its loads write when they do not know it.
PhaseSums PhaseSumsOf(const RunOptions& run, uint64_t data_bytes) {
  const auto dataset = std::make_shared<const Dataset>(run.data);
  const auto times = static_cast<double>(RunsOf(run));
  PhaseSums sums;
  bool loads = false;
  size_t measured = 0;
  for (const std::string& name : run.workloads) {
    const WorkloadInfo& info = FindWorkload(name);
    const size_t n = info.loads ? measured : measured++;
    if (info.only_settles) continue;
    const std::unique_ptr<Workload> workload = info.make(dataset, run.workload);
    if (info.loads) {
      loads = true;
      sums.load_bytes += workload->AddedBytes();
      sums.load_seconds += LoadSeconds(*workload, run.rate);
    } else {
      sums.measure_seconds += MeasureSeconds(run, n, *workload, &sums) * times;
    }
  }
  if (loads && sums.load_bytes == 0) {
    sums.load_bytes = data_bytes;
    sums.load_seconds =
        std::max(sums.load_seconds, static_cast<double>(data_bytes) / kLoadBytesPerSecond);
  }
  return sums;
}

// Returns the options of a cell as those of its run. A scratch device is left out, as its size
// makes no difference here.
RunOptions OptionsOfRun(OptionMap options) {
  options.erase("scratch");
  return CellRunOptions(options);
}

// Returns whether the load may read far more than it writes, so that its speed is that of the
// device's readahead: rows come in no order, the engine has its files in a mapping that the kernel
// reads ahead of, and memory does not hold the data.
bool FaultsInLoad(const RunOptions& load, uint64_t data_bytes) {
  constexpr uint64_t kLittleReadahead = 16 << 10;
  const bool scattered =
      load.data.order == KeyOrder::kRandom || load.data.order == KeyOrder::kPermuted;
  const bool mapped = load.engine.io == IoMode::kMmap &&
                      load.engine.mmap_advice == Advice::kNormal &&
                      FindEngine(load.engine_name).capabilities.persistent;
  return scattered && mapped && load.ram_bytes != 0 && data_bytes > load.ram_bytes &&
         load.readahead_bytes.value_or(UINT64_MAX) > kLittleReadahead;
}

// Returns whether earlier cells have kept rehearsals that serve the run. A file that cannot be read
// is told of by the cell that needs it.
bool KeepsRehearsals(const RunOptions& run) {
  try {
    return !KeptRehearsals(run).is_null();
  } catch (const Error&) {
    return false;
  }
}

// What the rehearsals before a run take.
struct Rehearsals {
  PhaseSums each;
  std::string identity;  // equal for runs that share rehearsals; empty: none are to be made
};

// What a cell takes in each of its rounds, which differ in the seed alone.
struct CellParts {
  PhaseSums phases;
  Rehearsals own, of_load;  // of_load: those of the load that the cell shares
  size_t runs = 1;          // as RunsOf
  bool loads = false;
  bool faults = false;  // the answer of FaultsInLoad
  bool takes_its_bytes = false;
};

// Forecasts the cells of a plan one by one, in the order in which they run.
class CellForecaster {
 public:
  CellForecaster(const std::function<bool(const Cell&)>& finished,
                 const std::string& rehearsals_dir)
      : finished_(finished), rehearsals_dir_(rehearsals_dir) {}
  // Returns what the next cell adds to the plan.
  Forecast Next(const Cell& cell);

 private:
  const CellParts& PartsOf(const Cell& cell);
  Rehearsals RehearsalsOf(RunOptions run, uint64_t data_bytes) const;
  void AddRehearsals(const Rehearsals& rehearsals, double edge, Forecast* one);

  const std::function<bool(const Cell&)>& finished_;
  const std::string& rehearsals_dir_;
  std::map<std::string, CellParts> parts_;  // by name of the cell
  std::set<std::string> loaded_;            // keys of the loads that cells share
  std::set<std::string> rehearsed_;         // Rehearsals::identity of those that are counted
};

// Returns the rehearsals of a run, which is one that ExperimentRun makes.
Rehearsals CellForecaster::RehearsalsOf(RunOptions run, uint64_t data_bytes) const {
  if (!run.cache_most || !FindEngine(run.engine_name).capabilities.cache) return {};
  run.repeat = 1;
  run.rehearsals_dir = rehearsals_dir_;
  if (KeepsRehearsals(run)) return {};
  return {PhaseSumsOf(RehearsalOptions(run), data_bytes), JsonText(RehearsalIdentity(run))};
}

// Adds the rehearsals unless they are counted already. `edge` are the seconds in which one of them
// begins and ends.
void CellForecaster::AddRehearsals(const Rehearsals& rehearsals, double edge, Forecast* one) {
  if (rehearsals.identity.empty() || !rehearsed_.insert(rehearsals.identity).second) return;
  const PhaseSums& each = rehearsals.each;
  one->rehearsals += kUsualRehearsals;
  one->rehearse_seconds += kUsualRehearsals * (each.measure_seconds + each.load_seconds + edge);
  one->open_ended = one->open_ended || each.open_ended;
}

const CellParts& CellForecaster::PartsOf(const Cell& cell) {
  const auto [place, is_new] = parts_.try_emplace(cell.name);
  CellParts& parts = place->second;
  if (!is_new) return parts;
  const RunOptions run = OptionsOfRun(cell.options);
  const bool shares = !cell.load_key.empty();
  RunOptions load = shares ? OptionsOfRun(cell.load_options) : run, own = run;
  parts.phases = PhaseSumsOf(run, cell.data_bytes);
  parts.runs = RunsOf(run);
  parts.loads = !PhasesOf(run.workloads).load.empty();
  parts.faults = FaultsInLoad(load, cell.data_bytes);
  parts.takes_its_bytes = TakesItsBytes(run);
  if (shares) {
    KeepLoadAlone(&load);
    parts.phases.load_seconds = PhaseSumsOf(load, cell.data_bytes).load_seconds;
    parts.of_load = RehearsalsOf(std::move(load), cell.data_bytes);
    LeaveOutLoad(&own);
  }
  parts.own = RehearsalsOf(std::move(own), cell.data_bytes);
  return parts;
}

Forecast CellForecaster::Next(const Cell& cell) {
  Forecast one;
  if (!cell.runs()) return one;
  if (finished_(cell)) {
    one.done = 1;
    return one;
  }
  const CellParts& parts = PartsOf(cell);
  const double copy = cell.copies_load ? static_cast<double>(cell.data_bytes) : 0;
  const double edge = kEdgeSeconds + copy / kCopyBytesPerSecond;
  one.cells = 1;
  one.measure_seconds = parts.phases.measure_seconds;
  one.edge_seconds = static_cast<double>(parts.runs) * edge;
  one.assumes_rate = parts.phases.assumes_rate;
  one.open_ended = parts.phases.open_ended;
  AddRehearsals(parts.own, edge, &one);
  if (cell.load_key.empty() ? parts.loads : loaded_.insert(cell.load_key).second) {
    one.loads = cell.load_key.empty() ? parts.runs : 1;
    one.load_bytes = one.loads * parts.phases.load_bytes;
    one.load_seconds = static_cast<double>(one.loads) * parts.phases.load_seconds;
    one.faulting_loads = parts.faults ? one.loads : 0;
    if (!cell.load_key.empty()) {  // the load is a run of its own
      one.edge_seconds += kEdgeSeconds;
      AddRehearsals(parts.of_load, kEdgeSeconds, &one);
    }
  }
  one.disk_bytes = cell.scratch_bytes;
  const uint64_t databases = cell.copies_load ? 2 : 1;
  if (parts.takes_its_bytes) one.least_bytes = databases * cell.data_bytes;
  return one;
}

void Add(const Forecast& one, Forecast* sum) {
  sum->cells += one.cells;
  sum->done += one.done;
  sum->loads += one.loads;
  sum->measure_seconds += one.measure_seconds;
  sum->assumes_rate = sum->assumes_rate || one.assumes_rate;
  sum->open_ended = sum->open_ended || one.open_ended;
  sum->load_bytes += one.load_bytes;
  sum->load_seconds += one.load_seconds;
  sum->faulting_loads += one.faulting_loads;
  sum->rehearsals += one.rehearsals;
  sum->rehearse_seconds += one.rehearse_seconds;
  sum->edge_seconds += one.edge_seconds;
  sum->disk_bytes = std::max(sum->disk_bytes, one.disk_bytes);
  sum->least_bytes = std::max(sum->least_bytes, one.least_bytes);
}

// Returns what the time of the plan consists of, such as "7 minutes of measuring, 2 minutes to load
// 4G in 4 loads at 30 MB/s, and 6 s to begin and end runs".
std::string PartsText(const Forecast& f) {
  std::vector<std::string> parts = {TimeText(f.measure_seconds) + " of measuring"};
  if (f.assumes_rate) {
    parts[0] += fmt::format(" with {} operations a second where their number is set",
                            Count(static_cast<uint64_t>(kOperationsPerSecond)));
  }
  if (f.rehearsals != 0) {
    parts.push_back(fmt::format("{} in about {}", TimeText(f.rehearse_seconds),
                                Counted(f.rehearsals, "rehearsal")));
  }
  const double speed =
      f.load_seconds > 0 ? static_cast<double>(f.load_bytes) / f.load_seconds : kLoadBytesPerSecond;
  parts.push_back(fmt::format("{} to load {} in {} at {:.2g} MB/s", TimeText(f.load_seconds),
                              ShortSize(f.load_bytes), Counted(f.loads, "load"), speed / 1e6));
  return fmt::format("{}, and {} to begin and end runs", fmt::join(parts, ", "),
                     TimeText(f.edge_seconds));
}

}  // namespace

Forecast ForecastOf(const std::vector<Cell>& cells,
                    const std::function<bool(const Cell&)>& finished,
                    const std::string& rehearsals_dir) {
  Forecast sum;
  for (const Forecast& one : ForecastOfEach(cells, finished, rehearsals_dir)) Add(one, &sum);
  return sum;
}

std::vector<Forecast> ForecastOfEach(const std::vector<Cell>& cells,
                                     const std::function<bool(const Cell&)>& finished,
                                     const std::string& rehearsals_dir) {
  CellForecaster forecaster(finished, rehearsals_dir);
  std::vector<Forecast> each;
  each.reserve(cells.size());
  for (const Cell& cell : cells) each.push_back(forecaster.Next(cell));
  return each;
}

double ForecastSeconds(const Forecast& f) {
  return f.measure_seconds + f.rehearse_seconds + f.load_seconds + f.edge_seconds;
}

std::string AboutText(const Forecast& f) {
  return (f.open_ended || f.faulting_loads != 0 ? "more than " : "about ") +
         TimeText(ForecastSeconds(f));
}

std::string ForecastText(const Forecast& f, const std::string& name) {
  std::string text = fmt::format("{}: {} to run", name, Counted(f.cells, "cell"));
  if (f.done != 0) text += fmt::format(", {} done before", f.done);
  if (f.cells == 0) return text + "\n";
  text += fmt::format("; {}: {}; up to {} of disk\n", AboutText(f), PartsText(f),
                      ShortSize(f.disk_bytes));
  if (f.faulting_loads == 0) return text;
  return text +
         fmt::format(
             "{}: {} of the loads may take many times as long, which is not forecast: rows in "
             "random order, through a mapping, with less memory than data; the kernel reads ahead "
             "around each page fault unless --mmap-advice random or a small --readahead is given\n",
             name, f.faulting_loads);
}

void CheckRoom(const Forecast& f, const std::string& dir, const std::string& option,
               uint64_t held) {
  fs::path at = fs::absolute(dir);
  while (!fs::exists(at) && at != at.parent_path()) at = at.parent_path();
  std::error_code error;
  const fs::space_info space = fs::space(at, error);
  if (error || held >= f.least_bytes || space.available >= f.least_bytes - held) return;
  throw Error(
      Error::kUsage,
      fmt::format("the file system of {} has {} free, and a database of it may take {}; "
                  "free space, or choose another {} or fewer --rows",
                  at.string(), ShortSize(space.available), ShortSize(f.disk_bytes), option));
}

}  // namespace testbed
