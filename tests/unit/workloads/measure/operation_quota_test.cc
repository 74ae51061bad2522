#include "workloads/measure/operation_quota.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>

#include "tests/unit/workloads/measure/map_engine.h"
#include "workloads/measure/runner.h"

namespace testbed {
namespace {

// Once, the first clients claimed a batch each, and the others had nothing to do.
TEST(OperationQuotaTest, AClientClaimsItsPartOfWhatIsLeft) {
  OperationQuota quota(100, 4, true);
  EXPECT_EQ(quota.Claim(64), 25u);
  EXPECT_EQ(quota.Claim(64), 19u);
  EXPECT_EQ(quota.Claim(3), 3u);
  EXPECT_FALSE(quota.IsUsedUp());
  uint64_t all = 25 + 19 + 3;
  while (const uint64_t n = quota.Claim(64)) all += n;
  EXPECT_EQ(all, 100u);
  EXPECT_TRUE(quota.IsUsedUp());
}

TEST(OperationQuotaTest, OperationsThatAreDividedInAdvanceNeedNoClaim) {
  OperationQuota quota(100, 4, false), unlimited(0, 4, true);
  EXPECT_EQ(quota.Claim(64), 64u);
  EXPECT_FALSE(quota.IsUsedUp());
  EXPECT_EQ(unlimited.Claim(64), 64u);
  EXPECT_FALSE(unlimited.IsUsedUp());
}

// A workload of a trace's kind: its clients differ in how many operations they have.
class UnequalWorkload : public SlowWorkload {
 public:
  UnequalWorkload() : SlowWorkload(0) {}
  uint64_t operations() const override { return 100000; }
  bool uneven() const override { return true; }
};

// The operations of a client are `gap_ns` apart.
class PacedClient : public Client {
 public:
  explicit PacedClient(uint64_t gap_ns) : gap_ns_(gap_ns) {}
  size_t Generate(size_t max) override {
    first_ += prepared_;
    prepared_ = max;
    return max;
  }
  uint64_t DueNs(size_t i) const override { return (first_ + i) * gap_ns_; }
  void Execute(size_t) override {}
  bool Verify(size_t) override { return true; }

 private:
  const uint64_t gap_ns_;
  uint64_t first_ = 0, prepared_ = 0;
};
class PacedWorkload : public UnequalWorkload {
 public:
  bool timed() const override { return true; }
  std::unique_ptr<Client> NewClient(Session&, int thread, int) override {
    return std::make_unique<PacedClient>(thread == 0 ? 1'000'000 : 100'000'000);
  }
};

// The second client claimed 64 operations at once, which it begins within six seconds, and the
// phase lasted as long.
TEST_F(RunnerTest, AClientThatWaitsKeepsNoOperationsFromTheOthers) {
  PacedWorkload workload;
  PhaseOptions phase;
  phase.threads = 2;
  phase.operations = 200;
  const PhaseResult result = RunPhase(engine_, workload, phase);
  EXPECT_EQ(result.operations(), 200u);
  EXPECT_LT(result.thread_operations.at(1), 64u);
}

// A client that finds no operation of its own looks for one until the phase is over.
class LookingClient : public Client {
 public:
  size_t Generate(size_t) override {
    while (!IsOver()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return 0;
  }
  void Execute(size_t) override {}
  bool Verify(size_t) override { return true; }
};
class LookingWorkload : public UnequalWorkload {
 public:
  std::unique_ptr<Client> NewClient(Session&, int thread, int) override {
    if (thread == 0) return std::make_unique<PacedClient>(0);
    return std::make_unique<LookingClient>();
  }
};

TEST_F(RunnerTest, AClientThatLooksForItsOperationsLearnsThatThePhaseIsOver) {
  LookingWorkload workload;
  PhaseOptions phase;
  phase.threads = 2;
  phase.operations = 200;
  EXPECT_EQ(RunPhase(engine_, workload, phase).operations(), 200u);
}

}  // namespace
}  // namespace testbed
