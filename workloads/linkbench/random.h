// LinkBench's random draws, made as its sources make them, so that LinkBench and testbed have the
// same hot ids (facebookarchive/linkbench, package com.facebook.LinkBench; the paper is Armstrong,
// Ponnekanti, Borthakur, Callaghan, "LinkBench: a database benchmark based on the Facebook social
// graph", SIGMOD 2013).
//
//   GrayZipf zipf(n, 0.8);                          // ranks, 0 is the hottest
//   InvertibleShuffler shuffler(kDegreeSeed, n);    // ranks <-> ids
//   uint64_t id = shuffler.Permute(zipf(random.Unit()));
//   uint64_t rank = shuffler.Invert(id);
//
// JavaRandom is not thread-safe; the other classes are immutable after construction and
// thread-safe.
#ifndef TESTBED_WORKLOADS_LINKBENCH_RANDOM_H_
#define TESTBED_WORKLOADS_LINKBENCH_RANDOM_H_

#include <cstdint>
#include <vector>

#include "workloads/gray_zipf.h"
#include "workloads/random.h"

namespace testbed::linkbench {

// java.util.Random: a linear congruential generator of 48 bits, as specified in Java's
// documentation.
class JavaRandom {
 public:
  explicit JavaRandom(uint64_t seed) : state_((seed ^ kMultiplier) & kMask) {}
  // Returns 32 random bits.
  int32_t NextInt() { return Bits(32); }
  // Returns a uniform number in [0, bound); requires bound > 0.
  int32_t NextInt(int32_t bound);

 private:
  static constexpr uint64_t kMultiplier = 0x5deece66d, kMask = (1ull << 48) - 1;
  int32_t Bits(int bits) {
    state_ = (state_ * kMultiplier + 0xb) & kMask;
    return static_cast<int32_t>(static_cast<uint32_t>(state_ >> (48 - bits)));
  }
  uint64_t state_;
};

// Seeds of the shufflers. They are LinkBench's constants: a database and its runs must agree on
// them.
inline constexpr uint64_t kDegreeSeed = 20343988438726021;        // degrees, and correlated access
                                                                  // to links
inline constexpr uint64_t kUncorrelatedSeed = 53238253823453;     // uncorrelated access to links
inline constexpr uint64_t kNodeAccessSeed = 4766565305853767165;  // reads and updates of nodes

// A bijection of [0, n) with a cheap inverse. Numbers that are equal modulo the number of groups
// form a ring, and each ring is rotated by its own distance.
class InvertibleShuffler {
 public:
  static constexpr uint64_t kGroups = 1024;
  InvertibleShuffler(uint64_t seed, uint64_t n);
  uint64_t Permute(uint64_t i) const { return Turn(i, false); }
  uint64_t Invert(uint64_t i) const { return Turn(i, true); }

 private:
  uint64_t Turn(uint64_t i, bool back) const;
  uint64_t n_, groups_;
  std::vector<uint64_t> distance_;  // rotation of each ring
};

// Draws sizes of rows: log-normal with sigma 1 and this median, at most `max`.
class LogNormalSize {
 public:
  LogNormalSize(uint64_t median, uint64_t max);
  // Returns a size in bytes.
  uint64_t operator()(Random& random) const;
  double Mean() const;  // mean of the distribution without the maximum

 private:
  double mu_, max_;
};

}  // namespace testbed::linkbench

#endif  // TESTBED_WORKLOADS_LINKBENCH_RANDOM_H_
