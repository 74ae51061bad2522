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
#include <deque>
#include <optional>
#include <utility>

#include "workloads/measure/arrivals.h"
#include "workloads/measure/clock.h"
#include "workloads/measure/worker.h"

namespace testbed {

// The pieces of time that a thread spent in making keys and values and in checking answers. They are
// the harness's own: an operation that was due meanwhile did not wait for the engine. Any unit of
// time. Not thread-safe.
class OwnWork {
 public:
  // Adds a piece of work. Pieces are added in their order.
  void Add(uint64_t begin, uint64_t end) {
    pieces_.push_back({begin, end, sum_});
    sum_ += end - begin;
  }
  // Returns how much of the time since `from` was spent so. `from` never falls from call to
  // call, so pieces that ended before it are forgotten.
  uint64_t Since(uint64_t from) {
    while (!pieces_.empty() && pieces_.front().end <= from) pieces_.pop_front();
    if (pieces_.empty()) return 0;
    const Piece& first = pieces_.front();
    return sum_ - first.before - (from > first.begin ? from - first.begin : 0);
  }

 private:
  struct Piece {
    uint64_t begin, end;
    uint64_t before;  // time spent in all pieces before it
  };
  std::deque<Piece> pieces_;
  uint64_t sum_ = 0;
};

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
