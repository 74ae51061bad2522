// One thread's side of an open loop (--rate, or a workload that sets the times of its operations):
// when each operation is due, how late it begins, and which operations were due but had not begun
// when the phase ended.
//
//   OpenLoop loop(clock, start, std::move(arrivals), &worker);
//   begin = loop.Await(set_ns, gate);
//   loop.Begins();
//   ... perform it ...
//   loop.Record(begin, end, &op);
//   loop.AddOwnWork(end, checked);  // such as a check of the answer
//   end = loop.End(gate);           // when the thread's operations have ended
//   loop.NoteUndone(left, end);     // of those it was asked for
//
// Times are in ticks of the clock. Not thread-safe.
#ifndef TESTBED_WORKLOADS_MEASURE_OPEN_LOOP_H_
#define TESTBED_WORKLOADS_MEASURE_OPEN_LOOP_H_

#include <time.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "workloads/measure/arrivals/arrivals.h"
#include "workloads/measure/clock.h"
#include "workloads/measure/gate.h"
#include "workloads/measure/worker.h"

namespace testbed {

// The pieces of time in which a thread made keys and values and checked answers. That is the
// harness's own work: an operation that was due meanwhile did not wait for the engine. Times are in
// any one unit. Not thread-safe.
class OwnWork {
 public:
  // Adds a piece of work. Pieces are added in their order.
  void Add(uint64_t begin, uint64_t end) {
    pieces_.push_back({begin, end, sum_});
    sum_ += end - begin;
  }
  // Returns how much of the time since `from` was own work. `from` never falls from call to call,
  // so pieces that ended before it are forgotten.
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
  // `start` is the time at which the phase began. Without `arrivals` the workload sets the times.
  OpenLoop(const Clock& clock, uint64_t start, std::optional<ArrivalTimes> arrivals, Worker* worker)
      : clock_(clock), start_(start), arrivals_(std::move(arrivals)), worker_(*worker) {}

  // Moves on to the next operation, and returns when it is due. `set_ns` is the time that the
  // workload sets, in nanoseconds since the phase began.
  template <typename SetNs>
  uint64_t Next(const SetNs& set_ns) {
    awaits_ = true;
    due_ = start_ + clock_.FromNs(arrivals_ ? arrivals_->Next() : set_ns());
    return due_;
  }
  // Moves on to the next operation, and waits until it is due or the gate stops the clients.
  // Returns the time. Sleeps until shortly before, then spins: a sleep overruns by some
  // microseconds, and the harness's lateness must not count as the engine's latency.
  template <typename SetNs>
  uint64_t Await(const SetNs& set_ns, Gate& gate) {
    const uint64_t due = Next(set_ns);
    uint64_t now = clock_.Now();
    awaits_since_ = now;
    while (static_cast<int64_t>(now - due) < 0 && !gate.Stopping()) {
      Sleep(clock_.ToNs(due - now), gate);
      now = clock_.Now();
    }
    return now;
  }
  // Notes that the operation that Next or Await moved on to begins now.
  void Begins() { awaits_ = false; }
  // Returns the time at which the thread ended, which performs no more operations. A thread that
  // the gate stopped in Await ended at the time of the stop, or of its last operation if that was
  // later, and not when it noticed the stop: the rate of the phase is its operations divided by its
  // length.
  uint64_t End(Gate& gate) const {
    if (!awaits_ || !gate.Stopping()) return clock_.Now();
    return std::max(awaits_since_, gate.StoppedAt());
  }

  // Records the latency of the operation from its intended start, unless `op` is null, and how late
  // it began. Own work of the thread since that start is left out.
  void Record(uint64_t begin, uint64_t end, Worker::Op* op) {
    const uint64_t due = std::min(due_ + own_.Since(due_), begin);
    if (op != nullptr) op->intended.Record(clock_.ToNs(end - due));
    worker_.backlog_ns = clock_.ToNs(begin - due);
    worker_.lateness.Record(worker_.backlog_ns);
  }
  // Adds a piece of own work, such as the check of an answer.
  void AddOwnWork(uint64_t begin, uint64_t end) { own_.Add(begin, end); }

  // Records the operations that were due and had not begun at `now`, `most` at most, with the time
  // that each had waited, without own work. Of more than kMostNoted operations it looks at one in
  // several, which counts for all of these. Does nothing without arrivals, because the times of a
  // workload may be known only once an operation is prepared.
  void NoteUndone(uint64_t most, uint64_t now) {
    if (!arrivals_ || most == 0) return;
    if (!awaits_) due_ = start_ + clock_.FromNs(arrivals_->Next());
    const double seconds = static_cast<double>(clock_.ToNs(now - start_)) / 1e9;
    const double left = std::min(arrivals_->LeftUntil(seconds), static_cast<double>(most));
    const uint64_t step = 1 + static_cast<uint64_t>(left / kMostNoted);
    while (most > 0 && static_cast<int64_t>(now - due_) > 0) {
      const uint64_t count = std::min(step, most);
      RecordUndone(due_, now, count);
      most -= count;
      arrivals_->Skip(count - 1);
      due_ = start_ + clock_.FromNs(arrivals_->Next());
    }
  }
  // Does the same for a workload that knows the times of all operations to come, of which `client`
  // has those of this thread. Of many operations it looks at one in several, and at ever fewer.
  void NoteUndoneOf(Client* client, uint64_t most, uint64_t now) {
    constexpr uint64_t kEach = 100000;  // operations that are looked at before the step doubles
    uint64_t step = 1;
    for (uint64_t noted = 1; most > 0; ++noted) {
      const uint64_t count = std::min(step, most);
      const uint64_t due = start_ + clock_.FromNs(client->PassOver(count));
      if (static_cast<int64_t>(now - due) <= 0) return;
      RecordUndone(due, now, count);
      most -= count;
      if (noted % kEach == 0) step *= 2;
    }
  }

 private:
  static constexpr double kMostNoted = 1e6;  // operations, looked at in less than a second

  // Sleeps until shortly before `left` nanoseconds have passed. Only a long sleep is on the gate,
  // so that the stop ends it: threads that sleep on the gate share its mutex.
  static void Sleep(uint64_t left, Gate& gate) {
    constexpr uint64_t kSpinNs = 8000, kLongNs = 20'000'000, kMostNs = 1'000'000'000;
    if (left <= kSpinNs) return;
    left = std::min(left - kSpinNs, kMostNs);
    if (left > kLongNs) return gate.AwaitStop(left);
    const timespec pause{0, static_cast<long>(left)};
    ::nanosleep(&pause, nullptr);
  }

  // Records `count` operations that were due at `due` and had not begun at `now`.
  void RecordUndone(uint64_t due, uint64_t now, uint64_t count) {
    const uint64_t waited = clock_.ToNs(now - std::min(due + own_.Since(due), now));
    worker_.undone.Record(waited, count);
    worker_.backlog_ns = std::max(worker_.backlog_ns, waited);
  }

  const Clock& clock_;
  const uint64_t start_;
  std::optional<ArrivalTimes> arrivals_;
  Worker& worker_;
  OwnWork own_;
  uint64_t due_ = 0;
  bool awaits_ = false;        // the operation at due_ has not begun
  uint64_t awaits_since_ = 0;  // time of the last call of Await
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_MEASURE_OPEN_LOOP_H_
