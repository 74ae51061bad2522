// Tests the times that a phase measures: of operations beside checks, and of clients that are due.
#include <gtest/gtest.h>
#include <time.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "device/account/ledger.h"
#include "tests/unit/workloads/measure/map_engine.h"
#include "workloads/measure/clock.h"
#include "workloads/measure/runner.h"
#include "workloads/registry.h"

namespace testbed {
namespace {

// Returns whether one of a few tries is quick. A stall of the machine may lengthen each of them,
// and nothing can shorten what takes its time by a mistake.
bool InSomeTry(const std::function<bool()>& is_quick) {
  for (int i = 0; i < 5; ++i) {
    if (is_quick()) return true;
  }
  return false;
}

TEST_F(RunnerTest, LatencyCoversTheOperationAndNotTheCheck) {
  SlowWorkload workload(300);
  PhaseOptions phase;
  phase.operations = 4;
  phase.verify_every = 1;
  EXPECT_TRUE(InSomeTry([&] {
    const PhaseResult result = RunPhase(engine_, workload, phase);
    EXPECT_EQ(result.verified, 4u);
    EXPECT_EQ(result.wrong, 0u);
    EXPECT_EQ(result.ops[0].latency.count(), 4u);
    EXPECT_GE(result.ops[0].latency.Percentile(0.01), 19000000u);
    return result.ops[0].latency.max_ns() < 300000000u;
  }));
  // The operations that are due while a check runs do not wait for the engine.
  phase.rate = 10;
  EXPECT_TRUE(InSomeTry([&] {
    const PhaseResult rated = RunPhase(engine_, workload, phase);
    EXPECT_EQ(rated.ops[0].intended.count(), 4u);
    return rated.ops[0].intended.max_ns() < 200000000u && rated.backlog_seconds < 0.2;
  }));
}

// A SliceControl that writes as background work whenever it is called, and notes what its slices
// had of that.
class WritingSlices : public SliceControl {
 public:
  std::optional<double> Next() override {
    Write(1000);
    return left_-- > 0 ? std::optional<double>(0.001) : std::nullopt;
  }
  void Begins() override { Write(10); }
  void Ends() override { Write(5); }
  void Done(const Interval& slice, const HistogramCounts&, double) override {
    Write(1000);
    for (const BackgroundWork& work : slice.background) {
      if (work.op.id == op_.id) written.push_back(work.write_bytes);
    }
  }
  std::vector<uint64_t> written;

