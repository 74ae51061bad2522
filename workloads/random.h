// Seeded random numbers for the workloads. A seed gives the same operations on every machine, so
// this code does not use the standard library's distributions, whose results are unspecified.
#ifndef TESTBED_WORKLOADS_RANDOM_H_
#define TESTBED_WORKLOADS_RANDOM_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace testbed {

// Scatters 64-bit words by a bijection (splitmix64's finaliser: Steele, Lea, Flood, "Fast
// splittable pseudorandom number generators", OOPSLA 2014).
inline uint64_t Mix64(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// Inverts Mix64: UnMix64(Mix64(x)) == x. The factors are the inverses of Mix64's factors modulo
// 2^64. Shifts of k, 2k, ... bits undo a shift of k bits.
inline uint64_t UnMix64(uint64_t x) {
  x = (x ^ (x >> 31) ^ (x >> 62)) * 0x319642b2d24d8ec3ull;
  x = (x ^ (x >> 27) ^ (x >> 54)) * 0x96de1b173f119089ull;
  return (x ^ (x >> 30) ^ (x >> 60)) - 0x9e3779b97f4a7c15ull;
}

// Maps a uniform word to a uniform number in [0, n), n > 0, with a bias below n / 2^64.
inline uint64_t Reduce(uint64_t word, uint64_t n) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(word) * n) >> 64);
}

// The generator xoshiro256++ (Blackman, Vigna, "Scrambled linear pseudorandom number generators",
// 2021). Not thread-safe.
class Random {
 public:
  explicit Random(uint64_t seed) {
    for (uint64_t& word : s_) word = seed = Mix64(seed);
  }
  uint64_t Next() {
    const uint64_t result = std::rotl(s_[0] + s_[3], 23) + s_[0];
    const uint64_t t = s_[1] << 17;
    s_[2] ^= s_[0];
    s_[3] ^= s_[1];
    s_[1] ^= s_[2];
    s_[0] ^= s_[3];
    s_[2] ^= t;
    s_[3] = std::rotl(s_[3], 45);
    return result;
  }
  // Returns a uniform number in [0, n), n > 0.
  uint64_t Below(uint64_t n) { return Reduce(Next(), n); }
  // Returns a uniform number in [0, 1).
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

 private:
  uint64_t s_[4];
};

// A bijection of [0, n) that depends on a seed: a Feistel network on the pairs (left < a, right <
// b), where a and b are near the root of n. It is applied until the result is below n, which the
// first nearly always is (Black, Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002,
// sec. 3 and 5). Immutable, and so thread-safe.
class Permutation {
 public:
  Permutation(uint64_t n, uint64_t seed) : n_(n), seed_(seed) {
    a_ = std::max<uint64_t>(1, static_cast<uint64_t>(std::sqrt(static_cast<double>(n))));
    b_ = std::max<uint64_t>(1, n / a_ + (n % a_ != 0 ? 1 : 0));
  }
  uint64_t operator()(uint64_t i) const {
    do {
      i = Scatter(i);
    } while (i >= n_);
    return i;
  }
  // Returns the i for which operator() returns `to`.
  uint64_t Inverse(uint64_t to) const {
    do {
      to = Gather(to);
    } while (to >= n_);
    return to;
  }
  uint64_t size() const { return n_; }

 private:
  uint64_t Scatter(uint64_t i) const {
    uint64_t left = i / b_, right = i % b_;
    for (uint64_t round = 0; round < 4; round += 2) {
      left = Turn(left, right, round, a_);
      right = Turn(right, left, round + 1, b_);
    }
    return left * b_ + right;
  }
  uint64_t Gather(uint64_t i) const {
    uint64_t left = i / b_, right = i % b_;
    for (uint64_t round = 4; round > 0; round -= 2) {
      right = TurnBack(right, left, round - 1, b_);
      left = TurnBack(left, right, round - 2, a_);
    }
    return left * b_ + right;
  }
  // Turn rotates `what` within [0, n) by an angle that depends on `by`; TurnBack undoes it.
  uint64_t Turn(uint64_t what, uint64_t by, uint64_t round, uint64_t n) const {
    const uint64_t turned = what + Angle(by, round, n);
    return turned < n ? turned : turned - n;
  }
  uint64_t TurnBack(uint64_t what, uint64_t by, uint64_t round, uint64_t n) const {
    const uint64_t angle = Angle(by, round, n);
    return what >= angle ? what - angle : what + n - angle;
  }
  uint64_t Angle(uint64_t by, uint64_t round, uint64_t n) const {
    return Reduce(Mix64(by + seed_ + (round << 56)), n);
  }
  uint64_t n_, seed_;
  uint64_t a_, b_;
};

// Draws ranks 0 .. n-1 with a probability proportional to 1 / (rank + 1)^theta, exactly and in
// constant time, by rejection-inversion (Hörmann, Derflinger, "Rejection-inversion to generate
// variates from monotone discrete distributions", TOMACS 1996). theta is 0 or more; 1 and above are
// fine. Immutable, and so thread-safe.
class Zipfian {
 public:
  Zipfian(uint64_t n, double theta);
  uint64_t operator()(Random& random) const;
  uint64_t size() const { return n_; }

 private:
  double H(double x) const;
  double HInverse(double x) const;
  uint64_t n_;
  double theta_, h_x1_, h_n_, s_;
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_RANDOM_H_
