// Tests that the seconds of several tasks become those of one clock: an operation counts in the
// second in which it was performed, and none is lost or counted twice.
#include "tools/run/tasks/task_series.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "device/account/operations.h"
#include "workloads/measure/histogram.h"

namespace testbed {
namespace {

// Returns an interval whose operations, half of them of each of two kinds, all took `ns`.
Interval IntervalOf(double end_seconds, uint64_t operations, uint64_t ns) {
  Histogram latencies;
  latencies.Record(ns, operations);
  HistogramCounts counts;
  counts.Add(latencies);
  Interval interval{};
  interval.end_seconds = end_seconds;
  interval.operations = operations;
  interval.counts = {operations / 2, operations - operations / 2};
  interval.max_latency_ns = {ns, ns};
  interval.max_ns = ns;
  interval.latency_ns = counts.Buckets();
  interval.sum_ns = counts.sum_ns();
  interval.host_context_switches = 10;
  interval.resident_bytes = ns;
  return interval;
}

std::vector<std::pair<double, uint64_t>> EndsAndOperations(const std::vector<Interval>& rows) {
  std::vector<std::pair<double, uint64_t>> all;
  for (const Interval& row : rows) {
    EXPECT_EQ(row.counts.size(), 2u);
    EXPECT_EQ(row.counts[0] + row.counts[1], row.operations);
    all.emplace_back(row.end_seconds, row.operations);
  }
  return all;
}

using Rows = std::vector<std::pair<double, uint64_t>>;

// Task 1 begins a quarter of a second late, and its first second ends at 1.25.
TEST(MergeSeriesTest, SecondsAreThoseOfTheFirstBeginAndTheLastOneSaysWhereItEnds) {
  const std::vector<Interval> first = {IntervalOf(1, 100, 1000), IntervalOf(1.5, 50, 1000)},
                              late = {IntervalOf(1, 400, 9000), IntervalOf(1.375, 132, 5000)};
  const std::vector<Interval> rows = MergeSeries({{0, &first}, {0.25, &late}}, 2);
  EXPECT_EQ(EndsAndOperations(rows), (Rows{{1, 100 + 300}, {1.625, 50 + 100 + 132}}));
  EXPECT_EQ(rows[0].max_ns, 9000u) << "it has most of the late one's first interval";
  EXPECT_EQ(rows[0].max_latency_ns, (std::vector<uint64_t>{9000, 9000}));
  EXPECT_EQ(rows[1].max_ns, 5000u);
  EXPECT_EQ(rows[1].max_latency_ns, (std::vector<uint64_t>{5000, 5000}));
}

TEST(MergeSeriesTest, AnIntervalOfSeveralSecondsIsDividedByTimeAndKeepsItsSum) {
  const std::vector<Interval> stopped = {IntervalOf(2.5, 11, 1000), IntervalOf(3, 8, 1000)};
  const std::vector<Interval> rows = MergeSeries({{0, &stopped}}, 2);
  // Its kinds have 5 and 6 operations in 2.5 s: 2 and 2.4 of them are in each whole second.
  EXPECT_EQ(EndsAndOperations(rows), (Rows{{1, 2 + 2}, {2, 2 + 3}, {3, 1 + 1 + 8}}));
}

// The whole is right however the tasks have cut their time.
TEST(MergeSeriesTest, TheSeriesAddsUpToAllTasks) {
  std::vector<std::vector<Interval>> all(3);
  uint64_t operations = 0;
  for (size_t task = 0; task < all.size(); ++task) {
    double end = 0;
    for (uint64_t i = 1; i < 40; ++i) {
      end += 0.3 + static_cast<double>((i * 7 + task * 3) % 11) / 7;
      all[task].push_back(IntervalOf(end, i * 13 % 29, 100 * i));
      operations += i * 13 % 29;
    }
  }
  uint64_t sum = 0;
  double before = 0;
  for (const Interval& row : MergeSeries({{0.3, &all[0]}, {0, &all[1]}, {2.7, &all[2]}}, 2)) {
    sum += row.operations;
    EXPECT_GT(row.end_seconds, before);
    EXPECT_LE(row.end_seconds, before + 1 + 1e-6);
    before = row.end_seconds;
  }
  EXPECT_EQ(sum, operations);
}

TEST(MergeSeriesTest, WhatIsOfAHostIsThatOfTask0) {
  const std::vector<Interval> first = {IntervalOf(1, 100, 1000), IntervalOf(1.75, 75, 2000),
                                       IntervalOf(2, 25, 3000)},
                              other = {IntervalOf(1, 100, 9000), IntervalOf(2, 100, 9000)};
  const std::vector<Interval> rows = MergeSeries({{0, &first}, {0, &other}}, 2);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].host_context_switches, 10u);
  EXPECT_EQ(rows[1].host_context_switches, 20u) << "of two intervals";
  EXPECT_EQ(rows[1].resident_bytes, 3000u) << "at its end";
}

