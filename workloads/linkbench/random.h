// The random draws of LinkBench, as its sources make them, so that the same ids are hot here as
// there (facebookarchive/linkbench, package com.facebook.LinkBench; the paper is Armstrong,
// Ponnekanti, Borthakur, Callaghan, "LinkBench: a database benchmark based on the Facebook social
// graph", SIGMOD 2013).
//
//   GrayZipf zipf(n, 0.8);                          // ranks, 0 is the hottest
//   InvertibleShuffler shuffler(kDegreeSeed, n);    // ranks <-> ids
//   uint64_t id = shuffler.Permute(zipf(random.Unit()));
//   uint64_t rank = shuffler.Invert(id);
//
// All of them are immutable after construction and may be shared by threads.
#ifndef TESTBED_WORKLOADS_LINKBENCH_RANDOM_H_
#define TESTBED_WORKLOADS_LINKBENCH_RANDOM_H_

#include <cstdint>
#include <vector>

#include "workloads/random.h"

namespace testbed::linkbench {

// java.util.Random: a linear congruential generator of 48 bits, as its documentation specifies it.
class JavaRandom {
 public:
  explicit JavaRandom(uint64_t seed) : state_((seed ^ kMultiplier) & kMask) {}
  int32_t NextInt() { return Bits(32); }
  // Uniform in [0, bound), bound > 0.
  int32_t NextInt(int32_t bound);

 private:
  static constexpr uint64_t kMultiplier = 0x5deece66d, kMask = (1ull << 48) - 1;
  int32_t Bits(int bits) {
    state_ = (state_ * kMultiplier + 0xb) & kMask;
    return static_cast<int32_t>(static_cast<uint32_t>(state_ >> (48 - bits)));
  }
  uint64_t state_;
};

// Seeds of the shufflers. Constants of LinkBench: a database and its runs must agree on them.
inline constexpr uint64_t kDegreeSeed = 20343988438726021;        // and link access that follows it
inline constexpr uint64_t kUncorrelatedSeed = 53238253823453;     // link access that does not
inline constexpr uint64_t kNodeAccessSeed = 4766565305853767165;  // node reads and updates

// A bijection of [0, n) with a cheap inverse: numbers that are equal modulo the number of groups
// form a ring, and each ring is turned by a distance of its own.
class InvertibleShuffler {
 public:
  static constexpr uint64_t kGroups = 1024;
  InvertibleShuffler(uint64_t seed, uint64_t n);
  uint64_t Permute(uint64_t i) const { return Turn(i, false); }
  uint64_t Invert(uint64_t i) const { return Turn(i, true); }

 private:
  uint64_t Turn(uint64_t i, bool back) const;
  uint64_t n_, groups_;
  std::vector<uint64_t> distance_;  // of each ring
};

// The sum of i^-shape for i = 1 .. n: term by term at first, then by the Euler-Maclaurin formula.
double GeneralisedHarmonic(uint64_t n, double shape);

// Ranks 0 .. n-1 with probability about proportional to 1 / (rank + 1)^shape, 0 < shape < 1: the
// approximation of Gray et al., "Quickly generating billion-record synthetic databases", SIGMOD
// 1994, which LinkBench uses. (random.h has an exact sampler; this one has LinkBench's errors.)
class GrayZipf {
 public:
  GrayZipf(uint64_t n, double shape);
  // `p` uniform in [0, 1).
  uint64_t operator()(double p) const;

 private:
  double n_, zeta_n_, second_, alpha_, eta_;
};

// Sizes of rows: a log-normal distribution with sigma 1 around this median, at most `max`.
class LogNormalSize {
 public:
  LogNormalSize(uint64_t median, uint64_t max);
  uint64_t operator()(Random& random) const;
  double Mean() const;  // of the distribution before it is clamped

 private:
  double mu_, max_;
};

}  // namespace testbed::linkbench

#endif  // TESTBED_WORKLOADS_LINKBENCH_RANDOM_H_
