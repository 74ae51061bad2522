#include "tools/experiment/sweep/forecast.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "device/error.h"
#include "device/file/file.h"
#include "engines/registry.h"
#include "tools/output/table.h"
#include "tools/run/run_checks.h"
#include "workloads/registry.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

// The speed of a load is not known before it was seen. A small disk and a slow engine reach 30
// MB/s, so a forecast is rather too long than too short.
constexpr double kLoadBytesPerSecond = 30e6;

std::string TimeText(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", seconds);
  if (seconds < 90 * 60) return fmt::format("{:.0f} minutes", seconds / 60);
  return fmt::format("{:.1f} hours", seconds / 3600);
}

void AddMeasuring(const RunOptions& run, const std::vector<std::string>& phases, Forecast* sum) {
  double seconds = 0;
  size_t measured = 0;
  for (const std::string& phase : phases) {
    if (FindWorkload(phase).loads) continue;
    const double own = run.OwnSeconds(measured++);
    if (FindWorkload(phase).only_settles) continue;
    seconds += run.warmup.value_or(0) + (own > 0 ? own : run.seconds.value_or(0));
    sum->open_ended = sum->open_ended || run.operations != 0;
  }
  // --cache-pct auto and --find-rate measure each phase about ten times before it counts; with the
  // latter a step lasts as long as its percentile needs.
  const double trials = (run.cache_auto ? 10 : 1) + (run.find_rate.empty() ? 0 : 10);
  sum->open_ended = sum->open_ended || run.cache_most || !run.find_rate.empty();
  sum->measure_seconds +=
      seconds * trials * run.repeat * run.repeat_runs * static_cast<double>(run.threads.size());
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

}  // namespace

Forecast ForecastOf(const std::vector<Cell>& cells,
                    const std::function<bool(const Cell&)>& finished) {
  Forecast sum;
  std::set<std::string> loaded;
  for (const Cell& cell : cells) {
    if (!cell.runs()) continue;
    if (finished(cell)) {
      ++sum.done;
      continue;
    }
    ++sum.cells;
    const RunOptions run = OptionsOfRun(cell.options);
    AddMeasuring(run, run.workloads, &sum);
    const bool loads = cell.load_key.empty() ? !PhasesOf(run.workloads).load.empty()
                                             : loaded.insert(cell.load_key).second;
    if (loads) {
      ++sum.loads;
      sum.load_bytes += cell.data_bytes;
      const bool own = cell.load_key.empty();
      sum.faulting_loads +=
          FaultsInLoad(own ? run : OptionsOfRun(cell.load_options), cell.data_bytes);
    }
    sum.disk_bytes = std::max(sum.disk_bytes, cell.scratch_bytes);
    const uint64_t databases = cell.copies_load ? 2 : 1;
    if (TakesItsBytes(run)) {
      sum.least_bytes = std::max(sum.least_bytes, databases * cell.data_bytes);
    }
  }
  return sum;
}

double ForecastSeconds(const Forecast& f) {
  return f.measure_seconds + static_cast<double>(f.load_bytes) / kLoadBytesPerSecond;
}

std::string ForecastText(const Forecast& f, const std::string& name) {
  std::string text = fmt::format("{}: {} to run", name, Counted(f.cells, "cell"));
  if (f.done != 0) text += fmt::format(", {} done before", f.done);
  if (f.cells == 0) return text + "\n";
  const double loading = static_cast<double>(f.load_bytes) / kLoadBytesPerSecond;
  text += fmt::format(
      "; {} {}: {} of measuring, and {} to load {} in {} at 30 MB/s; up to {} of disk\n",
      f.open_ended || f.faulting_loads != 0 ? "more than" : "about", TimeText(ForecastSeconds(f)),
      TimeText(f.measure_seconds), TimeText(loading), ShortSize(f.load_bytes),
      Counted(f.loads, "load"), ShortSize(f.disk_bytes));
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
