// A log-linear histogram of latencies in nanoseconds, HDR style (G. Tene, HdrHistogram): each power
// of two is cut into 64 equal buckets, so a recorded value is known within 1/64 (1.6 %) of itself,
// from 1 ns to 292 years. Recording is a shift, an add and a plain store: about 3 ns.
//
// One writer; readers may merge it meanwhile.
#ifndef TESTBED_WORKLOADS_MEASURE_HISTOGRAM_H_
#define TESTBED_WORKLOADS_MEASURE_HISTOGRAM_H_

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "device/account/ledger.h"

namespace testbed {

class Histogram {
 public:
  static constexpr int kSubBits = 6;
  static constexpr size_t kBuckets = (64 - kSubBits + 1) << kSubBits;
  static constexpr double kRelativeError = 1.0 / (1 << kSubBits);

  static size_t BucketOf(uint64_t ns) {
    if (ns < (1u << kSubBits)) return ns;
    const int shift = std::bit_width(ns) - 1 - kSubBits;
    return (static_cast<size_t>(shift + 1) << kSubBits) + ((ns >> shift) & ((1u << kSubBits) - 1));
  }
  // The least value of a bucket, and the value that stands for it: its middle.
  static uint64_t LowerBound(size_t bucket);
  static uint64_t Middle(size_t bucket);

  void Record(uint64_t ns) {
    counts_[BucketOf(ns)].Add(1);
    sum_.Add(ns);
    if (ns > max_.Get()) max_.Add(ns - max_.Get());
  }

 private:
  friend class HistogramCounts;
  std::array<Counter, kBuckets> counts_;
  Counter sum_, max_;
};

// A merged, subtractable value of histograms.
class HistogramCounts {
 public:
  HistogramCounts() : counts_(Histogram::kBuckets) {}
  void Add(const Histogram& h);
  void Add(const HistogramCounts& h);
  // What was recorded since `before`; the maximum is then known to a bucket only.
  HistogramCounts Since(const HistogramCounts& before) const;

  uint64_t count() const { return count_; }
  double mean_ns() const {
    return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_);
  }
  uint64_t max_ns() const { return max_; }
  // Least recorded value that is not below a share p (0 to 1) of all, within kRelativeError.
  uint64_t Percentile(double p) const;
  // Non-empty buckets: (lower bound in ns, count).
  std::vector<std::pair<uint64_t, uint64_t>> Buckets() const;

 private:
  std::vector<uint64_t> counts_;
  uint64_t count_ = 0, sum_ = 0, max_ = 0;
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_MEASURE_HISTOGRAM_H_
