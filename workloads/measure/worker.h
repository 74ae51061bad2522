// The counters of one thread of a phase, and its contribution to the result of the phase.
#ifndef TESTBED_WORKLOADS_MEASURE_WORKER_H_
#define TESTBED_WORKLOADS_MEASURE_WORKER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/account/ledger.h"
#include "workloads/measure/clock.h"
#include "workloads/measure/runner.h"

namespace testbed {

// The counters of one thread. Only that thread writes them; any thread may read those of type
// Counter and Histogram meanwhile. The alignment keeps two threads from sharing a cache line.
struct alignas(128) Worker {
  struct Op {
    Histogram latency, intended;
    Counter count;
    Counter unanswered;  // operations that ended with LostAnswer, which `count` leaves out
    uint64_t longest_unanswered_ns = 0;
  };
  std::vector<std::unique_ptr<Op>> ops;
  Histogram lateness;
  Histogram undone;  // the waits of operations that were due and had not begun
  Counter verified, wrong;
  Counter counted_checks, check_requests, check_misses;  // see checks()
  // The session that checks of the thread use. It is null when reads are kept in flight, whose
  // checks use none.
  Session* session = nullptr;
  // The time of the thread's operations, in ticks. A thread that waits for its next operation ends
  // with the stop of the phase (OpenLoop::End).
  uint64_t start = 0, end = 0;
  uint64_t preparing = 0;  // ticks in which the thread's clients prepared operations
  uint64_t backlog_ns = 0;
  Client::Totals totals;
  std::string first_wrong;
  // Returns the blocks that the thread's checks have asked for so far.
  CheckBlocks checks() const {
    return {counted_checks.Get(), check_requests.Get(), check_misses.Get()};
  }
};

// Performs the operations of a phase's clients. Thread-safe.
class Performer {
 public:
  // `options`, `workload` and the engine must outlive the object.
  Performer(const Engine& engine, const Workload& workload, const PhaseOptions& options)
      : engine_(engine),
        added_delay_ns_(options.added_delay_ns),
        verify_every_(options.verify_every),
        clock_(Clock::Get()),
        workload_(workload),
        goes_on_(workload.bears_lost_answers() && options.slices == nullptr &&
                 engine.OutlivesLostAddress()) {}
  // Performs an operation, charged to its kind in `ledger`, which is null when nothing is counted.
  // Returns false when its server was lost before it had answered, and the phase goes on.
  bool Perform(Client& client, size_t i, OpKind op, ThreadLedger* ledger) const {
    try {
      if (ledger == nullptr) {
        Execute(client, i);
      } else {
        const IoScope scope(op, *ledger);
        Execute(client, i);
      }
      return true;
    } catch (const LostAnswer& lost) {
      if (!goes_on_) FailUnanswered(lost);
      return false;
    }
  }
  // Checks the answer to an operation, charged to VerifyOp(), and counts the check.
  void Check(Client& client, size_t i, Worker* worker) const;
  // Returns whether an operation that will be checked, and that `op` has counted, is left out of
  // the latencies, because it kept rows for the check and so took longer. Returns false for the
  // first operation of a thread and a kind, which may stay the only one, and when every operation
  // is checked.
  bool IsLengthened(const Client& client, const Worker::Op& op) const {
    return verify_every_ > 1 && op.count.Get() > 1 && client.Kept();
  }
  // Counts an operation that has begun at `begin` and got no answer, and returns the time. Times
  // are in ticks.
  uint64_t NoteUnanswered(uint64_t begin, Worker::Op* op) const {
    const uint64_t end = clock_.Now();
    op->unanswered.Add(1);
    op->longest_unanswered_ns = std::max(op->longest_unanswered_ns, clock_.ToNs(end - begin));
    return end;
  }

 private:
  bool IsRight(Client& client, size_t i) const;
  void Execute(Client& client, size_t i) const {
    client.Execute(i);
    if (added_delay_ns_ != 0) clock_.Spin(added_delay_ns_);
  }
  // Throws an Error (kIo) that says that the phase cannot go on.
  [[noreturn]] void FailUnanswered(const LostAnswer& lost) const;

  const Engine& engine_;
  const uint64_t added_delay_ns_;
  const uint32_t verify_every_;
  const OpKind verify_ = VerifyOp();
  const Clock& clock_;
  const Workload& workload_;
  const bool goes_on_;
};

// Sets result->addresses: thread t of the workers is a client of address `first` + t modulo their
// number, where `first` counts the threads of the tasks before this one. Does nothing without
// addresses.
void AddAddresses(const std::vector<ServerAddress>& addresses,
                  const std::vector<std::unique_ptr<Worker>>& workers, size_t first,
                  PhaseResult* result);

// Adds the counts of a thread that has ended and worked for `seconds`. `result->ops` has the kinds
// of operations of the workload.
void AddWorker(const Worker& worker, double seconds, PhaseResult* result);

// Returns how many operations the first `threads` of the workers have performed so far, those
// without an answer included.
uint64_t PerformedBy(const std::vector<std::unique_ptr<Worker>>& workers, size_t threads);

// Adds the operations that the threads had not begun, to the whole and divided among the kinds
// (PhaseResult::Op::undone). Call it once, after AddWorker has added each thread.
void AddUndone(const std::vector<std::unique_ptr<Worker>>& workers, PhaseResult* result);

// An IntervalSampler tells what the workers did since its last sample. Not thread-safe; the workers
// may work meanwhile. They stay owned by the caller.
class IntervalSampler {
 public:
  // With `keeps_buckets` each interval gets its histogram (Interval::latency_ns).
  IntervalSampler(const std::vector<std::unique_ptr<Worker>>& workers, bool keeps_buckets)
      : workers_(workers), keeps_buckets_(keeps_buckets) {}
  // Returns the operations of the interval that ends `seconds` after the phase's start.
  Interval Sample(double seconds);
  // Returns the latencies of all operations of the interval that was sampled last.
  const HistogramCounts& latency() const { return latency_; }

 private:
  const std::vector<std::unique_ptr<Worker>>& workers_;
  const bool keeps_buckets_;
  HistogramCounts latency_;
  std::vector<HistogramCounts> last_latency_;  // values at the last sample, by kind of operation
  std::vector<uint64_t> last_counts_;
  CheckBlocks last_checks_;
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_MEASURE_WORKER_H_