// A task that was stopped ends its second late. Once, its latencies and its memory were 0 in the
// other seconds of that interval, and one second had all that its host did.
TEST(MergeSeriesTest, WhatALongIntervalDoesNotTellOfASecondIsNotKnownThere) {
  std::vector<Interval> stopped = {IntervalOf(2.5, 10, 1000), IntervalOf(3, 8, 3000)};
  stopped[0].host_user_seconds = 1.25;
  stopped[0].background = {{kUnscoped, 5, 1000}, {kOpen, 0, 0}};
  const std::vector<Interval> rows = MergeSeries({{0, &stopped}}, 2);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_TRUE(KnowsLatency(rows[0]));
  EXPECT_EQ(rows[0].max_latency_ns, (std::vector<uint64_t>{1000, 1000}));
  EXPECT_EQ(rows[1].operations, 4u);
  EXPECT_FALSE(KnowsLatency(rows[1]));
  EXPECT_EQ(rows[1].max_latency_ns, (std::vector<uint64_t>{0, 0}));
  EXPECT_EQ(rows[1].resident_bytes, 0u);
  EXPECT_EQ(rows[2].max_ns, 3000u);
  EXPECT_EQ(rows[2].resident_bytes, 3000u);
  // Each whole second has 4 of the 10 context switches in 2.5 s.
  EXPECT_EQ(rows[0].host_context_switches, 4u);
  EXPECT_EQ(rows[1].host_context_switches, 4u);
  EXPECT_EQ(rows[2].host_context_switches, 2u + 10u);
  EXPECT_NEAR(rows[1].host_user_seconds, 0.5, 1e-9);
  ASSERT_EQ(rows[1].background.size(), 1u) << "what moved no bytes is not listed";
  EXPECT_EQ(rows[1].background[0].write_bytes, 400u);
}

// Once, requests of other programs were left out, so that the run's own part was the whole of the
// device's.
TEST(MergeSeriesTest, TheRequestsOfOtherProgramsAreDividedToo) {
  std::vector<Interval> stopped = {IntervalOf(2, 10, 1000), IntervalOf(3, 8, 3000)};
  stopped[0].other_programs = {
      .reads = 6, .read_bytes = 600, .writes = ~uint64_t{3}, .write_bytes = 80};
  stopped[1].other_programs = {.reads = 1, .writes = 5};
  const std::vector<Interval> other = {IntervalOf(3, 10, 1000)};
  const std::vector<Interval> rows = MergeSeries({{0, &stopped}, {0, &other}}, 2);
  ASSERT_EQ(rows.size(), 3u);
  const BlockCounts half{.reads = 3, .read_bytes = 300, .writes = ~uint64_t{1}, .write_bytes = 40};
  EXPECT_EQ(rows[0].other_programs, half) << "-4 requests are -2 in each second";
  EXPECT_EQ(rows[1].other_programs, half);
  EXPECT_EQ(rows[2].other_programs, stopped[1].other_programs);
}

TEST(MergeSeriesTest, ASecondInWhichNoTaskWorkedIsThere) {
  const std::vector<Interval> first = {IntervalOf(1, 100, 1000)}, late = {IntervalOf(1, 10, 1000)},
                              none = {};
  EXPECT_EQ(EndsAndOperations(MergeSeries({{0, &first}, {2, &late}, {0, &none}}, 2)),
            (Rows{{1, 100}, {2, 0}, {3, 10}}));
  EXPECT_TRUE(MergeSeries({{0, &none}}, 2).empty());
}

}  // namespace
}  // namespace testbed
