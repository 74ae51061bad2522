// Runs one phase of a workload on an engine: starts its threads, paces them, ends them in time, and
// records latency.
//
// The hot loop keeps the harness out of what it measures. Keys and values are made in batches
// outside the timed part. The clock is read once per operation: the end of one operation is the
// start of the next. Each thread has its own counters. Verification happens on a sample, is charged
// to VerifyOp(), and the clock restarts after it. An operation that keeps rows for its verification
// is left out of the latencies (Performer::IsLengthened). An operation's time ends after its
// commit, when its result has been used (consume.h).
//
// With a rate the loop is open: every operation has an intended start, a late operation starts at
// once, and latency is reported both from the real and from the intended start. Operations that
// were due but had not begun when the phase ended are counted separately, with the time that they
// had waited; percentiles from the intended start include them (PhaseResult::Op::FromIntended).
#ifndef TESTBED_WORKLOADS_MEASURE_RUNNER_H_
#define TESTBED_WORKLOADS_MEASURE_RUNNER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "device/account/block_device.h"
#include "device/machine/memory_budget.h"
#include "workloads/measure/arrivals/arrivals.h"
#include "workloads/measure/phase_result.h"
#include "workloads/measure/slices.h"
#include "workloads/workload.h"

namespace testbed {

class TraceRecorder;

struct PhaseOptions {
  int threads = 1;  // clients; a workload may run several threads for each client
  // This process is number `task` of `tasks` processes, which perform the phase together. Each has
  // `threads` clients.
  int task = 0, tasks = 1;
  bool loads = false;       // the phase uses Engine::NewSession, not sessions of client threads
  int queue_depth = 1;      // point reads that each thread keeps in flight, each for its own Client
  double seconds = 0;       // 0 = until the workload's own end or `operations`
  uint64_t operations = 0;  // this process's; 0 = until `seconds` or the workload's own end
  // Operations per second of all clients, those of the other tasks included; 0 = as fast as it
  // goes.
  double rate = 0;
  const RateCurve* curve = nullptr;  // how `rate` changes around its mean; null: it does not
  Arrivals arrivals = Arrivals::kEven;
  uint64_t seed = 0;           // seed of random arrivals
  uint32_t verify_every = 64;  // one operation in this many is verified; 0 = none
  Consume consume = Consume::kTouch;
  bool latency = true;
  uint64_t added_delay_ns = 0;  // time that every operation also keeps its processor busy
  AccountDepth account = AccountDepth::kFile;
  const BlockDevice* device = nullptr;   // sampled once a second for the series; may be null
  const MemoryBudget* budget = nullptr;  // sampled once a second for the series; may be null
  bool (*stop)() = nullptr;              // true: end the phase early
  // When set, the operations are recorded. RunPhase must then get the engine of the recorder, and
  // the queue depth must be 1.
  TraceRecorder* recorder = nullptr;
  // When set, it grants slices of time in which the clients work, and they rest between them
  // (slices.h). `seconds` and `rate` must then be 0.
  SliceControl* slices = nullptr;
  // Called on the main thread once all clients are ready, which begin when it returns; may throw.
  std::function<void()> before_start;
  bool interval_buckets = false;  // intervals keep the histograms of their latencies

  struct Progress {
    double seconds;
    const Interval* interval;  // the last second; valid during the call
    double rate;               // operations per second in the last second
    double fraction;           // share of the phase that is done, 0 to 1; negative = unknown
  };
  std::function<void(const Progress&)> progress;  // called about once a second
};

// The background operation to which verification of results and of whole databases is charged.
OpKind VerifyOp();

// Opens the workload's tables, runs the phase and returns its result. Blocks until all threads have
// ended. Rethrows the first exception that a thread threw, or else what reading the figures or a
// function of `options` threw. `options` and all it points to must stay valid during the call.
PhaseResult RunPhase(Engine& engine, Workload& workload, const PhaseOptions& options);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_MEASURE_RUNNER_H_
