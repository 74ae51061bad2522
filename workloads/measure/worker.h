// The counters of one thread of a phase, and its contribution to the result of the phase.
#ifndef TESTBED_WORKLOADS_MEASURE_WORKER_H_
#define TESTBED_WORKLOADS_MEASURE_WORKER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "workloads/measure/runner.h"

namespace testbed {

// Only its thread writes it; any thread may read the counters meanwhile. The alignment keeps two
// threads from sharing a cache line.
struct alignas(128) Worker {
  struct Op {
    Histogram latency, intended;
    Counter count;
  };
  std::vector<std::unique_ptr<Op>> ops;
  Histogram lateness;
  Histogram undone;  // the waits of operations that were due and had not begun
  Counter verified, wrong;
  uint64_t start = 0, end = 0;  // ticks
  uint64_t backlog_ns = 0;
  Client::Totals totals;
  std::string first_wrong;
};

// Adds the counts of a thread that has ended and worked for `seconds`. `result->ops` has the kinds
// of operations of the workload.
void AddWorker(const Worker& worker, double seconds, PhaseResult* result);

// Adds the operations that the threads had not begun, to the whole and divided among the kinds
// (PhaseResult::Op::undone). Call it once, after AddWorker has added each thread.
void AddUndone(const std::vector<std::unique_ptr<Worker>>& workers, PhaseResult* result);

// An IntervalSampler tells what the workers did since its last sample. Not thread-safe; the workers
// may work meanwhile. They stay owned by the caller.
class IntervalSampler {
 public:
  explicit IntervalSampler(const std::vector<std::unique_ptr<Worker>>& workers)
      : workers_(workers) {}
  // Returns the operations of the interval that ends `seconds` after the phase's start.
  Interval Sample(double seconds);
  // Returns the latencies of all operations of the interval that was sampled last.
  const HistogramCounts& latency() const { return latency_; }

 private:
  const std::vector<std::unique_ptr<Worker>>& workers_;
  HistogramCounts latency_;
  std::vector<HistogramCounts> last_latency_;  // at the last sample, by kind of operation
  std::vector<uint64_t> last_counts_;
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_MEASURE_WORKER_H_
