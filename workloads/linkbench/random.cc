#include "workloads/linkbench/random.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace testbed::linkbench {

int32_t JavaRandom::NextInt(int32_t bound) {
  if ((bound & -bound) == bound) {
    return static_cast<int32_t>((static_cast<int64_t>(bound) * Bits(31)) >> 31);
  }
  while (true) {
    const int32_t bits = Bits(31), value = bits % bound;
    // Rejects values from the last, incomplete multiple of `bound` below 2^31.
    if (static_cast<int64_t>(bits) - value + (bound - 1) <= INT32_MAX) return value;
  }
}

InvertibleShuffler::InvertibleShuffler(uint64_t seed, uint64_t n)
    : n_(n), groups_(std::min(kGroups, n)) {
  JavaRandom random(seed);
  const auto ring = static_cast<int32_t>(std::min<uint64_t>(n / groups_, INT32_MAX));
  for (uint64_t k = 0; k < groups_; ++k) {
    distance_.push_back(static_cast<uint64_t>(random.NextInt(ring)));
  }
}

uint64_t InvertibleShuffler::Turn(uint64_t i, bool back) const {
  const uint64_t group = i % groups_;
  const uint64_t ring = n_ / groups_ + (group < n_ % groups_ ? 1 : 0);
  const uint64_t distance = back ? ring - distance_[group] : distance_[group];
  return (i / groups_ + distance) % ring * groups_ + group;
}

double GeneralisedHarmonic(uint64_t n, double shape) {
  constexpr uint64_t kDirect = 1000;
  double sum = 0;
  const uint64_t direct = std::min(n, kDirect);
  for (uint64_t i = 1; i <= direct; ++i) sum += std::pow(static_cast<double>(i), -shape);
  if (n <= direct) return sum;
  const auto a = static_cast<double>(direct), b = static_cast<double>(n);
  const double integral = shape == 1
                              ? std::log(b / a)
                              : (std::pow(b, 1 - shape) - std::pow(a, 1 - shape)) / (1 - shape);
  const double ends = (std::pow(b, -shape) - std::pow(a, -shape)) / 2;
  const double slopes = -shape * (std::pow(b, -shape - 1) - std::pow(a, -shape - 1)) / 12;
  return sum + integral + ends + slopes;
}

GrayZipf::GrayZipf(uint64_t n, double shape)
    : n_(static_cast<double>(n)),
      zeta_n_(GeneralisedHarmonic(n, shape)),
      second_(1 + std::pow(0.5, shape)),
      alpha_(1 / (1 - shape)),
      eta_((1 - std::pow(2 / n_, 1 - shape)) / (1 - second_ / zeta_n_)) {}

uint64_t GrayZipf::operator()(double p) const {
  const double at = p * zeta_n_;
  if (at < 1 || n_ < 2) return 0;
  if (at < second_ || n_ < 3) return 1;
  const double rank = n_ * std::pow(eta_ * p - eta_ + 1, alpha_);
  return static_cast<uint64_t>(std::clamp(rank, 0.0, n_ - 1));
}

LogNormalSize::LogNormalSize(uint64_t median, uint64_t max)
    : mu_(std::log(static_cast<double>(median))), max_(static_cast<double>(max)) {}

uint64_t LogNormalSize::operator()(Random& random) const {
  // Box-Muller: makes a normal value of two uniform ones, the first of which must not be 0.
  const double radius = std::sqrt(-2 * std::log(1 - random.Unit()));
  const double normal = radius * std::cos(2 * std::numbers::pi * random.Unit());
  return static_cast<uint64_t>(std::lround(std::clamp(std::exp(normal + mu_), 0.0, max_)));
}

double LogNormalSize::Mean() const { return std::exp(mu_ + 0.5); }

}  // namespace testbed::linkbench
