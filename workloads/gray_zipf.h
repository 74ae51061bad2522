// Ranks by Zipf's law as LinkBench and YCSB draw them: by the approximation of Gray and others,
// "Quickly generating billion-record synthetic databases", SIGMOD 1994. Its first two ranks have
// exactly their shares, the third has a fifth too much, and the far ones a hundredth too little.
// A workload that must have the hot rows of those programs keeps these errors. workloads/random.h
// has an exact sampler.
//
//   GrayZipf zipf(n, 0.99);                // ranks, 0 is the hottest
//   uint64_t rank = zipf(random.Unit());
//
// The const methods are thread-safe, Resize is not.
#ifndef TESTBED_WORKLOADS_GRAY_ZIPF_H_
#define TESTBED_WORKLOADS_GRAY_ZIPF_H_

#include <cstdint>

namespace testbed {

// Returns the sum of i^-shape for i = 1 .. n: the first 1000 terms exactly, the rest by the
// Euler-Maclaurin formula.
double GeneralisedHarmonic(uint64_t n, double shape);

// Maps a uniform number to a rank 0 .. n-1 with probability about proportional to 1 / (rank +
// 1)^shape, 0 <= shape < 1.
class GrayZipf {
 public:
  GrayZipf(uint64_t n, double shape);
  // Returns the rank for `p`, which is uniform in [0, 1).
  uint64_t operator()(double p) const;
  // Changes the number of ranks. A change by a few ranks takes a few powers.
  void Resize(uint64_t n);

 private:
  void Fit();
  uint64_t ranks_;
  double shape_, n_, zeta_n_, second_, alpha_, eta_;
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_GRAY_ZIPF_H_
