#include "workloads/random.h"

#include <algorithm>
#include <cmath>

namespace testbed {
namespace {

// expm1(x) / x and log1p(x) / x. The first terms of their series replace the quotients near x = 0,
// where those would be 0 / 0 (theta near 1).
double Expm1OverX(double x) { return std::abs(x) > 1e-8 ? std::expm1(x) / x : 1 + x / 2; }
double Log1pOverX(double x) { return std::abs(x) > 1e-8 ? std::log1p(x) / x : 1 - x / 2; }

}  // namespace

Zipfian::Zipfian(uint64_t n, double theta) : n_(std::max<uint64_t>(n, 1)), theta_(theta) {
  h_x1_ = H(1.5) - 1;
  h_n_ = H(static_cast<double>(n_) + 0.5);
  s_ = 2 - HInverse(H(2.5) - std::pow(2.0, -theta_));
}

// Returns the integral of t^-theta from 1 to x.
double Zipfian::H(double x) const {
  const double log_x = std::log(x);
  return Expm1OverX((1 - theta_) * log_x) * log_x;
}

double Zipfian::HInverse(double x) const {
  const double t = std::max(-1.0, x * (1 - theta_));
  return std::exp(Log1pOverX(t) * x);
}

uint64_t Zipfian::operator()(Random& random) const {
  while (true) {
    const double u = h_n_ + random.Unit() * (h_x1_ - h_n_);
    const double x = HInverse(u);
    const double k = std::clamp(std::floor(x + 0.5), 1.0, static_cast<double>(n_));
    if (k - x <= s_ || u >= H(k + 0.5) - std::pow(k, -theta_)) {
      return static_cast<uint64_t>(k) - 1;
    }
  }
}

}  // namespace testbed
