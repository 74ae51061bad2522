// Runs a phase of a workload on an engine: its threads, rate, duration and latency.
//
//   PhaseOptions options;
//   options.threads = 4;
//   options.seconds = 60;
//   const PhaseResult result = RunPhase(engine, workload, options);
//
// The hot loop keeps the harness out of the measurement. Keys and values are made in batches
// outside the timed part. The clock is read once per operation: the end of an operation is the
// start of the next. Each thread has its own counters. A sample of the operations is verified,
// which is charged to VerifyOp(), and the clock restarts after it. The clock stops after the
// commit, when the answer was used (consume.h).
//
// With a rate the loop is open: each operation has an intended start. A late operation starts at
// once, and no operation is dropped. Latency is reported both from the real and from the intended
// start.
#ifndef TESTBED_WORKLOADS_MEASURE_RUNNER_H_
#define TESTBED_WORKLOADS_MEASURE_RUNNER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "device/account/block_device.h"
#include "device/machine/host_activity.h"
#include "workloads/measure/arrivals.h"
#include "workloads/measure/histogram.h"
#include "workloads/workload.h"

namespace testbed {

struct PhaseOptions {
  int threads = 1;          // clients; a workload may give each client several threads
  int queue_depth = 1;      // point reads that each thread keeps in flight, each for its own client
  double seconds = 0;       // 0 = until the workload's own end or `operations`
  uint64_t operations = 0;  // all threads together; 0 = until `seconds` or the workload's own end
  double rate = 0;          // operations per second, all threads together; 0 = as fast as it goes
  Arrivals arrivals = Arrivals::kEven;
  uint64_t seed = 0;           // of random arrivals
  uint32_t verify_every = 64;  // a thread checks its n-th, 2n-th, ... operation; 0 = none
  Consume consume = Consume::kTouch;
  bool latency = true;
  AccountDepth account = AccountDepth::kFile;
  const BlockDevice* device = nullptr;  // sampled for the per-second series; not owned
  bool (*stop)() = nullptr;             // the phase ends early, as a partial one, when it is true

  struct Progress {
    double seconds;
    uint64_t operations;
    double rate;      // operations per second in the last second
    double fraction;  // share of the phase that is done, 0 to 1; negative when unknown
  };
  std::function<void(const Progress&)> progress;  // called about once a second
};

// A second of a phase; the last interval may be shorter. The counts of all intervals add up to the
// counts of the phase.
struct Interval {
  double end_seconds;  // since the phase began
  uint64_t operations;
  uint64_t p50_ns, p99_ns, max_ns;
  std::vector<uint64_t> counts;          // number of operations, by index into Workload::ops()
  std::vector<uint64_t> max_latency_ns;  // greatest latency, by index into Workload::ops()
  uint64_t device_reads, device_read_bytes, device_writes, device_write_bytes;
  // The activity of the whole machine in this second (device/machine/host_activity.h).
  uint64_t host_context_switches;
  double host_user_seconds, host_system_seconds;
  // Bytes of this process in memory at the end of the second.
  uint64_t resident_bytes;
};

struct PhaseResult {
  struct Op {
    OpKind op;
    uint64_t count = 0;
    HistogramCounts latency, intended;  // from the real and, with a rate, the intended start
  };
  double seconds = 0;  // from the start of the phase to the end of its last thread
  std::vector<Op> ops;
  Client::Totals totals;
  uint64_t verified = 0, wrong = 0;
  std::string first_wrong;     // a sentence about the first wrong answer
  bool partial = false;        // PhaseOptions::stop ended the phase
  std::string ended_because;   // Workload::EndedBecause
  double backlog_seconds = 0;  // with a rate: lateness of a thread's last operation, at worst
  std::vector<Interval> series;
  CpuUse cpu_begin, cpu_end;                // at the threads' start, and at the end of the last
  std::vector<uint64_t> thread_operations;  // number of operations of each thread
  std::vector<double> thread_seconds;       // from the phase's start to the thread's end
  uint64_t operations() const {
    uint64_t n = 0;
    for (const Op& op : ops) n += op.count;
    return n;
  }
};

// Returns the background operation to which checks of answers and of whole databases are charged.
OpKind VerifyOp();

// Opens the workload's tables and runs a phase of it. When a thread throws, the phase ends and this
// throws the first exception.
PhaseResult RunPhase(Engine& engine, Workload& workload, const PhaseOptions& options);

// Returns what an operation costs in the harness itself, in nanoseconds. It runs the loop with
// point reads of rows drawn as `draws` says, on an engine that returns values of this data set's
// size and does no other work. Accounting, latency and consuming are as in `options`.
double HarnessCostNs(const PhaseOptions& options, std::shared_ptr<const Dataset> dataset,
                     WorkloadOptions draws);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_MEASURE_RUNNER_H_
