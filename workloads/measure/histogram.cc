#include "workloads/measure/histogram.h"

#include <algorithm>
#include <cmath>

namespace testbed {

uint64_t Histogram::LowerBound(size_t bucket) {
  constexpr uint64_t kSub = 1u << kSubBits;
  if (bucket < kSub) return bucket;
  const size_t shift = (bucket >> kSubBits) - 1;
  return (kSub + (bucket & (kSub - 1))) << shift;
}

uint64_t Histogram::Middle(size_t bucket) {
  constexpr uint64_t kSub = 1u << kSubBits;
  if (bucket < 2 * kSub) return LowerBound(bucket);
  return LowerBound(bucket) + (1ull << ((bucket >> kSubBits) - 2));
}

void HistogramCounts::Add(const Histogram& h) {
  for (size_t i = 0; i < counts_.size(); ++i) {
    const uint64_t n = h.counts_[i].Get();
    counts_[i] += n;
    count_ += n;
  }
  sum_ += h.sum_.load(std::memory_order_relaxed);
  max_ = std::max(max_, h.max_.Get());
}

void HistogramCounts::Add(const HistogramCounts& h) {
  for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += h.counts_[i];
  count_ += h.count_;
  sum_ += h.sum_;
  max_ = std::max(max_, h.max_);
}

void HistogramCounts::AddBucket(uint64_t ns, uint64_t count) {
  const size_t bucket = Histogram::BucketOf(ns);
  const uint64_t middle = Histogram::Middle(bucket);
  counts_[bucket] += count;
  count_ += count;
  sum_ += static_cast<double>(middle) * static_cast<double>(count);
  max_ = std::max(max_, middle);
}

void HistogramCounts::AddShare(const HistogramCounts& h, double share) {
  uint64_t above = 0, taken = 0;  // values in the buckets so far, from the highest down
  for (size_t i = counts_.size(); i-- > 0;) {
    if (h.counts_[i] == 0) continue;
    above += h.counts_[i];
    const auto wanted = static_cast<uint64_t>(std::ceil(share * static_cast<double>(above) - 1e-6));
    counts_[i] += wanted - taken;
    taken = wanted;
  }
  if (taken == 0) return;
  count_ += taken;
  sum_ += h.mean_ns() * static_cast<double>(taken);
  max_ = std::max(max_, h.max_);
}

HistogramCounts HistogramCounts::Since(const HistogramCounts& before) const {
  HistogramCounts delta;
  for (size_t i = 0; i < counts_.size(); ++i) {
    delta.counts_[i] = counts_[i] - before.counts_[i];
    delta.count_ += delta.counts_[i];
    if (delta.counts_[i] != 0) delta.max_ = Histogram::Middle(i);
  }
  delta.sum_ = sum_ - before.sum_;
  if (max_ > before.max_) delta.max_ = max_;
  return delta;
}

uint64_t HistogramCounts::Percentile(double p) const {
  if (count_ == 0) return 0;
  // 99.9 / 100 is slightly above 0.999, and its product with 1000 must not be more than 999.
  constexpr double kRounding = 1e-12;
  const double share = p * static_cast<double>(count_);
  const auto wanted = static_cast<uint64_t>(std::ceil(share * (1 - kRounding)));
  uint64_t seen = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen >= std::max<uint64_t>(wanted, 1)) return std::min(Histogram::Middle(i), max_);
  }
  return max_;
}

std::vector<std::pair<uint64_t, uint64_t>> HistogramCounts::Buckets() const {
  std::vector<std::pair<uint64_t, uint64_t>> buckets;
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] != 0) buckets.emplace_back(Histogram::LowerBound(i), counts_[i]);
  }
  return buckets;
}

}  // namespace testbed
