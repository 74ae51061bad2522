// Seeded randomness for the workloads. The same seed gives the same operations on every machine, so
// nothing here uses the standard library's distributions, whose algorithms are unspecified.
#ifndef TESTBED_WORKLOADS_RANDOM_H_
#define TESTBED_WORKLOADS_RANDOM_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace testbed {

// A bijection of 64-bit words that scatters them: the finaliser of splitmix64 (Steele, Lea, Flood,
// "Fast splittable pseudorandom number generators", OOPSLA 2014).
inline uint64_t Mix64(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// The inverse of Mix64: UnMix64(Mix64(x)) == x. The factors are the inverses of Mix64's modulo
// 2^64; a shift by k bits is undone by shifts of k, 2k, ... bits.
inline uint64_t UnMix64(uint64_t x) {
  x = (x ^ (x >> 31) ^ (x >> 62)) * 0x319642b2d24d8ec3ull;
  x = (x ^ (x >> 27) ^ (x >> 54)) * 0x96de1b173f119089ull;
  return (x ^ (x >> 30) ^ (x >> 60)) - 0x9e3779b97f4a7c15ull;
}

// Maps a uniform word to a uniform number in [0, n), n > 0, by a multiplication whose bias is below
// n / 2^64.
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
  // Returns 64 uniform random bits.
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
  // Returns a uniform number in [0, n); requires n > 0.
  uint64_t Below(uint64_t n) { return Reduce(Next(), n); }
  // Returns a uniform number in [0, 1).
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

 private:
  uint64_t s_[4];
};

// A bijection of [0, n) that a seed selects. It is a Feistel network on the pairs (left < a, right
// < b), where a and b are near the square root of n. A result at or above n goes through the
// network again until it falls below n, which rarely takes a second pass (Black, Rogaway, "Ciphers
// with arbitrary finite domains", CT-RSA 2002, sec. 3 and 5). The seed is added to a half of the
// pair, so seeds that differ by little select networks that are shifted copies of each other: give
// it the hash of a seed that others follow. Immutable and thread-safe.
class Permutation {
 public:
  Permutation(uint64_t n, uint64_t seed) : n_(n), seed_(seed) {
    a_ = std::max<uint64_t>(1, static_cast<uint64_t>(std::sqrt(static_cast<double>(n))));
    b_ = std::max<uint64_t>(1, n / a_ + (n % a_ != 0 ? 1 : 0));
  }
  // Returns the image of i; requires i < n.
  uint64_t operator()(uint64_t i) const {
    do {
      i = Scatter(i);
    } while (i >= n_);
    return i;
  }
  // Returns the i for which operator()(i) is `to`.
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
  // Turn adds to `what`, modulo n, an angle that `by` determines; TurnBack undoes Turn.
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

// Draws ranks 0 .. n-1 with probability proportional to 1 / (rank + 1)^theta, exactly and in
// constant time, by rejection-inversion (Hörmann, Derflinger, "Rejection-inversion to generate
// variates from monotone discrete distributions", TOMACS 1996). theta may be any number >= 0, also
// 1 and above. Immutable and thread-safe.
class Zipfian {
 public:
  Zipfian(uint64_t n, double theta);
  // Returns a rank.
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