 private:
  void Write(uint64_t bytes) {
    const IoScope scope(op_);
    Ledger::ThisThread().CountWrite(FileKind::kData, bytes);
  }
  const OpKind op_ = DefineOp("writing-slices", Ground::kBackground);
  int left_ = 3;
};

TEST_F(RunnerTest, ASliceIsFromItsBeginToItsEnd) {
  Load(1, 100);
  WritingSlices slices;
  PhaseOptions phase;
  phase.slices = &slices;
  Read(phase);
  EXPECT_EQ(slices.written, (std::vector<uint64_t>{15, 15, 15}));
}

// A client that keeps rows in each operation that is checked, which takes 50 ms more for it.
class KeepingClient : public SlowClient {
 public:
  KeepingClient() : SlowClient(0) {}
  void Execute(size_t i) override {
    SlowClient::Execute(i);
    if (to_verify_) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  bool Kept() const override { return to_verify_; }
};
class KeepingWorkload : public SlowWorkload {
 public:
  KeepingWorkload() : SlowWorkload(0) {}
  std::unique_ptr<Client> NewClient(Session&, int, int) override {
    return std::make_unique<KeepingClient>();
  }
};

TEST_F(RunnerTest, AnOperationThatKeepsRowsForItsCheckIsInNoLatency) {
  KeepingWorkload workload;
  PhaseOptions phase;
  phase.operations = 9;
  phase.verify_every = 3;
  for (const double rate : {0.0, 1000.0}) {
    phase.rate = rate;
    EXPECT_TRUE(InSomeTry([&] {
      const PhaseResult result = RunPhase(engine_, workload, phase);
      EXPECT_EQ(result.verified, 3u);
      EXPECT_EQ(result.operations(), 9u);
      EXPECT_EQ(result.ops[0].latency.count(), 6u);
      EXPECT_EQ(result.ops[0].intended.count(), rate > 0 ? 6u : 0u);
      EXPECT_EQ(result.due_operations(), rate > 0 ? 9u : 0u);
      return result.ops[0].latency.max_ns() < 70000000u;
    }));
  }
  // Where all operations are checked, no others tell the latency.
  phase.rate = 0;
  phase.verify_every = 1;
  const PhaseResult all = RunPhase(engine_, workload, phase);
  EXPECT_EQ(all.ops[0].latency.count(), 9u);
  EXPECT_GE(all.ops[0].latency.Percentile(0.01), 65000000u);
}

// The check of an update gets the row, which the update does not.
TEST_F(RunnerTest, TheBlocksThatChecksAskForAreCountedApart) {
  Load(1, 100);
  WorkloadOptions options;
  options.mix = {{"update", 1}};
  PhaseOptions phase;
  phase.threads = 2;
  phase.operations = 400;
  phase.verify_every = 4;
  const auto run = [&] {
    return RunPhase(engine_, *FindWorkload("mixed").make(dataset_, options), phase);
  };
  EXPECT_EQ(run().checks.checks, 0u) << "its sessions count no blocks";
  engine_.counts_blocks = true;
  const PhaseResult updates = run();
  EXPECT_EQ(updates.verified, 100u);
  EXPECT_EQ(updates.checks.checks, 100u);
  EXPECT_EQ(updates.checks.requests, 300u);
  EXPECT_EQ(updates.checks.misses, 100u);
  const PhaseResult reads = Read(phase);
  EXPECT_EQ(reads.checks.checks, 100u);
  EXPECT_EQ(reads.checks.requests, 0u) << "a check looks at the value that was read";
}

// A client that takes 10 ms to prepare an operation, which takes 20 ms, and its check 10 ms.
class PreparingClient : public SlowClient {
 public:
  PreparingClient() : SlowClient(10) {}
  size_t Generate(size_t most) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return SlowClient::Generate(most);
  }
};
class PreparingWorkload : public SlowWorkload {
 public:
  PreparingWorkload() : SlowWorkload(10) {}
  std::unique_ptr<Client> NewClient(Session&, int, int) override {
    return std::make_unique<PreparingClient>();
  }
};

// A rate that the harness's own work has lowered must show where it comes from.
TEST_F(RunnerTest, TheTimeInWhichClientsPrepareOperationsIsToldApart) {
  PreparingWorkload workload;
  PhaseOptions phase;
  phase.threads = 2;
  phase.operations = 4;
  phase.verify_every = 1;
  for (const double rate : {0.0, 1000.0}) {
    for (const bool latency : {true, false}) {
      phase.rate = rate;
      phase.latency = latency;
      const PhaseResult result = RunPhase(engine_, workload, phase);
      ASSERT_EQ(result.thread_seconds.size(), 2u);
      const double seconds = result.thread_seconds[0] + result.thread_seconds[1];
      EXPECT_GE(result.preparing_seconds, 4 * 0.0099);
      EXPECT_LE(result.preparing_seconds, seconds - 4 * 0.0299) << "operations and checks";
    }
  }
}

// The clients of two tasks are due at equal gaps, as two clients of one process are: that of task 1
// half a gap after that of task 0, and each performs half of the rate.
TEST_F(RunnerTest, ClientsOfSeveralTasksAreDueAsThoseOfOneProcess) {
  Load(1, 100);
  PhaseOptions phase;
  phase.rate = 10;
  phase.tasks = 2;
  phase.operations = 2;
  EXPECT_GE(Read(phase).seconds, 0.2) << "the gap of each client";
  phase.task = 1;
  phase.operations = 1;
  EXPECT_GE(Read(phase).seconds, 0.1) << "half a gap";
}

// The client of task 1 of a hundred is due a hundredth of its gap of a second after that of task 0,
// and not a gap after it, as the second client of a single one.
TEST_F(RunnerTest, TheStartsOfAllTasksAreSpreadOverOneGap) {
  Load(1, 100);
  PhaseOptions phase;
  phase.rate = 100;
  phase.tasks = 100;
  phase.task = 1;
  phase.operations = 1;
  EXPECT_TRUE(InSomeTry([&] { return Read(phase).seconds < 0.9; }));
}

// Each client performs one operation a second, so most of them wait when the phase ends.
TEST_F(RunnerTest, AClientThatWaitsForItsNextOperationEndsWithThePhase) {
  Load(1, 100);
  PhaseOptions phase;
  phase.threads = 8;
  phase.rate = 8;
  phase.seconds = 0.21;
  EXPECT_TRUE(InSomeTry([&] {
    const PhaseResult result = Read(phase);
    EXPECT_GE(result.seconds, 0.21);
    for (const double seconds : result.thread_seconds) EXPECT_LE(seconds, result.seconds);
    return result.seconds < 0.25 && result.series.back().end_seconds < 0.25;
  }));
}

// A wait that the stop does not end, as it is short, is not part of the phase either.
TEST_F(RunnerTest, AShortWaitDoesNotLengthenThePhase) {
  Load(1, 100);
  PhaseOptions phase;
  phase.rate = 60;
  phase.seconds = 0.105;  // the operations are due each 16.7 ms: at 100 and 116.7 ms
  EXPECT_TRUE(InSomeTry([&] { return Read(phase).seconds < 0.11; }));
}

TEST_F(RunnerTest, AWriterThatWaitsEndsWithTheReaders) {
  Load(1, 100);
  WorkloadOptions options;
  options.extra = {{"write_rate", "1"}};
  PhaseOptions phase;
  phase.operations = 100;
  phase.verify_every = 0;
  EXPECT_TRUE(InSomeTry([&] {
    const PhaseResult result =
        RunPhase(engine_, *FindWorkload("readwhilewriting").make(dataset_, options), phase);
    return result.seconds < 0.05 && result.series.back().end_seconds < 0.05;
  }));
}

// A workload whose operation takes 400 ms.
class LongClient : public SlowClient {
 public:
  LongClient() : SlowClient(0) {}
  void Execute(size_t) override { std::this_thread::sleep_for(std::chrono::milliseconds(400)); }
};
class LongWorkload : public SlowWorkload {
 public:
  LongWorkload() : SlowWorkload(0) {}
  std::unique_ptr<Client> NewClient(Session&, int, int) override {
    return std::make_unique<LongClient>();
  }
};

// Returns the processor time of the calling thread.
uint64_t OwnCpuNs() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

// The main thread's processor time is part of that of the run.
TEST_F(RunnerTest, TheLastOperationsAreAwaitedWithoutProcessorTime) {
  Clock::Get();  // its calibration takes time
  LongWorkload workload;
  PhaseOptions phase;
  phase.seconds = 0.05;
  phase.verify_every = 0;
  const uint64_t before = OwnCpuNs();
  EXPECT_GE(RunPhase(engine_, workload, phase).seconds, 0.39);
  EXPECT_LT(OwnCpuNs() - before, 100'000'000u);
}

// The writer has no share of --operations. Its updates, which are many more than the reads, made
// the phase look done at once.
TEST_F(RunnerTest, TheShareThatIsDoneIsOfTheOperationsAskedFor) {
  Load(1, 100);
  engine_.pause_ns = 10'000'000;
  PhaseOptions phase;
  phase.operations = 200;  // these take the reader 2 seconds
  phase.verify_every = 0;
  double done = -1;
  phase.progress = [&done](const PhaseOptions::Progress& progress) {
    if (done < 0) done = progress.fraction;
  };
  RunPhase(engine_, *FindWorkload("readwhilewriting").make(dataset_, {}), phase);
  EXPECT_GT(done, 0);
  EXPECT_LT(done, 0.9);
}

}  // namespace
}  // namespace testbed
