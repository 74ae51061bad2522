// The intended start times of the operations of an open loop (--rate).
//
// Starts are drawn at a rate of one a unit, and a unit becomes time by the curve of the rate: the
// start drawn at n is due when the integral of the rate reaches n. From even units that gives
// starts whose number up to each moment is that integral, and from units with exponential gaps a
// Poisson process whose rate varies: the method of inversion (Cinlar, "Introduction to Stochastic
// Processes", 1975, section 4.7). Whether the operations keep up has no influence on either.
#ifndef TESTBED_WORKLOADS_MEASURE_ARRIVALS_ARRIVALS_H_
#define TESTBED_WORKLOADS_MEASURE_ARRIVALS_ARRIVALS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "workloads/measure/arrivals/rate_curve.h"
#include "workloads/random.h"

namespace testbed {

enum class Arrivals : uint8_t {
  kEven,         // at equal gaps
  kExponential,  // at independent random gaps of the same mean: a Poisson process
};
inline const char* ArrivalsName(Arrivals arrivals) {
  return arrivals == Arrivals::kEven ? "even" : "exponential";
}

// The intended starts of one thread's operations, in order. The same arguments give the same
// starts. Not thread-safe.
class ArrivalTimes {
 public:
  // `curve` is the rate of this thread alone. The thread is number `thread` of `threads`, which
  // include those of other processes that share the phase.
  ArrivalTimes(Arrivals arrivals, const RateCurve& curve, int thread, int threads, uint64_t seed)
      : curve_(curve),
        exponential_(arrivals == Arrivals::kExponential),
        // The gaps get a seed of their own, because `seed` itself draws the operations, and the two
        // must be independent.
        random_(Mix64(seed ^ kArrivals) + static_cast<uint64_t>(thread)),
        // With even gaps the threads' first starts are spread over the first gap.
        first_(exponential_ ? RandomGap() : static_cast<double>(thread) / threads),
        next_(first_) {}

  // Returns the next intended start, in nanoseconds since the phase began. It is never less than
  // the one before it.
  uint64_t Next() {
    at_ns_ = std::max(at_ns_, curve_.NsOf(next_));
    ++count_;
    next_ = exponential_ ? next_ + RandomGap() : first_ + static_cast<double>(count_);
    return static_cast<uint64_t>(at_ns_);
  }
  // Returns the number of starts before `seconds` that Next has not returned yet. With random gaps
  // that is the expected number.
  double LeftUntil(double seconds) const { return std::max(0.0, curve_.Until(seconds) - next_); }
  // Passes over `n` starts. Random gaps between them have their mean length.
  void Skip(uint64_t n) {
    count_ += n;
    next_ = exponential_ ? next_ + static_cast<double>(n) : first_ + static_cast<double>(count_);
  }

 private:
  double RandomGap() { return -std::log1p(-random_.Unit()); }

  static constexpr uint64_t kArrivals = 0x6172726976616c73;

  const RateCurve curve_;
  const bool exponential_;
  Random random_;
  const double first_;
  double next_;  // the next start, in units (operations of this thread)
  double at_ns_ = 0;
  uint64_t count_ = 0;
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_MEASURE_ARRIVALS_ARRIVALS_H_
