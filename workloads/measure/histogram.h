// A log-linear histogram of latencies in nanoseconds, in the style of HdrHistogram (G. Tene): each
// power of two is cut into 64 equal buckets, so a recorded value is known within 1/64 (1.6 %) of
// itself, from 1 ns to 584 years. Recording costs a shift, an add and a plain store: about 3 ns.
//
// One thread records; any thread may merge the histogram meanwhile.
#ifndef TESTBED_WORKLOADS_MEASURE_HISTOGRAM_H_
#define TESTBED_WORKLOADS_MEASURE_HISTOGRAM_H_

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "device/account/ledger.h"

namespace testbed {

class Histogram {
 public:
  static constexpr int kSubBits = 6;
  static constexpr size_t kBuckets = (64 - kSubBits + 1) << kSubBits;
  static constexpr double kRelativeError = 1.0 / (1 << kSubBits);

  // Returns the bucket that contains a value.
  static size_t BucketOf(uint64_t ns) {
    if (ns < (1u << kSubBits)) return ns;
    const int shift = std::bit_width(ns) - 1 - kSubBits;
    return (static_cast<size_t>(shift + 1) << kSubBits) + ((ns >> shift) & ((1u << kSubBits) - 1));
  }
  // Returns the least value of a bucket.
  static uint64_t LowerBound(size_t bucket);
  // Returns the value in the middle of a bucket, which stands for all its values.
  static uint64_t Middle(size_t bucket);

  // Adds a value, `count` times. Only one thread may call it.
  void Record(uint64_t ns, uint64_t count = 1) {
    counts_[BucketOf(ns)].Add(count);
    const double sum = sum_.load(std::memory_order_relaxed);
    sum_.store(sum + static_cast<double>(ns) * static_cast<double>(count),
               std::memory_order_relaxed);
    if (ns > max_.Get()) max_.Add(ns - max_.Get());
  }

 private:
  friend class HistogramCounts;
  std::array<Counter, kBuckets> counts_;
  // The waits of an open loop that is far behind add up to more than 64 bits hold. Up to 2^53 ns,
  // which is 104 days, the sum is exact.
  std::atomic<double> sum_{0};
  Counter max_;
};

// The merged counts of several histograms, which can also be subtracted. Not thread-safe.
class HistogramCounts {
 public:
  HistogramCounts() : counts_(Histogram::kBuckets) {}
  // Adds the counts of a histogram, which a thread may be recording to.
  void Add(const Histogram& h);
  void Add(const HistogramCounts& h);
  // Adds `count` values of the bucket that contains `ns`, as Buckets returns them.
  void AddBucket(uint64_t ns, uint64_t count);
  // Adds the counts of another HistogramCounts, given as its Buckets, sum_ns and max_ns return
  // them. The result is that of Add.
  void AddBuckets(const std::vector<std::pair<uint64_t, uint64_t>>& buckets, double sum_ns,
                  uint64_t max_ns);
  // Returns what was recorded since `before`. The maximum is exact when it rose since then; else it
  // is the middle of the highest bucket that gained a value, or the maximum of all values when that
  // is lower and in this bucket.
  HistogramCounts Since(const HistogramCounts& before) const;

  uint64_t count() const { return count_; }
  double sum_ns() const { return sum_; }
  double mean_ns() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }
  uint64_t max_ns() const { return max_; }
  // Returns the least recorded value that at least a share p (0 to 1) of all values do not exceed,
  // within kRelativeError.
  uint64_t Percentile(double p) const;
  // Returns the non-empty buckets as pairs of lower bound in nanoseconds and count.
  std::vector<std::pair<uint64_t, uint64_t>> Buckets() const;

 private:
  std::vector<uint64_t> counts_;
  uint64_t count_ = 0, max_ = 0;
  double sum_ = 0;

  friend class HistogramDivider;
};

// A HistogramDivider divides the values of histograms among parts. Each value goes to one part, so
// the parts add up to what was divided. Not thread-safe.
//
//   HistogramDivider divider(2);
//   divider.Divide(all, {0.25, 0.75}, {&first, &second});
class HistogramDivider {
 public:
  explicit HistogramDivider(size_t parts) : owed_(parts) {}
  // Adds to each part its share of the values of `h`, drawn evenly from the largest down. The
  // shares add up to 1. A share is seldom a whole number of values; the next call makes up for what
  // a part got too little or too much.
  void Divide(const HistogramCounts& h, const std::vector<double>& shares,
              const std::vector<HistogramCounts*>& parts);

 private:
  // Returns how many of the `count` next values go to each part.
  std::vector<uint64_t> Take(uint64_t count, const std::vector<double>& shares);
  std::vector<double> owed_;  // by part: its shares of all values so far, less what it got
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_MEASURE_HISTOGRAM_H_
