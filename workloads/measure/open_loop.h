// One thread's side of an open loop (--rate, or a workload with times of its own): when each of its
// operations is due, how late it begins, and what was due and had not begun when the phase ended.
//
//   OpenLoop loop(clock, start, std::move(arrivals), &worker);
//   Await(loop.Next(set_ns));
//   loop.Begins();
//   ... perform it ...
//   loop.Record(begin, end, &op);
//   loop.AddOwnWork(end, checked);  // such as a check of the answer
//   loop.NoteUndone();              // when the phase has ended
//
// Times are in ticks of the clock. Not thread-safe.
#ifndef TESTBED_WORKLOADS_MEASURE_OPEN_LOOP_H_
#define TESTBED_WORKLOADS_MEASURE_OPEN_LOOP_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "workloads/measure/arrivals.h"
#include "workloads/measure/clock.h"
#include "workloads/measure/own_work.h"
#include "workloads/measure/worker.h"

namespace testbed {

class OpenLoop {
 public:
  // `start` is when the phase began. Without `arrivals` the workload sets the times.
  OpenLoop(const Clock& clock, uint64_t start, std::optional<ArrivalTimes> arrivals, Worker* worker)
      : clock_(clock), start_(start), arrivals_(std::move(arrivals)), worker_(*worker) {}

  // Takes the next operation, and returns when it is due. `set_ns` is the time that the workload
  // sets, in nanoseconds since the phase began.
  template <typename SetNs>
  uint64_t Next(const SetNs& set_ns) {
    awaits_ = true;
    due_ = start_ + clock_.FromNs(arrivals_ ? arrivals_->Next() : set_ns());
    return due_;
  }
  void Begins() { awaits_ = false; }

  // Records the latency of the operation from its intended start. The time that the thread has spent
  // in its own work since then is not the engine's.
  void Record(uint64_t begin, uint64_t end, Worker::Op* op) {
    const uint64_t due = std::min(due_ + own_.Since(due_), begin);
    op->intended.Record(clock_.ToNs(end - due));
    worker_.backlog_ns = clock_.ToNs(begin - due);
    worker_.lateness.Record(worker_.backlog_ns);
  }
  void AddOwnWork(uint64_t begin, uint64_t end) { own_.Add(begin, end); }

  // Notes the operations that were due and had not begun. Each has waited so long already, the
  // thread's own work apart. Only with arrivals: of a workload's own times nobody knows the next.
  void NoteUndone() {
    if (!arrivals_) return;
    const uint64_t now = clock_.Now();
    if (!awaits_) due_ = start_ + clock_.FromNs(arrivals_->Next());
    for (; static_cast<int64_t>(now - due_) > 0; due_ = start_ + clock_.FromNs(arrivals_->Next())) {
      const uint64_t waited = clock_.ToNs(now - std::min(due_ + own_.Since(due_), now));
      worker_.undone.Record(waited);
      worker_.backlog_ns = std::max(worker_.backlog_ns, waited);
    }
  }

 private:
  const Clock& clock_;
  const uint64_t start_;
  std::optional<ArrivalTimes> arrivals_;
  Worker& worker_;
  OwnWork own_;
  uint64_t due_ = 0;
  bool awaits_ = false;  // the operation at due_ has not begun
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_MEASURE_OPEN_LOOP_H_
