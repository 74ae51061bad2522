#include "workloads/measure/arrivals/rate_curve.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace testbed {

RateCurve RateCurve::Constant(double rate) { return {Shape::kConstant, rate, rate, 0, 1}; }
RateCurve RateCurve::Ramp(double a, double b, double length) {
  return {Shape::kRamp, a, b, 0, length};
}
RateCurve RateCurve::Burst(double a, double b, double burst, double period) {
  return {Shape::kBurst, a, b, burst, period};
}
RateCurve RateCurve::Wave(double a, double b, double period) {
  return {Shape::kWave, a, b, 0, period};
}

RateCurve::RateCurve(Shape shape, double a, double b, double burst, double period)
    : shape_(shape), a_(a), b_(b), burst_(burst), period_(period), whole_(InPeriod(period)) {}

RateCurve RateCurve::Share(double share) const {
  return {shape_, a_ * share, b_ * share, burst_, period_};
}

double RateCurve::Mean() const { return whole_ / period_; }

// Returns the integral of the rate from the begin of a period, or of the ramp, up to a time in it.
double RateCurve::InPeriod(double seconds) const {
  switch (shape_) {
    case Shape::kConstant:
      return a_ * seconds;
    case Shape::kRamp:
      return seconds * (a_ + (b_ - a_) * seconds / period_ / 2);
    case Shape::kBurst:
      return b_ * std::min(seconds, burst_) + a_ * std::max(0.0, seconds - burst_);
    case Shape::kWave:
      break;
  }
  const double turn = 2 * std::numbers::pi / period_;
  return (a_ + b_) / 2 * seconds - (b_ - a_) / 2 * std::sin(turn * seconds) / turn;
}

double RateCurve::Until(double seconds) const {
  if (shape_ == Shape::kRamp && seconds > period_) return whole_ + b_ * (seconds - period_);
  if (shape_ == Shape::kConstant || shape_ == Shape::kRamp) return InPeriod(seconds);
  const double periods = std::floor(seconds / period_);
  return periods * whole_ + InPeriod(seconds - periods * period_);
}

double RateCurve::NsOf(double n) const {
  // When n and 1e9 / a_ are whole, their product is exact, and even gaps are all equal.
  if (shape_ == Shape::kConstant) return std::min(n * (1e9 / a_), kNeverNs);
  return std::min(SecondsOf(n) * 1e9, kNeverNs);
}

double RateCurve::SecondsOf(double n) const {
  if (shape_ == Shape::kRamp) {
    if (n >= whole_) {
      const double more = n - whole_;
      return b_ > 0 ? period_ + more / b_ : std::numeric_limits<double>::infinity();
    }
    // Solves the quadratic equation by the form of its root that avoids cancellation.
    const double square = a_ * a_ + 2 * (b_ - a_) * n / period_;
    return n > 0 ? 2 * n / (a_ + std::sqrt(std::max(0.0, square))) : 0;
  }
  const double rest = std::fmod(n, whole_), start = std::round((n - rest) / whole_) * period_;
  if (shape_ == Shape::kWave) return start + WaveSecondsOf(rest);
  const double in_burst = b_ * burst_;
  if (rest < in_burst || a_ == 0) return start + rest / b_;
  return start + burst_ + (rest - in_burst) / a_;
}

// Returns the time in a period at which the integral of a wave reaches n. In angles that is
// Kepler's equation, x - e sin x = m. Newton's method solves it, between bounds that it may not
// leave, because the derivative is 0 where the rate is.
double RateCurve::WaveSecondsOf(double n) const {
  constexpr int kMostSteps = 60;
  constexpr double kExact = 1e-12;
  const double turn = 2 * std::numbers::pi / period_;
  const double e = (b_ - a_) / (a_ + b_), m = n * turn / ((a_ + b_) / 2);
  double low = 0, high = 2 * std::numbers::pi, x = m;
  for (int i = 0; i < kMostSteps; ++i) {
    const double over = x - e * std::sin(x) - m;
    (over > 0 ? high : low) = x;
    double next = x - over / (1 - e * std::cos(x));
    if (!(next >= low && next <= high)) next = (low + high) / 2;
    const bool done = std::abs(next - x) < kExact;
    x = next;
    if (done) break;
  }
  return x / turn;
}

}  // namespace testbed
