// The measurements of a phase of a workload: counts, latency, and a series of seconds.
#ifndef TESTBED_WORKLOADS_MEASURE_PHASE_RESULT_H_
#define TESTBED_WORKLOADS_MEASURE_PHASE_RESULT_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "device/machine/host_activity.h"
#include "workloads/measure/histogram.h"
#include "workloads/measure/phase_account.h"
#include "workloads/measure/slices.h"
#include "workloads/workload.h"

namespace testbed {

struct PhaseResult {
  struct Op {
    OpKind op;
    uint64_t count = 0;
    // The latencies from the real and from the intended start, except those of operations for which
    // Performer::IsLengthened is true.
    HistogramCounts latency, intended;
    // This kind's part of PhaseResult::undone; the parts of all kinds add up to it. The kind of an
    // operation that has not begun was never drawn. So a thread's undone operations are divided
    // among the kinds in the proportions of the operations that the thread performed or, when it
    // performed none, that all threads performed.
    HistogramCounts undone = {};
    // Operations that ended without an answer, because their server was lost (LostAnswer), and the
    // longest time that one of them took. Of the other figures of the phase only `lateness`,
    // backlog_seconds and due_operations() include them: they were due, and began.
    uint64_t unanswered = 0, longest_unanswered_ns = 0;
    // Returns the share of the operations that are in `latency`.
    double told() const {
      if (latency.count() == 0 || count == 0) return 1;
      return std::min(1.0, static_cast<double>(latency.count()) / static_cast<double>(count));
    }
    // Returns the latency from the intended start of the operations that were due. An operation
    // that had not begun counts with the time that it had waited, which is a lower bound of its
    // latency. Where some operations are in no latency, the same share of these is left out.
    HistogramCounts FromIntended() const {
      HistogramCounts all = intended, rest;
      HistogramDivider(2).Divide(undone, {told(), 1 - told()}, {&all, &rest});
      return all;
    }
  };
  // What the clients did that are connected to one of several addresses of the engine's server.
  // Where an address was lost in the phase, its clients went on at others.
  struct Address {
    std::string name;
    int threads = 0;
    uint64_t count = 0, unanswered = 0;
    HistogramCounts latency = {};  // latency of all kinds of operations
  };
  // The time from the start of the phase to the end of its last thread (Worker::end); in slices,
  // the sum of its slices.
  double seconds = 0;
  int64_t began_ns = 0;  // when the phase started, by CLOCK_MONOTONIC
  std::vector<Op> ops;
  std::vector<Address> addresses;  // none where the clients are not spread over several
  Client::Totals totals;
  uint64_t verified = 0, wrong = 0;
  CheckBlocks checks;         // blocks that the `verified` checks asked for
  std::string first_wrong;    // a sentence about the first wrong answer
  bool partial = false;       // PhaseOptions::stop ended the phase early
  std::string ended_because;  // result of Workload::EndedBecause
  HistogramCounts lateness;   // with a rate or set times: how late all operations began
  // Whether `undone` is known; it is not when the workload sets the times of its operations and
  // knows them only once they are prepared, as a replay does.
  bool knows_undone = true;
  HistogramCounts undone;  // with a rate: the waits of operations that had not begun
  // With a rate, the largest delay of any thread: that of its last operation, or of its first
  // operation that had not begun.
  double backlog_seconds = 0;
  std::vector<Interval> series;
  CpuUse cpu_begin, cpu_end;  // at the start of the phase, and after its last thread ended
  std::vector<uint64_t> thread_operations;  // operations of each thread, in thread order
  uint64_t extra_operations = 0;            // operations of threads without a share of the rate
  std::vector<double> thread_seconds;       // time that each thread worked, in thread order
  // The part of thread_seconds, of all threads together, in which their clients prepared operations
  // (Client::Generate). It is the harness's time, which no latency includes but those of reads that
  // a thread keeps in flight meanwhile.
  double preparing_seconds = 0;
  // Returns how many operations of threads with a rate were due.
  uint64_t due_operations() const { return undone.count() + lateness.count(); }
  uint64_t operations() const {
    uint64_t n = 0;
    for (const Op& op : ops) n += op.count;
    return n;
  }
  uint64_t unanswered() const {
    uint64_t n = 0;
    for (const Op& op : ops) n += op.unanswered;
    return n;
  }
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_MEASURE_PHASE_RESULT_H_
