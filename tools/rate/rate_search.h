// Finds the highest rate of an open loop whose latency meets a limit, by trying: --find-rate.
//
//   FoundRate found{.limit = limit};
//   SearchRate([&](double rate) { return Measure(rate); }, stop, &found);
//   Print(found.Sentence());
//
// The first step is a closed loop: as fast as the clients go. Its rate is the most that they reach,
// so no open loop needs to be tried above it. Then open loops: half of that rate, and, as long as
// each misses, half of the last, down to 1/64. Between the highest rate that met the limit and the
// lowest that missed it the search tries their geometric mean, until they are within 5 %. All
// steps run on one open database, so that nothing differs between them but the rate.
//
// A search supposes that latency rises with the rate. Where it does not (a background task that
// runs in one step only), the steps show it.
#ifndef TESTBED_TOOLS_RATE_RATE_SEARCH_H_
#define TESTBED_TOOLS_RATE_RATE_SEARCH_H_

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/rate/rate_limit.h"
#include "workloads/measure/runner.h"

namespace testbed {

// The measurements at one rate. Times are in seconds, rates in operations per second of all kinds
// together. A thread that a workload has in addition to its clients takes no share of the rate: its
// latencies count, but its operations say nothing about whether the clients have kept up.
struct RateStep {
  double target = 0;  // 0: the closed loop
  double seconds = 0;
  double thread_seconds = 0;    // time until a thread had ended its operations, the mean of all
  uint64_t all_operations = 0;  // operations of the clients, who share the rate
  HistogramCounts latency;      // latency of limited operations, from the intended start if any
  uint64_t slower = 0;          // operations in `latency` that were not faster than the limit
  uint64_t untold = 0;          // limited operations without a latency (PhaseResult::Op::told)
  // Limited operations that were due when a part ended, had not begun, and had waited for the limit
  // already. The kind of an operation that has not begun was never drawn, so those of each thread
  // are divided among the kinds that it performs (PhaseResult::Op::undone).
  uint64_t undone = 0;
  Arrivals arrivals = Arrivals::kEven;
  double backlog_seconds = 0;
  std::string ended_because;  // why the step ended before its time; empty: it is whole

  // Adds what a phase at the step's rate measured. A step may have several.
  void Add(const PhaseResult& part, const RateLimit& limit);
  double rate() const { return seconds > 0 ? static_cast<double>(all_operations) / seconds : 0; }
  uint64_t count() const { return latency.count() + untold; }  // limited operations
  double slower_share() const;                                 // counts `undone` as slower
  // Returns whether all but a few of the operations that were due have been performed. It is false
  // for a loop that falls behind more and more, and always true for the closed loop.
  bool KeptUp() const;
  bool Meets(const RateLimit& limit) const;
  // Returns whether `needed` limited operations have a latency: those without one tell nothing of a
  // percentile.
  bool HasEnough(uint64_t needed) const { return latency.count() >= needed; }
  // Returns whether the step misses the limit even if the rest of the `needed` operations with a
  // latency are all faster, because enough operations were slower already.
  bool MissesForSure(const RateLimit& limit, uint64_t needed) const;

 private:
  // Returns how many limited operations one with a latency stands for.
  double EachStandsFor() const;
};

struct FoundRate {
  enum class Outcome : uint8_t {
    kFound,         // `rate` meets the limit; a rate at most 5 % above it misses the limit
    kLowestMisses,  // even the lowest rate that was tried misses; `rate` is that rate
    kHighestMeets,  // the closed loop's rate meets the limit; `rate` is that rate
    kEnded,         // the workload or the user ended the search; `rate` is 0
  };
  std::string workload;
  int clients = 1;
  RateLimit limit;
  Outcome outcome = Outcome::kEnded;
  double rate = 0;
  std::vector<RateStep> steps;  // in the order in which they ran; the first is the closed loop
  std::vector<RateStep> again;  // the phase at `rate` after the search; at most one

  // Returns one sentence that tells the outcome.
  std::string Sentence() const;
  // Returns an entry of "find_rate" of a run (docs/results.md).
  nlohmann::json ToJson() const;
};

// Measures one rate; 0 stands for the closed loop.
using MeasureRate = std::function<RateStep(double rate)>;

// Fills in found->steps, outcome and rate. Ends early when `stop` returns true.
void SearchRate(const MeasureRate& measure, const std::function<bool()>& stop, FoundRate* found);

}  // namespace testbed

#endif  // TESTBED_TOOLS_RATE_RATE_SEARCH_H_
