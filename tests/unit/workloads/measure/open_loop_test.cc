#include "workloads/measure/open_loop.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "tests/unit/workloads/measure/map_engine.h"
#include "workloads/registry.h"

namespace testbed {
namespace {

TEST(OwnWorkTest, CountsWhatCameAfter) {
  OwnWork own;
  EXPECT_EQ(own.Since(0), 0u);
  own.Add(10, 15);
  own.Add(20, 30);
  EXPECT_EQ(own.Since(5), 15u);
  EXPECT_EQ(own.Since(12), 13u);
  EXPECT_EQ(own.Since(15), 10u);
  own.Add(40, 41);
  EXPECT_EQ(own.Since(29), 2u);
  EXPECT_EQ(own.Since(41), 0u);
}

// Ten billion operations are due each second. One by one they would take minutes to count.
TEST(OpenLoopTest, CountsAnyNumberOfOperationsThatWereDue) {
  for (const Arrivals arrivals : {Arrivals::kEven, Arrivals::kExponential}) {
    Worker worker;
    const Clock& clock = Clock::Get();
    const uint64_t start = clock.Now(), end = start + clock.FromNs(100'000'000'000);
    OpenLoop loop(clock, start, ArrivalTimes(arrivals, RateCurve::Constant(1e10), 0, 1, 1),
                  &worker);
    loop.NoteUndone(UINT64_MAX, end);
    HistogramCounts undone;
    undone.Add(worker.undone);
    EXPECT_NEAR(static_cast<double>(undone.count()) / 1e12, 1, 1e-5);
    EXPECT_NEAR(undone.mean_ns() / 1e9, 50, 0.001) << "the sum of the waits exceeds 64 bits";
    EXPECT_NEAR(static_cast<double>(undone.Percentile(0.25)) / 1e9, 25, 0.5);
    EXPECT_NEAR(static_cast<double>(worker.backlog_ns) / 1e9, 100, 0.001);
  }
}

TEST_F(RunnerTest, AnOpenLoopKeepsItsRateAndCountsWaitingFromTheIntendedStart) {
  Load(1, 100);
  PhaseOptions phase;
  phase.threads = 2;
  phase.rate = 2000;
  phase.operations = 1000;
  const PhaseResult easy = Read(phase);
  EXPECT_GE(easy.seconds, 0.45);
  EXPECT_EQ(easy.ops[0].intended.count(), 1000u);
  // The rate is far above what the engine can serve, so the backlog grows.
  engine_.pause_ns = 1000000;
  phase.rate = 20000;
  const PhaseResult late = Read(phase);
  EXPECT_GT(late.backlog_seconds, 0.2);
  EXPECT_GT(late.ops[0].intended.Percentile(0.5), 5 * late.ops[0].latency.Percentile(0.5));
}

// Returns how many operations two threads can perform in the phase when each takes a millisecond or
// more. A busy machine may end a phase late.
double MostOperations(const PhaseResult& phase) { return 2 * (phase.seconds * 1000 + 1); }

TEST_F(RunnerTest, WhatWasDueAndHadNotBegunIsCountedWhenThePhaseEnds) {
  Load(1, 100);
  engine_.pause_ns = 1000000;
  PhaseOptions phase;
  phase.threads = 2;
  phase.seconds = 0.3;
  for (const Arrivals arrivals : {Arrivals::kEven, Arrivals::kExponential}) {
    phase.arrivals = arrivals;
    phase.rate = 10000;
    const PhaseResult late = Read(phase);
    // Each operation that was due was performed or is left. The number of random arrivals may
    // deviate by four of its standard deviations.
    const uint64_t due = arrivals == Arrivals::kEven ? 3000 : 2780;
    EXPECT_GE(late.operations() + late.undone.count(), due);
    EXPECT_LE(static_cast<double>(late.operations()), MostOperations(late));
    EXPECT_GE(late.undone.max_ns(), 150000000u) << "the oldest has waited for long";
    EXPECT_GE(late.backlog_seconds, 0.15);
    // The latency from the intended start must include every operation that was due, with the time
    // that it had waited.
    EXPECT_EQ(late.due_operations(), late.operations() + late.undone.count());
    const HistogramCounts all = late.ops[0].FromIntended();
    EXPECT_EQ(all.count(), late.due_operations());
    EXPECT_EQ(late.ops[0].intended.count(), late.operations());
    EXPECT_LT(all.Percentile(0.5), 300000000u);
    EXPECT_GE(all.Percentile(0.999), late.undone.Percentile(0.99));
  }
  // No operation may be left when the phase ends by its number of operations.
  phase.seconds = 0;
  phase.operations = 100;
  EXPECT_EQ(Read(phase).undone.count(), 0u);
}

// An operation whose server was lost was due and began. Once, such operations were missing among
// those that were due.
TEST_F(RunnerTest, WhatGotNoAnswerWasDue) {
  Load(1, 100);
  engine_.addresses = {{"n1", ""}, {"n2", ""}};
  engine_.lost_reads = 5;
  PhaseOptions phase;
  phase.threads = 2;
  phase.rate = 10000;
  phase.operations = 300;
  const PhaseResult result = Read(phase);
  EXPECT_EQ(result.unanswered(), 5u);
  EXPECT_EQ(result.due_operations(), 300u);
  EXPECT_EQ(result.lateness.count(), 300u);
  EXPECT_EQ(result.ops[0].intended.count(), 295u) << "they have no latency";
}

// A workload that sets the times of its operations is an open loop as well.
TEST_F(RunnerTest, WhatMixgraphsSineMadeDueIsCountedWhenThePhaseEnds) {
  Load(1, 100);
  engine_.pause_ns = 1'000'000;
  WorkloadOptions options;
  options.extra = {{"sine_mix_rate", "on"}, {"sine_a", "0"}, {"sine_d", "10000"}};
  PhaseOptions phase;
  phase.threads = 2;
  phase.seconds = 0.3;
  const PhaseResult late =
      RunPhase(engine_, *FindWorkload("mixgraph").make(dataset_, options), phase);
  EXPECT_TRUE(late.knows_undone);
  EXPECT_LE(static_cast<double>(late.operations()), MostOperations(late));
  EXPECT_NEAR(static_cast<double>(late.due_operations()), 10000 * late.seconds,
              1000 * late.seconds);
  EXPECT_EQ(late.ops[0].FromIntended().count(), late.due_operations());
  EXPECT_GE(late.backlog_seconds, 0.15);
  EXPECT_GE(late.undone.max_ns(), 150'000'000u);
  engine_.pause_ns = 10'000'000;
  phase.operations = 100;
  const PhaseResult limited =
      RunPhase(engine_, *FindWorkload("mixgraph").make(dataset_, options), phase);
  EXPECT_LT(limited.operations(), 100u);
  EXPECT_EQ(limited.due_operations(), 100u) << "no more than was asked for";
}

// The times come again and again, as those of a client that has prepared nothing.
class ManyDueClient : public SlowClient {
 public:
  ManyDueClient() : SlowClient(0) {}
  uint64_t PassOver(uint64_t n) override {
    ++calls_;
    return std::exchange(next_ns_, next_ns_ + n);
  }
  uint64_t calls() const { return calls_; }

 private:
  uint64_t next_ns_ = 1, calls_ = 0;  // an operation each nanosecond
};

TEST(OpenLoopTest, CountsAnyNumberOfOperationsWhoseTimesTheWorkloadSets) {
  Worker worker;
  const Clock& clock = Clock::Get();
  const uint64_t start = clock.Now(), end = start + clock.FromNs(100'000'000'000);
  OpenLoop loop(clock, start, std::nullopt, &worker);
  ManyDueClient client;
  loop.NoteUndoneOf(&client, UINT64_MAX, end);
  HistogramCounts undone;
  undone.Add(worker.undone);
  EXPECT_NEAR(static_cast<double>(undone.count()) / 1e11, 1, 1e-4);
  EXPECT_NEAR(undone.mean_ns() / 1e9, 50, 0.01);
  EXPECT_LT(client.calls(), 3'000'000u);
}

TEST_F(RunnerTest, NoMoreIsLeftThanWasAskedFor) {
  Load(1, 100);
  engine_.pause_ns = 10'000'000;
  PhaseOptions phase;
  phase.threads = 2;
  phase.rate = 10000;
  phase.operations = 100;
  phase.seconds = 0.2;
  const PhaseResult late = Read(phase);
  EXPECT_LT(late.operations(), 100u);
  EXPECT_EQ(late.due_operations(), 100u);
  EXPECT_EQ(late.ops[0].FromIntended().count(), 100u);
}

// The curve of the rate makes the bookkeeping of what was due take longer than the phase. None of
// that time is the phase's, at whose end the first operation that is left has waited since it was
// due.
TEST_F(RunnerTest, ThePhaseEndsBeforeItsThreadsCountWhatWasDue) {
  SlowWorkload workload(0);
  const RateCurve curve = RateCurve::Wave(2e8, 6e8, 0.01);
  PhaseOptions phase;
  phase.curve = &curve;
  phase.rate = curve.Mean();
  phase.verify_every = 0;
  phase.seconds = 0.1;
  const PhaseResult late = RunPhase(engine_, workload, phase);
  const double due = static_cast<double>(late.operations()) / phase.rate;
  EXPECT_NEAR(late.seconds - due, static_cast<double>(late.undone.max_ns()) / 1e9, 0.1);
  EXPECT_NEAR(static_cast<double>(late.due_operations()), phase.rate * late.seconds,
              0.1 * phase.rate * late.seconds);
}

// Clients that the workload gives a rate take nothing of the rate of the phase.
class RatedWorkload : public SlowWorkload {
 public:
  RatedWorkload() : SlowWorkload(0) {}
  double ThreadRate(int thread, int) const override { return thread == 0 ? 5 : 0; }
};

TEST_F(RunnerTest, ClientsWithoutARateOfTheirOwnShareThatOfThePhase) {
  RatedWorkload workload;
  PhaseOptions phase;
  phase.threads = 2;
  phase.rate = 20;
  phase.seconds = 1;
  const PhaseResult result = RunPhase(engine_, workload, phase);
  ASSERT_EQ(result.thread_operations.size(), 2u);
  // The client that is left has all 20 operations a second, of which the machine may lose some.
  EXPECT_GT(result.thread_operations[1] + result.undone.count(), 14u);
  EXPECT_EQ(result.extra_operations, result.thread_operations[0]);
}

TEST_F(RunnerTest, WhatHadNotBegunIsTakenToBeMixedAsWhatWasPerformed) {
  Load(1, 100);
  engine_.pause_ns = 1000000;
  WorkloadOptions options;
  options.mix = {{"point-read", 50}, {"update", 50}};
  auto mixed = FindWorkload("mixed").make(dataset_, options);
  PhaseOptions phase;
  phase.seconds = 0.2;
  phase.rate = 10000;
  const PhaseResult result = RunPhase(engine_, *mixed, phase);
  ASSERT_GT(result.undone.count(), 100u);
  uint64_t undone = 0;
  for (const PhaseResult::Op& op : result.ops) {
    undone += op.undone.count();
    const double share = static_cast<double>(op.count) / static_cast<double>(result.operations());
    EXPECT_NEAR(static_cast<double>(op.undone.count()),
                share * static_cast<double>(result.undone.count()), 1);
  }
  EXPECT_EQ(undone, result.undone.count()) << "the kinds add up to the whole";
}

}  // namespace
}  // namespace testbed
