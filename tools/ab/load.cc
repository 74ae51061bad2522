#include "tools/ab/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <utility>

#include "device/error.h"
#include "device/machine/host.h"
#include "device/os/signal_guard.h"
#include "tools/ab/measured_time.h"
#include "tools/ab/sample.h"
#include "tools/ab/turns/processors.h"
#include "tools/output/table.h"
#include "tools/statistics/metrics.h"

namespace testbed {
namespace {

using nlohmann::json;

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Returns the phase of the workload that is compared; null when the run did not come to it.
const json* MeasuredPhase(const json& run, const std::string& workload) {
  const json* found = nullptr;
  for (const json& phase : run.at("phases")) {
    if (phase.at("name") == workload) found = &phase;
  }
  return found;
}

}  // namespace

Load::Load(const AbOptions& options, const Surroundings& surroundings,
           std::vector<std::unique_ptr<DatabaseDir>>* dirs, Turn turn, Schedule* schedule, Say say)
    : options_(options),
      surroundings_(surroundings),
      dirs_(*dirs),
      turn_(turn),
      schedule_(*schedule),
      say_(std::move(say)),
      runs_(options.sides.size()),
      latency_(options.sides.size()),
      threads_mix_(options.way != Way::kRounds && !SharedThreads(options.sides).empty()) {}

Load::~Load() = default;

LoadResult Load::Run() {
  if (options_.in_slices()) {
    RunSlices();
  } else {
    options_.way == Way::kDuet ? RunAtOnce() : RunRounds();
  }
  CheckRows();
  result_.whole = result_.errors.empty() && !StopRequested();
  return std::move(result_);
}

// Returns whether the side was started. When it was not, its error is added to the comparison's
// errors, so that the results of other sides and earlier loads are kept. Throws the error when
// there are no such results.
bool Load::StartSide(int side) {
  SayDoing({side});
  try {
    runs_[At(side)] = std::make_unique<SideRun>(
        options_.sides[At(side)], turn_.number, options_.in_slices(), options_.way == Way::kRounds,
        surroundings_, dirs_[At(side)].get(), options_.executes());
    started_ = true;
    return true;
  } catch (const std::exception& e) {
    if (turn_.number == 0 && !started_) {
      const auto* error = dynamic_cast<const Error*>(&e);
      if (error == nullptr || StopRequested()) throw;
      throw error->With(fmt::format("side {}: {}", Label(side), error->what()));
    }
    Fail(side, {{"sentence", SentenceOf(e)}, {"exit_code", 1}});
    return false;
  }
}

// Shows what the sides do that the comparison waits for.
void Load::SayDoing(const std::vector<int>& sides) {
  std::string labels, stopped;
  for (const int side : sides) {
    labels += (labels.empty() ? "" : " and ") + Label(side);
    if (runs_[At(side)] == nullptr || !runs_[At(side)]->process().IsStopped()) continue;
    stopped += fmt::format("; the process of side {} is stopped (SIGSTOP)", Label(side));
  }
  const char* const doing = StopRequested()        ? "ending"
                            : options_.in_slices() ? "loading"
                                                   : "running";
  say_(fmt::format("{} side {}{}", doing, labels, stopped));
}

// Notes the side's error, and empties its database at once, since the others may need the room. The
// directory itself stays until the end of the comparison: a server that ends with the side's
// process may write there for a moment.
void Load::Fail(int side, json error) {
  error["side"] = Label(side);
  result_.errors.push_back(std::move(error));
  try {
    dirs_[At(side)]->Prepare();
  } catch (const std::exception&) {
    // The end of the comparison tries again to remove the remaining files.
  }
}

void Load::RunRounds() {
  for (const int side : schedule_.Shuffled()) {
    if (StopRequested()) return;
    if (!StartSide(side)) continue;
    AwaitEnd(side);
    Finish(side);
  }
}

// Runs all sides at once, each on its own processors, which are drawn. When one has ended, the
// others go on alone.
void Load::RunAtOnce() {
  const std::vector<int> order = schedule_.Shuffled();
  const std::vector<std::vector<int>> shares = Shares(OwnProcessors(), order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    if (StopRequested() || !StartSide(order[i])) continue;
    BindProcess(runs_[At(order[i])]->process().pid(), shares[i]);
  }
  double said = Now();
  while (!Alive().empty()) {
    TakeAll();
    if (Now() - said < 1) continue;
    said = Now();
    if (!Alive().empty()) SayDoing(Alive());
  }
}

// Loads all sides, at once when each has a processor, else one after the other.
void Load::LoadSides() {
  const bool at_once = OwnProcessors().size() >= runs_.size();
  std::vector<int> loading;
  for (const int side : schedule_.Shuffled()) {
    if (StopRequested()) break;
    if (!StartSide(side)) continue;
    loading.push_back(side);
    if (!at_once) AwaitLoads(&loading);
  }
  AwaitLoads(&loading);
}

// Waits until each of the sides is loaded or has ended, and empties the list.
void Load::AwaitLoads(std::vector<int>* loading) {
  double said = Now();
  while (true) {
    std::erase_if(*loading, [this](int side) {
      return runs_[At(side)] == nullptr || runs_[At(side)]->process().ready();
    });
    if (loading->empty()) return;
    TakeAll();
    if (Now() - said < 1) continue;
    said = Now();
    SayDoing(*loading);
  }
}

void Load::RunSlices() {
  const double begin = Now();
  LoadSides();
  result_.load_seconds = Now() - begin;
  const double loaded = Now();
  const double seconds =
      MeasuredSeconds(options_, result_.load_seconds, turn_.seconds, turn_.spread);
  Blocks(WarmUpSeconds(options_, seconds), false);
  Blocks(seconds, true);
  result_.measured_seconds = Now() - loaded;
  // All sides end together, so that no side is measured while another closes its database.
  for (const int side : Alive()) runs_[At(side)]->process().EndSlices();
  for (const int side : Alive()) Finish(side);
}

// Waits until the side's process ends.
void Load::AwaitEnd(int side) {
  double said = Now();
  while (runs_[At(side)]->process().Take(100)) {
    if (Now() - said < 1) continue;
    said = Now();
    SayDoing({side});
  }
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
  const double end = Now() + options_.slice_seconds;
  while (true) {
    TakeAll();
    std::string late;
    for (const int side : sides) {
      if (runs_[At(side)] == nullptr) continue;
      RunProcess& process = runs_[At(side)]->process();
      if (!process.ready()) late += (late.empty() ? "" : " and ") + Label(side);
      for (const json& slice : process.TakeSlices()) {
        if (keep) AddSlice(side, slice);
      }
    }
    if (late.empty()) return;
    SayLate(late, Now() - end);
  }
}

// Shows which sides the comparison waits for, and that their slice should have ended `seconds` ago.
// An operation may last long, and a process may be stopped (SIGSTOP).
void Load::SayLate(const std::string& late, double seconds) {
  constexpr double kLate = 2;
  if (seconds < kLate) return;
  say_(fmt::format("waiting for side {}, whose slice should have ended {:.0f} s ago", late,
                   seconds));
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

void Load::AddSample(json sample, const json& account) {
  if (options_.way == Way::kDuet && LeaveOutSharedDevice(account, &sample)) {
    result_.device_left_out = true;
  }
  if (threads_mix_ && account.contains("other_threads")) {
    result_.threads_mixed = true;
    if (options_.way == Way::kDuet) LeaveOutRequests(&sample);
  }
  result_.samples.push_back(std::move(sample));
}

void Load::AddSlice(int side, const json& slice) {
  if (slice.at("seconds") <= 0 || slice.at("count") <= 0) return;
  json own = slice;
  if (threads_mix_) LeaveOutThreads(SharedThreads(options_.sides), &own.at("rest").at("account"));
  AddSample(SampleJson({Label(side), turn_.number, block_}, own, options_.kinds.size()),
            slice.at("account"));
  for (const json& bucket : slice.at("latency_ns_histogram")) {
    latency_[At(side)].AddBucket(bucket[0].get<uint64_t>(), bucket[1].get<uint64_t>());
  }
}

// Gives the samples of the side the metrics that belong to the slices as a whole: the size and the
// memory of the phase, and the percentiles of all latencies together. A high percentile of a single
// slice is that of its few slowest operations, and grows with the number of operations.
void Load::GiveSlices(int side, const json& phase) {
  std::map<std::string, double> whole;
  const auto metrics = MetricsOf(phase);
  for (const auto& [name, value] : metrics.at("")) {
    if (name == "size" || name == "memory_held") whole[name] = value;
  }
  const HistogramCounts& latency = latency_[At(side)];
  for (json& sample : result_.samples) {
    if (sample["side"] != Label(side)) continue;
    for (const auto& [name, value] : whole) sample["metrics"][name] = value;
    for (const auto& [name, share] :
         {std::pair("p50", 0.5), std::pair("p99", 0.99), std::pair("p999", 0.999)}) {
      json& own = sample["metrics"];
      if (own.contains(name)) own[name] = static_cast<double>(latency.Percentile(share)) / 1000;
    }
  }
}

void Load::Finish(int side) {
  const json run = runs_[At(side)]->Finish();
  const std::string stays = runs_[At(side)]->RemoveBudget();
  if (!stays.empty()) result_.notes.push_back(stays);
  runs_[At(side)].reset();
  AddRun(side, run);
}

void Load::AddRun(int side, const json& run) {
  if (run.contains("error")) Fail(side, run.at("error"));
  const json* phase = MeasuredPhase(run, options_.measured());
  if (phase != nullptr && !options_.in_slices() && !run.value("partial", false)) {
    AddSample(SampleJson({Label(side), turn_.number}, *phase, options_.kinds.size()),
              phase->at("account"));
  }
  if (phase != nullptr && options_.in_slices()) GiveSlices(side, *phase);
  json kept = run;
  kept["side"] = Label(side);
  kept["load"] = turn_.number;
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
         {"sentence",
          fmt::format("its database holds {}, and that of side {} holds {}",
                      Counted(run[rows].get<uint64_t>(), "row"),
                      (*first)["side"].get<std::string>(), Count((*first)[rows].get<uint64_t>()))},
         {"exit_code", 1}});
  }
}

}  // namespace testbed
