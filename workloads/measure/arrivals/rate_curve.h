// How the rate of an open loop changes while a phase lasts: not at all, as a ramp, in bursts, or as
// a wave. The curve says when an operation is due: when the integral of the rate, which is the
// number of operations due so far, reaches the operation's number.
//
// mixgraph's SineTimes (workloads/mixgraph/models.h) does the same for a rate that is constant for
// some seconds each and has noise. It steps from one operation to the next, where a curve here is
// inverted as a whole.
//
// Rates are in operations per second, times in seconds since the phase began. A rate is 0 or more,
// and not always 0. Immutable and thread-safe.
#ifndef TESTBED_WORKLOADS_MEASURE_ARRIVALS_RATE_CURVE_H_
#define TESTBED_WORKLOADS_MEASURE_ARRIVALS_RATE_CURVE_H_

#include <cstdint>

namespace testbed {

class RateCurve {
 public:
  enum class Shape : uint8_t { kConstant, kRamp, kBurst, kWave };

  static RateCurve Constant(double rate);
  // Goes straight from rate `a` to rate `b` in `length` > 0, and stays there.
  static RateCurve Ramp(double a, double b, double length);
  // Has rate `b` for the first `burst` of each `period`, then rate `a`; 0 < burst < period.
  static RateCurve Burst(double a, double b, double burst, double period);
  // Goes from rate `a` to rate `b` and back in each `period`, as a cosine does.
  static RateCurve Wave(double a, double b, double period);

  // Returns the time at which the integral of the rate reaches n >= 0, in nanoseconds; kNeverNs at
  // most. A wave costs it about ten sines and cosines.
  double NsOf(double n) const;
  // A hundred days, which every clock can convert to its ticks: the latest time at which an
  // operation is due. A rate that falls to 0 for good never reaches some n.
  static constexpr double kNeverNs = 0x1p53;

  // Returns the integral of the rate up to a time.
  double Until(double seconds) const;
  // Returns the mean rate over a whole ramp or over whole periods.
  double Mean() const;
  // Returns the curve with all rates multiplied by `share`.
  RateCurve Share(double share) const;

  Shape shape() const { return shape_; }
  double a() const { return a_; }
  double b() const { return b_; }
  double burst() const { return burst_; }
  double period() const { return period_; }  // the length of a ramp, else the period

 private:
  RateCurve(Shape shape, double a, double b, double burst, double period);
  double InPeriod(double seconds) const;
  double SecondsOf(double n) const;
  double WaveSecondsOf(double n) const;

  Shape shape_;
  double a_, b_, burst_, period_;
  double whole_;  // integral over the ramp or over one period
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_MEASURE_ARRIVALS_RATE_CURVE_H_
