#include "tools/ab/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "device/os/signal_guard.h"
#include "tools/ab/flat_counters.h"
#include "tools/ab/processors.h"
#include "tools/report/figures.h"
#include "tools/statistics/metrics.h"

namespace testbed {
namespace {

using nlohmann::json;

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Returns the seconds for which the sides of a load, which took `load_seconds` to be loaded, are
// measured together. It is as long as the loading took, since the sample size is the number of
// loads, but at least a few blocks, and neither so long that --seconds allows too few loads, nor so
// short that it allows more than statistics/looks.h can use.
double MeasuredSeconds(const AbOptions& options, double load_seconds) {
  constexpr double kLeastBlocks = 8, kFewLoads = 20, kManyLoads = 100;
  const double block = options.slice_seconds * static_cast<double>(options.sides.size());
  const double least = kLeastBlocks * block;
  if (options.loads > 0) return std::max(least, options.seconds / options.loads - load_seconds);
  const double most = std::max(least, options.seconds / kFewLoads);
  return std::clamp(load_seconds, std::max(least, options.seconds / kManyLoads - load_seconds),
                    std::max(most, options.seconds / kManyLoads));
}

// Returns the phase of the workload that is compared; null when the run did not come to it.
const json* MeasuredPhase(const json& run, const std::string& workload) {
  const json* found = nullptr;
  for (const json& phase : run.at("phases")) {
    if (phase.at("name") == workload) found = &phase;
  }
  return found;
}

json FlatRest(const json& rest) {
  json flat = FlatCounters(rest.at("account"));
  flat["seconds"] = rest.at("seconds");
  return flat;
}

// Returns the numbers of a phase or slice that a comparison keeps. `kinds` is the number of kinds of
// operation that are measured apart.
json SampleJson(const std::string& side, int load, int block, const json& phase, size_t kinds) {
  json metrics = json::object();
  for (const auto& [kind, own] : MetricsOf(phase, kinds)) {
    for (const auto& [name, value] : own) {
      metrics[kind.empty() ? name : kind + "." + name] = value;
    }
  }
  return {{"side", side},
          {"load", load},
          {"block", block},
          {"seconds", phase.at("seconds")},
          {"count", phase.at("count")},
          {"metrics", std::move(metrics)},
          {"counters", FlatCounters(phase.at("account"))}};
}

}  // namespace

Load::Load(const AbOptions& options, const Surroundings& surroundings,
           std::vector<std::unique_ptr<DatabaseDir>>* dirs, int number, Schedule* schedule, Say say)
    : options_(options),
      surroundings_(surroundings),
      dirs_(*dirs),
      number_(number),
      schedule_(*schedule),
      say_(std::move(say)),
      runs_(options.sides.size()) {}

Load::~Load() = default;

LoadResult Load::Run() {
  options_.in_slices() ? RunSlices() : RunRounds();
  CheckRows();
  result_.whole = result_.errors.empty() && !StopRequested();
  return std::move(result_);
}

void Load::StartSide(int side) {
  say_(fmt::format("{} side {}", options_.in_slices() ? "loading" : "running", Label(side)));
  runs_[At(side)] =
      std::make_unique<SideRun>(options_.sides[At(side)], number_, options_.in_slices(),
                                surroundings_, dirs_[At(side)].get());
}

void Load::RunRounds() {
  for (const int side : schedule_.Shuffled()) {
    if (StopRequested()) return;
    StartSide(side);
    Finish(side);
  }
}

void Load::RunSlices() {
  const double begin = Now();
  for (const int side : schedule_.Shuffled()) {
    if (StopRequested()) break;
    StartSide(side);
    if (!AwaitReady(side)) Finish(side);
  }
  result_.load_seconds = Now() - begin;
  const double seconds = MeasuredSeconds(options_, result_.load_seconds);
  const double warmup = options_.common.warmup.value_or(std::min(5.0, seconds / 4));
  Blocks(warmup, false);
  Blocks(seconds, true);
  // All sides end together, so that no side is measured while another closes its database.
  for (const int side : Alive()) runs_[At(side)]->process().EndSlices();
  for (const int side : Alive()) Finish(side);
}

// Waits until the side is loaded and asks for its first slice. Returns false when its process ended
// instead.
bool Load::AwaitReady(int side) {
  RunProcess& process = runs_[At(side)]->process();
  while (!process.ready()) {
    if (!process.Take(100)) return false;
  }
  return true;
}

std::vector<int> Load::Alive() const {
  std::vector<int> alive;
  for (size_t side = 0; side < runs_.size(); ++side) {
    if (runs_[side] != nullptr) alive.push_back(static_cast<int>(side));
  }
  return alive;
}

// Lets the sides work in blocks, of one slice each, for about `seconds`. The number of blocks is
// even, so that the order is ABBA, and each side is early as often as late.
void Load::Blocks(double seconds, bool keep) {
  const double end = Now() + seconds;
  double said = 0;
  for (int n = 0; (Now() < end || n % 2 == 1) && !StopRequested() && !Alive().empty(); ++n) {
    if (Now() - said >= 1) {
      said = Now();
      say_(fmt::format("{}, {:.0f} s left on it", keep ? "measuring" : "warming up",
                       std::max(0.0, end - said)));
    }
    Block(schedule_.NextBlock(), keep);
    if (keep) ++block_;
  }
}

void Load::Block(const std::vector<int>& order, bool keep) {
  if (options_.way == Way::kDuet) {
    const std::vector<std::vector<int>> shares = Shares(OwnProcessors(), order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      if (runs_[At(order[i])] == nullptr) continue;
      BindProcess(runs_[At(order[i])]->process().pid(), shares[i]);
    }
    AwaitSlices(order, keep);
    return;
  }
  for (const int side : order) AwaitSlices({side}, keep);
}

// Grants each of the sides a slice at once, and waits for all of them.
void Load::AwaitSlices(std::vector<int> sides, bool keep) {
  std::erase_if(sides, [this](int side) { return runs_[At(side)] == nullptr; });
  for (const int side : sides) runs_[At(side)]->process().GrantSlice(options_.slice_seconds);
  while (true) {
    TakeAll();
    bool waits = false;
    for (const int side : sides) {
      if (runs_[At(side)] == nullptr) continue;
      RunProcess& process = runs_[At(side)]->process();
      waits = waits || !process.ready();
      for (const json& slice : process.TakeSlices()) {
        if (keep) AddSlice(side, slice);
      }
    }
    if (!waits) return;
  }
}

// Reads what all sides have sent, even those without a slice, and finishes the sides whose
// processes have ended.
void Load::TakeAll() {
  std::vector<RunProcess*> processes;
  for (const int side : Alive()) processes.push_back(&runs_[At(side)]->process());
  RunProcess::AwaitAny(processes, 100);
  for (const int side : Alive()) {
    if (!runs_[At(side)]->process().Take(0)) Finish(side);
  }
}

void Load::AddSlice(int side, const json& slice) {
  if (slice.at("seconds") <= 0 || slice.at("count") <= 0) return;
  json sample = SampleJson(Label(side), number_, block_, slice, options_.kinds.size());
  sample["rest"] = FlatRest(slice.at("rest"));
  result_.samples.push_back(std::move(sample));
}

void Load::Finish(int side) {
  json run = runs_[At(side)]->Finish();
  runs_[At(side)].reset();
  AddRun(side, run);
}

void Load::AddRun(int side, const json& run) {
  if (run.contains("error")) {
    json error = run.at("error");
    error["side"] = Label(side);
    result_.errors.push_back(std::move(error));
  }
  const json* phase = MeasuredPhase(run, options_.measured());
  if (phase != nullptr && !options_.in_slices() && !run.value("partial", false)) {
    result_.samples.push_back(SampleJson(Label(side), number_, -1, *phase, options_.kinds.size()));
  }
  if (phase != nullptr && options_.in_slices() && phase->contains("database_bytes")) {
    for (json& sample : result_.samples) {
      if (sample["side"] == Label(side)) sample["metrics"]["size"] = PhaseDataBytes(*phase);
    }
  }
  json kept = run;
  kept["side"] = Label(side);
  kept["load"] = number_;
  result_.runs.push_back(std::move(kept));
}

// Adds an error when the databases of the sides hold different numbers of rows: such sides did not
// do the same work. Rounds are not checked, since a workload that inserts until its time is over
// may leave different numbers of rows there.
void Load::CheckRows() {
  if (!options_.in_slices()) return;
  const json::json_pointer rows("/database/rows");
  const json* first = nullptr;
  for (const json& run : result_.runs) {
    if (run.contains("error") || !run.contains(rows)) continue;
    if (first == nullptr) first = &run;
    if (run[rows] == (*first)[rows]) continue;
    result_.errors.push_back(
        {{"side", run["side"]},
         {"sentence", fmt::format("its database holds {} rows, and that of side {} holds {}",
                                  run[rows].get<uint64_t>(), (*first)["side"].get<std::string>(),
                                  (*first)[rows].get<uint64_t>())},
         {"exit_code", 1}});
  }
}

}  // namespace testbed
