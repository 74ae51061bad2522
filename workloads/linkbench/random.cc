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
