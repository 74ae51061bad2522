#include "workloads/measure/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "workloads/measure/clock.h"
#include "workloads/random.h"

namespace testbed {
namespace {

TEST(HistogramTest, BucketsCoverEveryValueWithinTheStatedError) {
  for (uint64_t v : {0ull, 1ull, 63ull, 64ull, 65ull, 127ull, 128ull, 1000ull, 123456789ull,
                     1ull << 40, (1ull << 63) + 5, ~0ull}) {
    const size_t b = Histogram::BucketOf(v);
    ASSERT_LT(b, Histogram::kBuckets);
    EXPECT_LE(Histogram::LowerBound(b), v);
    const double width = static_cast<double>(v - Histogram::LowerBound(b));
    EXPECT_LE(width, static_cast<double>(v) * Histogram::kRelativeError) << v;
    if (b + 1 < Histogram::kBuckets) {
      EXPECT_GT(Histogram::LowerBound(b + 1), v);
    }
  }
}

TEST(HistogramTest, PercentilesAgreeWithASortedList) {
  Histogram h;
  std::vector<uint64_t> values;
  Random random(11);
  for (int i = 0; i < 100000; ++i) {
    values.push_back(100 + (random.Next() >> (20 + random.Below(30))));
    h.Record(values.back());
  }
  std::sort(values.begin(), values.end());
  HistogramCounts counts;
  counts.Add(h);
  EXPECT_EQ(counts.count(), values.size());
  EXPECT_EQ(counts.max_ns(), values.back());
  for (double p : {0.5, 0.9, 0.99, 0.999}) {
    const double exact = static_cast<double>(values[static_cast<size_t>(p * values.size()) - 1]);
    EXPECT_NEAR(counts.Percentile(p), exact, exact * Histogram::kRelativeError) << p;
  }
}

// Parts that are sent as buckets must give the percentiles of all values, and their exact mean and
// maximum, which the buckets alone do not tell.
TEST(HistogramTest, BucketsOfPartsMakeTheHistogramOfAllValues) {
  Random random(12);
  Histogram all, parts[3];
  for (int i = 0; i < 30000; ++i) {
    const uint64_t ns = 100 + (random.Next() >> (20 + random.Below(30)));
    all.Record(ns);
    parts[i % 3].Record(ns);
  }
  HistogramCounts whole, merged;
  whole.Add(all);
  for (const Histogram& part : parts) {
    HistogramCounts counts;
    counts.Add(part);
    merged.AddBuckets(counts.Buckets(), counts.sum_ns(), counts.max_ns());
  }
  EXPECT_EQ(merged.count(), whole.count());
  EXPECT_EQ(merged.Buckets(), whole.Buckets());
  EXPECT_EQ(merged.max_ns(), whole.max_ns());
  EXPECT_NEAR(merged.mean_ns(), whole.mean_ns(), whole.mean_ns() * 1e-9);
  for (const double p : {0.5, 0.9, 0.99, 0.999}) {
    EXPECT_EQ(merged.Percentile(p), whole.Percentile(p)) << p;
  }
}

// --find-rate asks for the percentile that it reads as a number of per cent.
TEST(HistogramTest, ARoundingErrorOfTheShareIsNoOtherValue) {
  Histogram h;
  h.Record(10, 999);
  h.Record(50);
  HistogramCounts counts;
  counts.Add(h);
  ASSERT_GT(99.9 / 100, 0.999);
  EXPECT_EQ(counts.Percentile(99.9 / 100), 10u);
  EXPECT_EQ(counts.Percentile(0.9995), 50u);
  EXPECT_EQ(counts.Percentile(1), 50u);
}

TEST(HistogramTest, SinceIsWhatCameBetween) {
  Histogram h;
  h.Record(10);
  HistogramCounts before;
  before.Add(h);
  h.Record(5000);
  HistogramCounts after;
  after.Add(h);
  HistogramCounts delta = after.Since(before);
  EXPECT_EQ(delta.count(), 1u);
  EXPECT_DOUBLE_EQ(delta.mean_ns(), 5000);
  EXPECT_EQ(delta.max_ns(), 5000u);
}

// Once, an operation of 0.9995 s was one of 1.0024 s in its second, which was called a stall,
// though no operation of the phase took a second.
TEST(HistogramTest, WhatCameSinceIsNotAboveTheMaximumOfAll) {
  constexpr uint64_t kSlowest = 999'600'000, kLater = 999'500'000;
  const size_t bucket = Histogram::BucketOf(kLater);
  ASSERT_EQ(Histogram::BucketOf(kSlowest), bucket);
  ASSERT_GT(Histogram::Middle(bucket), 1'000'000'000u);
  Histogram h;
  h.Record(kSlowest);
  HistogramCounts before;
  before.Add(h);
  h.Record(kLater);
  HistogramCounts after;
  after.Add(h);
  const HistogramCounts delta = after.Since(before);
  EXPECT_EQ(delta.max_ns(), kSlowest);
  EXPECT_EQ(delta.Percentile(0.99), kSlowest);
  h.Record(1000);
  HistogramCounts last;
  last.Add(h);
  EXPECT_EQ(last.Since(after).max_ns(), Histogram::Middle(Histogram::BucketOf(1000)))
      << "in a lower bucket it bounds nothing";
  EXPECT_EQ(after.Since(after).max_ns(), 0u);
}

TEST(HistogramDividerTest, EachPartIsDrawnEvenlyFromTheLargestDown) {
  Histogram h;
  for (uint64_t i = 1; i <= 1000; ++i) h.Record(i * 1000);
  HistogramCounts all, some, most, none;
  all.Add(h);
  HistogramDivider(3).Divide(all, {0.3, 0.7, 0}, {&some, &most, &none});
  EXPECT_EQ(some.count(), 300u);
  EXPECT_EQ(most.count(), 700u);
  EXPECT_EQ(none.count(), 0u);
  EXPECT_EQ(none.max_ns(), 0u);
  EXPECT_EQ(most.max_ns(), 1000000u);
  for (const HistogramCounts* part : {&some, &most}) {
    EXPECT_NEAR(static_cast<double>(part->max_ns()), 1e6, 1e6 * Histogram::kRelativeError);
    EXPECT_NEAR(static_cast<double>(part->Percentile(0.5)), 500000, 20000);
    EXPECT_NEAR(part->mean_ns(), all.mean_ns(), 0.01 * all.mean_ns());
  }
  EXPECT_NEAR(some.mean_ns() * 300 + most.mean_ns() * 700, all.mean_ns() * 1000, 1);
}

// If each part were rounded by itself, the parts of a single value could be none or several.
TEST(HistogramDividerTest, ThePartsAddUpToTheWholeAndMakeUpForWhatTheyLack) {
  HistogramDivider divider(3);
  const std::vector<double> shares = {0.2, 0.3, 0.5};
  std::vector<HistogramCounts> parts(3);
  for (uint64_t i = 1; i <= 1000; ++i) {
    Histogram one;
    one.Record(i * 1000);
    HistogramCounts h;
    h.Add(one);
    divider.Divide(h, shares, {&parts[0], &parts[1], &parts[2]});
    EXPECT_EQ(parts[0].count() + parts[1].count() + parts[2].count(), i);
    for (size_t k = 0; k < 3; ++k) {
      EXPECT_NEAR(static_cast<double>(parts[k].count()), shares[k] * static_cast<double>(i), 1);
    }
  }
  Histogram many;
  many.Record(5'000'000, 1'000'000'000'001);
  HistogramCounts h;
  h.Add(many);
  divider.Divide(h, shares, {&parts[0], &parts[1], &parts[2]});
  EXPECT_EQ(parts[0].count() + parts[1].count() + parts[2].count(), 1'000'000'001'001u);
  EXPECT_EQ(parts[2].max_ns(), 5'000'000u);
}

TEST(ClockTest, AgreesWithTheKernelsClock) {
  const Clock& clock = Clock::Get();
  // The kernel's clock is read before and after each reading of testbed's clock. So a pause of this
  // thread between two readings widens the accepted range, and does not fail the test.
  const uint64_t before_begin = Clock::Monotonic();
  const uint64_t begin = clock.Now();
  const uint64_t after_begin = Clock::Monotonic();
  while (Clock::Monotonic() - before_begin < 50000000) {
  }
  const uint64_t before_end = Clock::Monotonic();
  const uint64_t end = clock.Now();
  const uint64_t after_end = Clock::Monotonic();
  const auto measured = static_cast<double>(clock.ToNs(end - begin));
  EXPECT_GE(measured, static_cast<double>(before_end - after_begin) * 0.999);
  EXPECT_LE(measured, static_cast<double>(after_end - before_begin) * 1.001);
}

}  // namespace
}  // namespace testbed
