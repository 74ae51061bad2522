// Tests the search for the highest rate that meets a limit on clients whose latency is known: a
// queue that serves `capacity` operations a second.
#include "tools/rate/rate_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace testbed {
namespace {

using Outcome = FoundRate::Outcome;
using testing::HasSubstr;

const OpKind kRead = DefineOp("point-read", Ground::kForeground);
const OpKind kWrite = DefineOp("update", Ground::kForeground);

// Returns a phase of `seconds`. Each pair of `latencies` is a latency in nanoseconds and the number
// of operations that took it.
PhaseResult Part(double seconds, const std::vector<std::pair<uint64_t, uint64_t>>& latencies,
                 OpKind op = kRead) {
  PhaseResult part;
  part.seconds = seconds;
  PhaseResult::Op of{.op = op, .count = 0, .latency = {}, .intended = {}};
  Histogram histogram;
  for (const auto& [ns, n] : latencies) {
    for (uint64_t i = 0; i < n; ++i) histogram.Record(ns);
    of.count += n;
  }
  of.latency.Add(histogram);
  of.intended.Add(histogram);
  part.ops.push_back(std::move(of));
  return part;
}

// A Queue has random arrivals, and random service times whose mean is 1 / capacity (M/M/1). The
// p-th percentile of its response time is -ln(1 - p) / (capacity - rate).
struct Queue {
  double capacity = 0, service_ns = 0;
  int tried = 0;

