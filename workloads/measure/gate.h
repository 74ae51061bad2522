// A Gate stops and resumes the clients of a phase: the phase's main thread opens it for a slice of
// time, and its clients rest between the slices. The main thread can also stop the clients for
// good.
//
//   Gate gate(threads);                     // open; Gate gate(threads, /*closed=*/true) is closed
//   // The main thread:
//   gate.Open();
//   ... the clients work ...
//   const double seconds = gate.Close();
//   gate.Stop();
//   // A client's thread:
//   gate.Rest(t);
//   for (;;) {
//     if (gate.Halted()) {
//       if (gate.Stopping()) break;
//       gate.Rest(t);
//     }
//     ... one operation ...
//   }
//   gate.Leave(t);
//
// Halted() is one relaxed load of a word that changes only at the borders of slices, so asking
// before every operation costs the timed part next to nothing. The gate measures for each client
// the time between its resuming and its resting, so that the rate of a slice does not depend on how
// quickly the clients notice its border. Thread-safe; `t` is the calling client's number.
#ifndef TESTBED_WORKLOADS_MEASURE_GATE_H_
#define TESTBED_WORKLOADS_MEASURE_GATE_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "device/os/mutex.h"

namespace testbed {

class Gate {
 public:
  explicit Gate(int clients, bool closed = false);
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Returns whether the client must rest or stop before its next operation.
  bool Halted() const { return word_.load(std::memory_order_relaxed) != kOpen; }
  bool Stopping() const { return word_.load(std::memory_order_relaxed) == kStopped; }
  // Ends the phase for all clients, even those at rest or in AwaitStop. Any thread may call it.
  void Stop();
  // Returns the time of the first Stop, in ticks. Requires Stopping().
  uint64_t StoppedAt();
  // Waits for `ns` nanoseconds, or until Stop. May return earlier.
  void AwaitStop(uint64_t ns);

  // Blocks until the gate is open or the phase is stopped. A client calls it before its first
  // operation and whenever it is halted, and calls Leave after its last operation.
  void Rest(int t);
  void Leave(int t);

  // Only the main thread calls Open and Close. Open lets the clients work. Close makes them rest,
  // waits until each one rests or has left, and returns the mean time, in seconds, that the clients
  // worked since Open. Clients that had left before Open do not count.
  void Open();
  double Close();
  // Returns how long client t has worked, in nanoseconds. Must not be called while the client
  // works, so it takes no lock, which the thread-safety analysis cannot know.
  uint64_t WorkedNs(int t) const NO_THREAD_SAFETY_ANALYSIS {
    return clients_[static_cast<size_t>(t)].worked_ns;
  }

 private:
  enum Word : uint8_t { kOpen, kClosed, kStopped };
  struct Client {
    bool working = false, left = false;
    uint64_t resumed = 0;  // ticks
    uint64_t worked_ns = 0, at_open_ns = 0;
  };
  void Pause(Client& client) REQUIRES(mutex_);

  std::atomic<Word> word_;
  Mutex mutex_;
  CondVar changed_;
  std::vector<Client> clients_ GUARDED_BY(mutex_);
  uint64_t stopped_at_ GUARDED_BY(mutex_) = 0;  // ticks
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_MEASURE_GATE_H_
