// Runs one phase of a workload on an engine: threads, rate, duration, latency.
//
// The hot loop keeps the harness out of what it measures: keys and values are made in batches
// outside the timed part; the clock is read once per operation (the end of one is the start of the
// next); counters are each thread's own; verification happens on a sample, is charged to VerifyOp(),
// and the clock restarts after it. The clock stops after the commit, when what was found was used
// (consume.h).
//
// With a rate the loop is open: operations have intended starts, an operation that is late starts
// at once, none is dropped, and latency is reported both from the real and from the intended start.
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
  int threads = 1;          // clients; a workload may give each several threads
  int queue_depth = 1;      // point reads that each thread keeps in flight: clients of its own
  double seconds = 0;       // 0 = until the workload's own end or `operations`
  uint64_t operations = 0;  // all threads together; 0 = until `seconds` or the workload's own end
  double rate = 0;          // operations per second, all threads together; 0 = as fast as it goes
  Arrivals arrivals = Arrivals::kEven;
  uint64_t seed = 0;           // of random arrivals
  uint32_t verify_every = 64;  // every how many-th operation is checked; 0 = none
  Consume consume = Consume::kTouch;
  bool latency = true;
  AccountDepth account = AccountDepth::kFile;
  const BlockDevice* device = nullptr;  // sampled for the per-second series
  bool (*stop)() = nullptr;             // set from outside: end cleanly, the result is partial

  struct Progress {
    double seconds;
    uint64_t operations;
    double rate;      // of the last second
    double fraction;  // of the phase, 0 to 1; negative when unknown
  };
  std::function<void(const Progress&)> progress;  // called about once a second
};

// One second of a phase; the last may be shorter. The counts of all add up to the phase's.
struct Interval {
  double end_seconds;  // since the phase began
  uint64_t operations;
  uint64_t p50_ns, p99_ns, max_ns;
  std::vector<uint64_t> counts;          // of the operations, by index into Workload::ops()
  std::vector<uint64_t> max_latency_ns;  // the same
  uint64_t device_reads, device_read_bytes, device_writes, device_write_bytes;
  // Of the whole machine, and what this process held in RAM when the second ended.
  uint64_t host_context_switches;
  double host_user_seconds, host_system_seconds;
  uint64_t resident_bytes;
};

struct PhaseResult {
  struct Op {
    OpKind op;
    uint64_t count = 0;
    HistogramCounts latency, intended;  // from the real start; from the intended one (rate only)
  };
  double seconds = 0;  // from the first thread's start to the last one's end
  std::vector<Op> ops;
  Client::Totals totals;
  uint64_t verified = 0, wrong = 0;
  std::string first_wrong;     // a sentence about the first wrong answer
  bool partial = false;        // stopped from outside
  std::string ended_because;   // Workload::EndedBecause
  double backlog_seconds = 0;  // with a rate: how late the last operation started, at worst
  std::vector<Interval> series;
  CpuUse cpu_begin, cpu_end;                // when the threads began, and when the last had ended
  std::vector<uint64_t> thread_operations;  // of each thread, in order
  std::vector<double> thread_seconds;       // from the phase's start to the thread's end
  uint64_t operations() const {
    uint64_t n = 0;
    for (const Op& op : ops) n += op.count;
    return n;
  }
};

// What checks of answers and of whole databases are charged to, background.
OpKind VerifyOp();

// Opens the workload's tables and runs it. Throws what a thread threw.
PhaseResult RunPhase(Engine& engine, Workload& workload, const PhaseOptions& options);

// What one operation costs in the harness itself, in nanoseconds: the loop run on an engine that
// hands out values of this dataset's size and does nothing else, with the same accounting, latency
// and consuming, as point reads of rows that are drawn as `draws` says.
double HarnessCostNs(const PhaseOptions& options, std::shared_ptr<const Dataset> dataset,
                     WorkloadOptions draws);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_MEASURE_RUNNER_H_
