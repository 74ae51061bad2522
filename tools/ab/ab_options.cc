#include "tools/ab/ab_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "device/error.h"
#include "device/machine/host.h"
#include "engines/registry.h"
#include "tools/output/table.h"
#include "tools/statistics/metrics.h"
#include "workloads/registry.h"

namespace testbed {
namespace {

[[noreturn]] void Refuse(const std::string& sentence) { throw Error(Error::kUsage, sentence); }

// The number of rounds that fit into the time, and the bounds of the length of one, in seconds.
// Many short rounds tell more than a few long ones, because the sample size is the number of loads.
constexpr double kRoundsInTime = 40, kLongestRound = 20, kShortestRound = 0.5;

}  // namespace

const char* WayName(Way way) {
  switch (way) {
    case Way::kInterleave:
      return "interleave";
    case Way::kDuet:
      return "duet";
    case Way::kRounds:
      break;
  }
  return "rounds";
}

std::string WayAssumes(Way way) {
  switch (way) {
    case Way::kInterleave:
      return "assumes that the background work of a side at rest does not slow the other side, and "
             "that each side finds its caches as it left them";
    case Way::kDuet:
      return "assumes that sides that work at the same time slow each other equally, by the "
             "caches, the memory and the device that they share";
    case Way::kRounds:
      break;
  }
  return "assumes that the machine does not change with the order of the runs, which is random";
}

bool AbOptions::executes() const {
  return std::any_of(sides.begin(), sides.end(), [](const AbSide& side) {
    return !side.environment.empty() || !side.options.release.empty();
  });
}

// Puts the loader before the workloads when the list does not begin with one.
void AbOptions::CompleteWorkloads() {
  std::vector<std::string>& workloads = common.workloads;
  const WorkloadInfo& first = FindWorkload(workloads.front());
  if (!first.loads) workloads.insert(workloads.begin(), LoaderText(first));
}

void AbOptions::CheckPhases() const {
  if (!common.at_once) return;
  Refuse(
      "ab compares the last workload of --workload as it runs by itself; leave out lengths, rates, "
      "popular rows and settle, and give --rate, or --seconds with --way rounds");
}

void AbOptions::ChooseWay() {
  const WorkloadInfo& info = FindWorkload(measured());
  unchanged = info.reads_only && !info.loads;
  if (!way) way = unchanged && common.rate == 0 ? Way::kInterleave : Way::kRounds;
  if (way == Way::kInterleave && !unchanged) {
    Refuse(
        fmt::format("--way interleave is for workloads that leave the database unchanged, and {} "
                    "changes what it measures; give --way rounds",
                    measured()));
  }
  if (way == Way::kDuet && !unchanged && common.workloads.size() > 1) {
    Refuse(
        fmt::format("--way duet is for workloads that leave the database unchanged, or that load "
                    "it themselves: the sides would come to {} at different times; give --way "
                    "rounds",
                    measured()));
  }
}

void AbOptions::CheckSlices() const {
  if (common.rate > 0) {
    Refuse(
        fmt::format("--rate starts operations by the clock, which goes on while a side rests; "
                    "leave it out, or give --way rounds instead of {}",
                    WayName(*way)));
  }
  if (common.seconds || common.operations != 0) {
    Refuse(
        "--seconds and --operations have no meaning in slices; give --time, the time of the whole "
        "comparison, or --way rounds");
  }
}

void AbOptions::CheckWarmUp() const {
  if (!common.warmup || !time_ends() || *common.warmup < seconds()) return;
  Refuse(fmt::format("--warmup {} s leaves nothing of --time {} s{}; give a shorter --warmup{}",
                     *common.warmup, seconds(), time ? "" : ", its default",
                     time ? "" : " or a longer --time"));
}

void AbOptions::CheckDuet() const {
  const char* const other = WayName(unchanged ? Way::kInterleave : Way::kRounds);
  for (const AbSide& side : sides) {
    if (!FindEngine(side.options.engine_name).capabilities.server) continue;
    Refuse(
        fmt::format("--way duet gives each side processors of its own, and the server of {} on "
                    "side {} does its work on all of them; give --way {}",
                    side.options.engine_name, side.label, other));
  }
  const size_t processors = OwnProcessors().size();
  if (processors < sides.size()) {
    Refuse(
        fmt::format("--way duet gives each side processors of its own, and {} sides have {} "
                    "here; give --way {}",
                    sides.size(), processors, other));
  }
  const auto share = static_cast<int>(processors / sides.size());
  for (const AbSide& side : sides) {
    if (side.options.threads[0] <= share) continue;
    Refuse(fmt::format("--way duet gives each side {} of {}, fewer than its {}; give --threads {}",
                       share, Counted(processors, "processor"),
                       Counted(side.options.threads[0], "client"), share));
  }
}

void AbOptions::Resolve() {
  if (sides.size() < 2) {
    Refuse("ab compares two sides or more; give --a 'OPTION=VALUE ...' and --b 'OPTION=VALUE ...'");
  }
  CheckPhases();
  CheckWarmUp();
  CompleteWorkloads();
  for (AbSide& side : sides) side.options.workloads = common.workloads;
  ChooseWay();
  if (!in_slices() && slice_given) {
    Refuse(
        fmt::format("--slice is the length of a slice, and --way {} compares whole runs of {}; "
                    "leave it out",
                    WayName(*way), measured()));
  }
  if (in_slices()) {
    CheckSlices();
  } else if (common.operations == 0) {
    if (!common.seconds) {
      common.seconds = std::clamp(seconds() / kRoundsInTime, kShortestRound, kLongestRound);
    }
    if (!common.warmup) common.warmup = std::min(5.0, *common.seconds / 4);
  }
  for (AbSide& side : sides) {
    RunOptions& options = side.options;
    options.seconds = common.seconds;
    options.warmup = common.warmup;
    options.quiet = true;  // the comparison shows its own progress
    try {
      options.Resolve();
    } catch (const Error& e) {
      throw Error(e.kind(), fmt::format("side {}: {}", side.label, e.what()));
    }
    if (options.cache_auto || options.cache_most) {
      Refuse(fmt::format("side {}: ab compares settings that are known; give --cache-pct a number",
                         side.label));
    }
  }
  if (way == Way::kDuet) CheckDuet();
  CheckComparable(sides);
}

std::vector<std::string> AbOptions::Asked() const {
  if (common.rate == 0 && !paced) return {"rate"};
  if (kinds.empty()) return {"p99"};
  std::vector<std::string> asked;
  for (const std::string& kind : kinds) asked.push_back(kind + ".p99");
  return asked;
}

void AbOptions::ResolveKinds() {
  kinds.clear();
  // All sides have the same workload with the same mix of operations (CheckComparable).
  const RunOptions& first = sides.front().options;
  const auto dataset = std::make_shared<const Dataset>(first.data);
  const auto workload = FindWorkload(measured()).make(dataset, first.workload);
  paced = workload->timed();
  if (in_slices() && workload->operations() != 0) {
    Refuse(
        fmt::format("--way {} is for workloads that go on until they are stopped, and {} ends "
                    "by itself; give --way rounds",
                    WayName(*way), measured()));
  }
  if (!in_slices()) {
    for (const OpKind op : workload->planned_ops()) kinds.push_back(OpName(op));
    if (kinds.size() == 1) kinds.clear();
  }
  for (const Condition& condition : fail_if) CheckMetric(condition);
}

void AbOptions::CheckMetric(const Condition& condition) const {
  const std::string kind = KindOf(condition.metric);
  const std::string told = fmt::format("--fail-if '{}'", ConditionText(condition));
  if (!kind.empty() && kinds.empty()) {
    Refuse(fmt::format("{} names a kind of operation, and {} {}; give {}", told, measured(),
                       in_slices() ? "in slices is measured as a whole" : "has one alone",
                       condition.metric.substr(kind.size() + 1)));
  }
  if (!kind.empty() && std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) {
    Refuse(fmt::format("{} names an operation that {} does not have; it has {}", told, measured(),
                       fmt::join(kinds, ", ")));
  }
  const bool of_each = MetricNamed(condition.metric)->by_kind && condition.metric != "rate";
  if (kind.empty() && of_each && !kinds.empty()) {
    std::vector<std::string> names;
    for (const std::string& one : kinds) names.push_back(one + "." + condition.metric);
    Refuse(fmt::format("{}: each kind of operation of {} has latencies of its own; give {}", told,
                       measured(), fmt::join(names, " or ")));
  }
}

}  // namespace testbed
