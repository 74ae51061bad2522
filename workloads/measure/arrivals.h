// The intended start times of the operations of an open loop (--rate).
#ifndef TESTBED_WORKLOADS_MEASURE_ARRIVALS_H_
#define TESTBED_WORKLOADS_MEASURE_ARRIVALS_H_

#include <cmath>
#include <cstdint>

#include "workloads/random.h"

namespace testbed {

enum class Arrivals : uint8_t {
  kEven,         // at equal gaps
  kExponential,  // at random, independent gaps with that mean: a Poisson process
};

// The intended starts of one thread's operations, in order. The same arguments give the same
// starts. Not thread-safe.
class ArrivalTimes {
 public:
  // `rate` is this thread's share, in operations per second.
  ArrivalTimes(Arrivals arrivals, double rate, int thread, int threads, uint64_t seed)
      : gap_ns_(1e9 / rate),
        exponential_(arrivals == Arrivals::kExponential),
        // Operations are drawn from the seed itself, and must not follow the gaps.
        random_(Mix64(seed ^ kArrivals) + static_cast<uint64_t>(thread)),
        // With even gaps the threads' first starts are spread over the first gap.
        next_ns_(exponential_ ? RandomGap() : gap_ns_ * thread / threads),
        first_ns_(next_ns_) {}

  // Returns the next intended start, in nanoseconds since the phase began.
  uint64_t Next() {
    const double at = next_ns_;
    ++count_;
    next_ns_ = exponential_ ? at + RandomGap() : first_ns_ + gap_ns_ * static_cast<double>(count_);
    return static_cast<uint64_t>(at);
  }

 private:
  double RandomGap() { return -gap_ns_ * std::log1p(-random_.Unit()); }

  static constexpr uint64_t kArrivals = 0x6172726976616c73;

  const double gap_ns_;
  const bool exponential_;
  Random random_;
  double next_ns_;
  const double first_ns_;
  uint64_t count_ = 0;
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_MEASURE_ARRIVALS_H_