  RateStep At(double rate, const RateLimit& limit) {
    ++tried;
    RateStep step{.target = rate};
    if (rate == 0 || rate >= capacity) {
      const auto n = static_cast<uint64_t>(capacity);
      step.Add(Part(1, {{rate == 0 ? static_cast<uint64_t>(service_ns) : 1'000'000'000, n}}),
               limit);
      return step;
    }
    const auto n = static_cast<uint64_t>(rate), slow = n / 50;
    const double ns = service_ns - std::log(1 - limit.share) / (capacity - rate) * 1e9;
    step.Add(
        Part(1, {{static_cast<uint64_t>(ns / 10), n - slow}, {static_cast<uint64_t>(ns), slow}}),
        limit);
    return step;
  }
};

FoundRate Search(
    Queue* queue, const std::string& limit,
    const std::function<bool()>& stop = [] { return false; }) {
  FoundRate found{
      .workload = "point-read", .clients = 8, .limit = ParseRateLimit("--find-rate", limit)};
  SearchRate([&](double rate) { return queue->At(rate, found.limit); }, stop, &found);
  return found;
}

TEST(RateSearchTest, FindsTheRateAtWhichTheLimitIsMetWithin5Percent) {
  Queue queue{.capacity = 20'000};
  for (const double rate : {15'000.0, 9'000.0, 2'000.0, 500.0}) {
    // This is the limit that the queue just meets at that rate.
    const double us = -std::log(0.01) / (queue.capacity - rate) * 1e6;
    const FoundRate found = Search(&queue, "p99 < " + std::to_string(us) + "us");
    ASSERT_EQ(found.outcome, Outcome::kFound) << found.Sentence();
    // A histogram knows a latency within 1/64. The lower the rate, the larger is the error of the
    // rate that follows from this.
    const double slack = 1 + 2.0 / 64 * (queue.capacity - rate) / rate;
    EXPECT_LE(found.rate, rate * slack);
    EXPECT_GE(found.rate, rate / slack / 1.06);
    EXPECT_LE(found.steps.size(), 13u);
    EXPECT_EQ(found.steps.front().target, 0);
    EXPECT_THAT(found.Sentence(), HasSubstr("holds up to "));
  }
}

TEST(RateSearchTest, SaysWhenEvenTheLowestRateMisses) {
  Queue queue{.capacity = 6'400, .service_ns = 5e6};
  const FoundRate found = Search(&queue, "p99 < 4ms");
  EXPECT_EQ(found.outcome, Outcome::kLowestMisses);
  EXPECT_EQ(queue.tried, 7);
  EXPECT_DOUBLE_EQ(found.rate, 100);
  EXPECT_THAT(found.Sentence(), HasSubstr("is missed even at the lowest rate that was tried, 100"));
  EXPECT_EQ(found.ToJson()["outcome"], "lowest misses");
  EXPECT_TRUE(found.ToJson()["found_rate"].is_null()) << "no rate meets the limit";
  EXPECT_EQ(found.ToJson()["measured_rate"], 100);
}

// Clients that wait for each other in the closed loop, such as for a lock, reach a lower rate there
// than in an open loop.
TEST(RateSearchTest, SaysWhenTheClosedLoopsRateMeetsTheLimit) {
  FoundRate found{.workload = "point-read", .limit = ParseRateLimit("--find-rate", "p99 < 4ms")};
  SearchRate(
      [&](double rate) {
        RateStep step{.target = rate};
        const double out = rate == 0 ? 6'000 : rate;
        step.Add(Part(1, {{1'000'000, static_cast<uint64_t>(out)}}), found.limit);
        return step;
      },
      [] { return false; }, &found);
  EXPECT_EQ(found.outcome, Outcome::kHighestMeets);
  EXPECT_EQ(found.rate, 6'000);
  EXPECT_EQ(found.steps.back().target, 6'000) << "the rate itself was tried";
  EXPECT_THAT(found.Sentence(), HasSubstr("is met even at 6,000 ops/s"));
}

TEST(RateSearchTest, EndsWhenItIsStoppedAndWhenTheWorkloadEnds) {
  Queue queue{.capacity = 1'000};
  const FoundRate stopped = Search(&queue, "p99 < 4ms", [&] { return queue.tried == 3; });
  EXPECT_EQ(stopped.outcome, Outcome::kEnded);
  EXPECT_EQ(stopped.steps.size(), 3u);
  EXPECT_TRUE(stopped.ToJson()["found_rate"].is_null());
  EXPECT_THAT(stopped.Sentence(), HasSubstr("was not decided: the run was stopped"));
  // A stop may come before a step has begun. Such a step must not be recorded.
  FoundRate at_once{.workload = "mixed", .limit = ParseRateLimit("--find-rate", "p99 < 4ms")};
  SearchRate([](double rate) { return RateStep{.target = rate}; }, [] { return true; }, &at_once);
  EXPECT_TRUE(at_once.steps.empty());
  EXPECT_THAT(at_once.Sentence(), HasSubstr("was not decided: the run was stopped"));
  EXPECT_TRUE(at_once.ToJson()["steps"].empty());
  FoundRate ended{.workload = "mixed", .limit = ParseRateLimit("--find-rate", "p99 < 4ms")};
  SearchRate(
      [&](double rate) {
        RateStep step{.target = rate};
        PhaseResult part = Part(1, {{1'000, 100}});
        part.ended_because = "no row is left to erase";
        step.Add(part, ended.limit);
        return step;
      },
      [] { return false; }, &ended);
  EXPECT_EQ(ended.steps.size(), 1u);
  EXPECT_THAT(ended.Sentence(), HasSubstr("no row is left to erase"));
}

// Once, such latencies were 0 us: the fastest step of all was one in which nothing had ended.
TEST(RateSearchTest, AStepWithoutAnOperationHasNoLatency) {
  FoundRate found{.workload = "mixed", .limit = ParseRateLimit("--find-rate", "scan p99 < 4ms")};
  found.rate = 100;
  found.outcome = Outcome::kFound;
  found.steps = {{.seconds = 1}, {.target = 100, .seconds = 1}};
  found.steps[1].Add(Part(1, {{1'000, 100}}, DefineOp("scan", Ground::kForeground)), found.limit);
  found.again.push_back({.target = 100, .seconds = 1});
  const nlohmann::json all = found.ToJson();
  for (const nlohmann::json* none : {&all["steps"][0], &all["again"]}) {
    for (const char* figure : {"p50_us", "p99_us", "limited_us", "max_us", "slower_share"}) {
      EXPECT_TRUE(none->at(figure).is_null()) << figure;
    }
  }
  EXPECT_EQ(all["steps"][1]["max_us"], 1);
  EXPECT_EQ(all["steps"][1]["slower_share"], 0);
  EXPECT_THAT(found.Sentence(), HasSubstr("measured once more at that rate: no such operation"));
}

// The percentile of what was performed, 1 us, is below the limit of 4 ms. The rate misses the limit
// because a tenth of the operations was left undone.
TEST(RateSearchTest, TheSentenceSaysThatAMissIsOfOperationsLeftUndone) {
  FoundRate found{.workload = "mixed", .limit = ParseRateLimit("--find-rate", "p99 < 4ms")};
  found.rate = 1'000;
  found.outcome = Outcome::kFound;
  RateStep meets{.target = 1'000}, behind{.target = 1'000};
  meets.Add(Part(1, {{1'000, 1'000}}), found.limit);
  behind.Add(Part(1, {{1'000, 900}}), found.limit);
  found.steps = {{.seconds = 1}, meets};
  found.again = {meets};
  EXPECT_THAT(found.Sentence(), testing::Not(HasSubstr("undone")));
  found.again = {behind};
  EXPECT_THAT(found.Sentence(), HasSubstr(" us, and operations were left undone, which misses it"));
  found.steps[1] = behind;
  found.outcome = Outcome::kLowestMisses;
  EXPECT_THAT(found.Sentence(),
              HasSubstr(" us, and operations were left undone, so the rate is not the cause"));
}

// Once, a percentile counted as that of all operations, those too whose latency was left out.
TEST(RateSearchTest, AStepSaysHowManyOperationsHaveALatency) {
  FoundRate found{.workload = "mixed", .limit = ParseRateLimit("--find-rate", "p99 < 4ms")};
  PhaseResult part = Part(1, {{1'000, 90}});
  found.steps = {{.seconds = 1}, {.seconds = 1}};
  found.steps[0].Add(part, found.limit);
  part.ops[0].count = 100;
  found.steps[1].Add(part, found.limit);
  const nlohmann::json steps = found.ToJson()["steps"];
  EXPECT_EQ(steps[0]["count"], 90);
  EXPECT_FALSE(steps[0].contains("latency_count"));
  EXPECT_EQ(steps[1]["count"], 100);
  EXPECT_EQ(steps[1]["latency_count"], 90);
}

TEST(RateStepTest, AStepThatFallsBehindMissesHoweverFastItsOperations) {
  const RateLimit limit = ParseRateLimit("--find-rate", "p99 < 1s");
  RateStep step{.target = 10'000};
  step.Add(Part(1, {{1'000, 9'000}}), limit);
  EXPECT_FALSE(step.KeptUp());
  EXPECT_FALSE(step.Meets(limit));
  RateStep keeps{.target = 10'000};
  keeps.Add(Part(1, {{1'000, 9'900}}), limit);
  EXPECT_TRUE(keeps.Meets(limit));
}

// The step lasts until its last thread has ended, and the others have nothing to begin meanwhile.
// They were expected to go on, so that a long last operation was a miss.
TEST(RateStepTest, AThreadThatEndsLateMakesNothingDueOfTheOthers) {
  const RateLimit limit = ParseRateLimit("--find-rate", "p99 < 1s");
  PhaseResult part = Part(1.04, {{1'000, 9'900}});
  part.thread_seconds = {1, 1, 1, 1.04};
  RateStep step{.target = 10'000};
  step.Add(part, limit);
  step.Add(part, limit);
  EXPECT_TRUE(step.KeptUp());
  EXPECT_TRUE(step.Meets(limit));
  part.thread_seconds = {1.04, 1.04, 1.04, 1.04};
  RateStep behind{.target = 10'000};
  behind.Add(part, limit);
  EXPECT_FALSE(behind.KeptUp());
}

// Operations that were due but had not begun when a part ended have waited, too.
TEST(RateStepTest, WhatIsLeftUndoneForTheLimitIsSlower) {
  const RateLimit limit = ParseRateLimit("--find-rate", "p99 < 1ms");
  const auto with_undone = [](uint64_t ns, uint64_t n) {
    PhaseResult part = Part(1, {{1'000, 9'850}});
    Histogram undone;
    for (uint64_t i = 0; i < n; ++i) undone.Record(ns);
    part.undone.Add(undone);
    part.ops[0].undone.Add(undone);
    return part;
  };
  RateStep step{.target = 10'000};
  step.Add(with_undone(2'000'000, 150), limit);
  EXPECT_TRUE(step.KeptUp()) << "98 % were done";
  EXPECT_EQ(step.undone, 150u);
  EXPECT_DOUBLE_EQ(step.slower_share(), 0.015);
  EXPECT_FALSE(step.Meets(limit)) << "of 10,000 more than 100 have waited for 2 ms";
  RateStep soon{.target = 10'000};
  soon.Add(with_undone(500'000, 150), limit);
  EXPECT_EQ(soon.undone, 0u) << "nobody knows how long they would have taken";
  EXPECT_TRUE(soon.Meets(limit));
  RateStep parts{.target = 10'000};
  for (int part = 0; part < 3; ++part) parts.Add(with_undone(2'000'000, 50), limit);
  EXPECT_EQ(parts.undone, 150u) << "each part has its own";
}

// A thread in addition to the clients may have a rate of its own, and fall behind it. What it has
// not begun is none of the reads of the clients.
TEST(RateStepTest, WhatOneKindLeavesUndoneIsNoneOfAnother) {
  PhaseResult part = Part(1, {{1'000, 10'000}});
  part.ops.push_back(Part(1, {{1'000, 300}}, kWrite).ops[0]);
  part.extra_operations = 300;
  Histogram undone;
  for (int i = 0; i < 500; ++i) undone.Record(2'000'000);
  part.undone.Add(undone);
  part.ops[1].undone.Add(undone);
  const RateLimit of_reads = ParseRateLimit("--find-rate", "point-read p99 < 1ms");
  RateStep reads{.target = 10'000};
  reads.Add(part, of_reads);
  EXPECT_EQ(reads.undone, 0u);
  EXPECT_TRUE(reads.Meets(of_reads));
  const RateLimit of_updates = ParseRateLimit("--find-rate", "update p99 < 1ms");
  RateStep updates{.target = 10'000};
  updates.Add(part, of_updates);
  EXPECT_EQ(updates.undone, 500u);
  EXPECT_FALSE(updates.Meets(of_updates));
  const RateLimit of_all = ParseRateLimit("--find-rate", "p99 < 1ms");
  RateStep all{.target = 10'000};
  all.Add(part, of_all);
  EXPECT_EQ(all.undone, 500u);
}

// Makes operations of the first kind undone, 2 ms after they were to begin.
void LeaveUndone(int operations, PhaseResult* part) {
  Histogram undone;
  for (int i = 0; i < operations; ++i) undone.Record(2'000'000);
  part->undone.Add(undone);
  part->ops[0].undone.Add(undone);
}

// Operations that kept rows for their check are in no latency, and were performed.
TEST(RateStepTest, OperationsThatAreInNoLatencyAreCounted) {
  const RateLimit limit = ParseRateLimit("--find-rate", "p99 < 1ms");
  PhaseResult part = Part(1, {{1'000, 4'950}, {2'000'000, 50}});
  part.ops[0].count = 10'000;
  LeaveUndone(150, &part);
  RateStep step{.target = 10'000};
  step.Add(part, limit);
  EXPECT_EQ(step.count(), 10'000u);
  EXPECT_EQ(step.undone, 150u);
  EXPECT_DOUBLE_EQ(step.slower_share(), 250.0 / 10'150);
  EXPECT_EQ(part.ops[0].FromIntended().count(), 5'075u) << "half of those that were not begun";
}

// Once, a step ended by the number of its operations, even where some or most had no latency. So
// its percentile was of fewer latencies than it needs.
TEST(RateStepTest, AStepIsLongEnoughByTheOperationsThatHaveALatency) {
  const RateLimit limit = ParseRateLimit("--find-rate", "p99 < 1ms");
  PhaseResult part = Part(1, {{1'000, 5'000}});
  part.ops[0].count = 10'000;
  LeaveUndone(150, &part);
  RateStep step{.target = 10'000};
  step.Add(part, limit);
  EXPECT_EQ(step.count(), 10'000u);
  EXPECT_FALSE(step.HasEnough(10'000));
  EXPECT_TRUE(step.HasEnough(5'000));
  // Of 20,000 operations, for which 10,000 latencies stand, 200 may be slower.
  EXPECT_EQ(step.undone, 150u);
  EXPECT_FALSE(step.MissesForSure(limit, 10'000));
}

// With even arrivals the number of operations does not vary by chance.
TEST(RateStepTest, OnlyRandomArrivalsAreForgivenForTheirNumber) {
  RateStep step{.target = 1'000};
  step.Add(Part(1, {{1'000, 950}}), ParseRateLimit("--find-rate", "p99 < 1ms"));
  EXPECT_FALSE(step.KeptUp());
  step.arrivals = Arrivals::kExponential;
  EXPECT_TRUE(step.KeptUp());
}

TEST(RateStepTest, PartsAddUpAndTellWhenAMissIsCertain) {
  const RateLimit limit = ParseRateLimit("--find-rate", "p99 < 1ms");
  RateStep step{.target = 1'000};
  step.Add(Part(2, {{1'000, 1'960}, {2'000'000, 40}}), limit);
  EXPECT_EQ(step.slower, 40u);
  EXPECT_FALSE(step.MissesForSure(limit, 10'000)) << "100 of 10,000 may be slower";
  step.Add(Part(2, {{1'000, 1'930}, {2'000'000, 70}}), limit);
  EXPECT_EQ(step.count(), 4'000u);
  EXPECT_EQ(step.slower, 110u);
  EXPECT_DOUBLE_EQ(step.rate(), 1'000);
  EXPECT_TRUE(step.MissesForSure(limit, 10'000));
}

// The middle of the bucket of these latencies is above the limit. Once, a step whose operations all
// met the limit ended early as a miss, and had all of them in the column `slower`.
TEST(RateStepTest, WhatIsSlowerAgreesWithThePercentile) {
  const RateLimit limit = ParseRateLimit("--find-rate", "p99 < 1ms");
  RateStep step{.target = 1'000};
  step.Add(Part(1, {{999'500, 1'000}}), limit);
  ASSERT_GT(Histogram::Middle(Histogram::BucketOf(999'500)), limit.limit_ns);
  EXPECT_EQ(step.slower, 0u);
  EXPECT_FALSE(step.MissesForSure(limit, 10'000));
  EXPECT_TRUE(step.Meets(limit));
  step.Add(Part(1, {{1'001'000, 1'000}}), limit);
  EXPECT_EQ(step.slower, 2'000u) << "now the bucket reaches the limit";
  EXPECT_FALSE(step.Meets(limit));
}

// A writer that works as fast as it can beside clients of a rate has no intended starts.
TEST(RateStepTest, AnOperationWithoutARateIsJudgedByItsLatency) {
  const RateLimit limit = ParseRateLimit("--find-rate", "update p99 < 1ms");
  RateStep step{.target = 2'000};
  PhaseResult part = Part(1, {{1'000, 1'000}});
  part.ops.push_back(Part(1, {{5'000'000, 300}}, kWrite).ops[0]);
  part.ops[1].intended = {};
  part.extra_operations = 300;
  step.Add(part, limit);
  EXPECT_EQ(step.count(), 300u);
  EXPECT_EQ(step.all_operations, 1'000u);
  EXPECT_FALSE(step.Meets(limit));
}

TEST(RateStepTest, ALimitOfOneKindLooksAtNoOther) {
  const RateLimit limit = ParseRateLimit("--find-rate", "update p99 < 1ms");
  RateStep step{.target = 2'000};
  PhaseResult part = Part(1, {{5'000'000, 1'000}});
  part.ops.push_back(Part(1, {{1'000, 1'000}}, kWrite).ops[0]);
  step.Add(part, limit);
  EXPECT_EQ(step.count(), 1'000u);
  EXPECT_EQ(step.all_operations, 2'000u);
  EXPECT_TRUE(step.Meets(limit));
}

}  // namespace
}  // namespace testbed
