// --find-rate: the methods of ChildRun that measure the workload at several rates
// (tools/rate/rate_search.h).
#include <fmt/format.h>

#include <algorithm>

#include "tools/output/table.h"
#include "tools/run/child/child_run.h"
#include "tools/run/child/draw_seeds.h"
#include "workloads/registry.h"

namespace testbed {
namespace {

// Returns the seconds in which an open loop at the rate performs that many of the limited
// operations that have a latency. Their share among all operations is taken from the closed loop.
double SecondsFor(const FoundRate& found, double rate, uint64_t operations) {
  const RateStep& closed = found.steps.front();
  // Threads in addition to the clients may perform the limited operations as well.
  const auto told = static_cast<double>(closed.latency.count());
  const double share = std::min(1.0, told / static_cast<double>(closed.all_operations));
  return static_cast<double>(operations) / (rate * share);
}

std::string StepName(const std::string& workload, double rate) {
  return rate == 0 ? workload + " closed loop" : fmt::format("{} at {}/s", workload, Short(rate));
}

}  // namespace

// Measures one rate; 0 stands for the closed loop. A step lasts --seconds, or longer until it has
// the operations that the percentile needs. It ends early once it is sure to miss the limit. When
// it would take more than ten minutes, and more than ten times --seconds, it is given up undecided.
// Before the step the workload runs at the same rate for --warmup, so that work that the step
// before left behind (a queue of compactions, dirty pages) is not charged to this one. The closed
// loop needs none, because it follows the warm-up of the phase itself.
RateStep ChildRun::MeasureRate(const std::string& name, double rate, FoundRate* found,
                               WorkloadOptions* drawn) {
  RateStep step{.target = rate, .arrivals = options_.arrivals};
  PhaseOptions phase = MeasuredPhase(false);
  double seconds = phase.seconds;
  const double most = std::max(10 * seconds, 600.0);
  phase.rate = rate;
  const auto measure = [&](const char* part, double length) {
    phase.seconds = length;
    drawn->seed = SeedOfNextTrial(drawn->seed);
    phase.seed = drawn->seed;
    return Measure(StepName(name, rate) + part, PhaseKind::kTune,
                   *FindWorkload(name).make(dataset_, *drawn), phase);
  };
  if (rate > 0 && options_.warmup.value_or(0) > 0) measure(" warm-up", *options_.warmup);
  const uint64_t needed = found->limit.OperationsNeeded();
  while (!stop_()) {
    step.Add(measure("", seconds).work->result, found->limit);
    const bool enough = step.HasEnough(needed) || step.MissesForSure(found->limit, needed);
    if (rate == 0 || enough || !step.ended_because.empty()) break;
    // The step is measured in parts, and checked after each one, so that it ends soon after it is
    // sure to miss the limit.
    const double rest = SecondsFor(*found, rate, needed - step.latency.count());
    seconds = std::clamp(rest, 0.1, std::max(0.1, 2 * step.seconds));
    if (step.seconds >= most) {
      step.ended_because = fmt::format(
          "{} of the {} operations that {} needs came in {:.0f} seconds at {} ops/s: give a lower "
          "percentile or longer --seconds",
          Count(step.latency.count()), Count(needed), found->limit.Text(), step.seconds,
          Short(rate));
      break;
    }
    seconds = std::min(seconds, most - step.seconds);
  }
  if (step.count() == 0 && step.ended_because.empty() && !stop_()) {
    step.ended_because = "there was no operation of that kind";
  }
  return step;
}

// Searches for the highest rate that meets the limit. `drawn` are the workload's options.
FoundRate ChildRun::FindRate(const std::string& name, WorkloadOptions drawn) {
  FoundRate found{.workload = name,
                  .clients = plan_.threads,
                  .limit = ParseRateLimit("--find-rate", options_.find_rate)};
  searching_ = true;
  SearchRate([&](double rate) { return MeasureRate(name, rate, &found, &drawn); },
             [this] { return stop_(); }, &found);
  return found;
}

// Measures the phase that is reported, at the rate that was found, and records the search with it.
// When the search found no rate, the phase is a closed loop. At a rate that is known to miss the
// limit it lasts --seconds, since the operations of the percentile could take hours there. Before
// it the workload runs at that rate for --warmup, as before each step. `drawn` are the workload's
// options.
void ChildRun::MeasureAtFoundRate(const std::string& name, Workload& workload, PhaseOptions phase,
                                  FoundRate found, WorkloadOptions drawn) {
  phase.rate = found.rate;
  phase.seed = Mix64(phase.seed ^ Mix64(found.steps.size()));  // other arrivals than the search had
  if (found.rate > 0 && found.outcome != FoundRate::Outcome::kLowestMisses) {
    phase.seconds =
        std::max(phase.seconds, SecondsFor(found, found.rate, found.limit.OperationsNeeded()));
  }
  if (found.rate > 0 && options_.warmup.value_or(0) > 0) {
    PhaseOptions warmup = phase;
    warmup.seconds = *options_.warmup;
    warmup.recorder = nullptr;        // a trace records a single phase
    drawn.seed = Mix64(~drawn.seed);  // draws rows that neither a step nor the phase draws
    warmup.seed = drawn.seed;
    Measure(StepName(name, found.rate) + " warm-up", PhaseKind::kTune,
            *FindWorkload(name).make(dataset_, drawn), warmup);
    if (stop_()) return record_.found_rates.push_back(std::move(found));
  }
  record_.found_rates.push_back(found);
  const PhaseRecord measured = Measure(name, PhaseKind::kMeasure, workload, phase);
  searching_ = false;
  if (found.rate == 0) return;
  RateStep again{.target = found.rate, .arrivals = options_.arrivals};
  again.Add(measured.work->result, found.limit);
  record_.found_rates.back().again = {std::move(again)};
}

}  // namespace testbed
