#include "workloads/measure/histogram.h"

#include <algorithm>
#include <cmath>
#include <utility>

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

void HistogramCounts::AddBuckets(const std::vector<std::pair<uint64_t, uint64_t>>& buckets,
                                 double sum_ns, uint64_t max_ns) {
  for (const auto& [ns, count] : buckets) {
    counts_[Histogram::BucketOf(ns)] += count;
    count_ += count;
  }
  sum_ += sum_ns;
  max_ = std::max(max_, max_ns);
}

HistogramCounts HistogramCounts::Since(const HistogramCounts& before) const {
  HistogramCounts delta;
  size_t highest = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    delta.counts_[i] = counts_[i] - before.counts_[i];
    delta.count_ += delta.counts_[i];
    if (delta.counts_[i] != 0) highest = i;
  }
  delta.sum_ = sum_ - before.sum_;
  delta.max_ = Histogram::Middle(highest);
  // No value of its bucket is above the maximum, while the middle of the bucket may be. A thread
  // that is recording may have counted a value whose maximum it has not noted yet, so the maximum
  // bounds no higher bucket.
  if (Histogram::BucketOf(max_) == highest) delta.max_ = std::min(delta.max_, max_);
  if (max_ > before.max_) delta.max_ = max_;
  return delta;
}

uint64_t HistogramCounts::Percentile(double p) const {
  if (count_ == 0) return 0;
  // The product is reduced by a rounding error: 99.9 / 100 is slightly above 0.999, and 0.999 of
  // 1000 values must be 999 and not 1000.
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

std::vector<uint64_t> HistogramDivider::Take(uint64_t count, const std::vector<double>& shares) {
  std::vector<uint64_t> taken(owed_.size());
  for (size_t part = 0; part < owed_.size(); ++part) {
    owed_[part] += shares[part] * static_cast<double>(count);
  }
  for (uint64_t left = count; left > 0;) {
    // Only a part with a share above 0 takes a value, even if rounding makes the debt to another
    // part larger.
    size_t most = 0;
    for (size_t part = 1; part < owed_.size(); ++part) {
      if (shares[part] > 0 && (shares[most] == 0 || owed_[part] > owed_[most])) most = part;
    }
    const double whole = std::clamp(std::floor(owed_[most]), 1.0, static_cast<double>(left));
    const uint64_t n = std::min(left, static_cast<uint64_t>(whole));
    taken[most] += n;
    owed_[most] -= static_cast<double>(n);
    left -= n;
  }
  return taken;
}

void HistogramDivider::Divide(const HistogramCounts& h, const std::vector<double>& shares,
                              const std::vector<HistogramCounts*>& parts) {
  double middles = 0;
  for (size_t i = 0; i < h.counts_.size(); ++i) {
    middles += static_cast<double>(Histogram::Middle(i)) * static_cast<double>(h.counts_[i]);
  }
  // The middles of the buckets are scaled, so that the parts' sums add up to the exact sum of `h`.
  const double scale = middles > 0 ? h.sum_ / middles : 0;
  bool highest = true;
  for (size_t i = h.counts_.size(); i-- > 0;) {
    if (h.counts_[i] == 0) continue;
    const uint64_t middle = Histogram::Middle(i);
    const uint64_t largest = std::exchange(highest, false) ? h.max_ : std::min(middle, h.max_);
    const std::vector<uint64_t> taken = Take(h.counts_[i], shares);
    for (size_t part = 0; part < parts.size(); ++part) {
      if (taken[part] == 0) continue;
      HistogramCounts& to = *parts[part];
      to.counts_[i] += taken[part];
      to.count_ += taken[part];
      to.sum_ += scale * static_cast<double>(middle) * static_cast<double>(taken[part]);
      to.max_ = std::max(to.max_, largest);
    }
  }
}

}  // namespace testbed
