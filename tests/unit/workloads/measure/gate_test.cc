// Tests the gate between a phase's main thread and its clients.
#include "workloads/measure/gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "workloads/measure/clock.h"

namespace testbed {
namespace {

void Sleep(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

// Clients that count their operations until the gate stops them.
class GateTest : public testing::Test {
 protected:
  void Start(Gate& gate, int clients) {
    for (int t = 0; t < clients; ++t) {
      threads_.emplace_back([&gate, this, t] {
        gate.Rest(t);
        while (true) {
          if (gate.Halted()) {
            if (gate.Stopping()) break;
            gate.Rest(t);
            continue;
          }
          ++operations_;
        }
        gate.Leave(t);
      });
    }
  }
  // Waits until the clients have done more than `before` operations. How long that takes is up to
  // the scheduler: on a loaded machine a client may run only long after the gate has been opened.
  bool WaitForOperations(uint64_t before) {
    for (int ms = 0; ms < 60000 && operations_ == before; ++ms) Sleep(1);
    return operations_ != before;
  }
  void Join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  std::atomic<uint64_t> operations_{0};
  std::vector<std::thread> threads_;
};

TEST_F(GateTest, ClientsWorkOnlyWhileItIsOpen) {
  Gate gate(2, true);
  Start(gate, 2);
  Sleep(20);
  EXPECT_EQ(operations_, 0u);
  for (int slice = 0; slice < 3; ++slice) {
    const uint64_t before = operations_;
    gate.Open();
    ASSERT_TRUE(WaitForOperations(before));
    const double seconds = gate.Close();
    EXPECT_GT(seconds, 0);
    EXPECT_LT(seconds, 60);
    // Close has returned, so no client may be in the middle of an operation.
    const uint64_t closed = operations_;
    Sleep(5);
    EXPECT_EQ(operations_, closed);
  }
  gate.Stop();
  Join();
  EXPECT_GT(gate.WorkedNs(0) + gate.WorkedNs(1), 0u);
}

TEST_F(GateTest, TheTimeOfASliceIsTheTimeThatClientsWorked) {
  using Clock = std::chrono::steady_clock;
  Gate gate(1, true);
  Start(gate, 1);
  double total = 0;
  for (int slice = 0; slice < 2; ++slice) {
    const Clock::time_point begin = Clock::now();
    const uint64_t before = operations_;
    gate.Open();
    ASSERT_TRUE(WaitForOperations(before));
    const double seconds = gate.Close();
    const std::chrono::duration<double> most = Clock::now() - begin;
    EXPECT_LE(seconds, most.count());
    total += seconds;
    Sleep(50);  // a rest, which must not count
  }
  EXPECT_NEAR(static_cast<double>(gate.WorkedNs(0)) / 1e9, total, 1e-6);
  gate.Stop();
  Join();
}

TEST_F(GateTest, StopWakesClientsThatRest) {
  Gate gate(3, true);
  Start(gate, 3);
  gate.Stop();
  Join();
  gate.Open();  // has no effect any more
  EXPECT_TRUE(gate.Stopping());
  EXPECT_EQ(gate.Close(), 0);
  EXPECT_EQ(operations_, 0u);
}

TEST_F(GateTest, StopWakesClientsThatAwaitItAndTellsItsTime) {
  Gate gate(2);
  const uint64_t before = Clock::Get().Now();
  for (int t = 0; t < 2; ++t) {
    threads_.emplace_back([&gate, t] {
      gate.Rest(t);
      while (!gate.Stopping()) gate.AwaitStop(600'000'000'000);
      gate.Leave(t);
    });
  }
  Sleep(20);
  gate.Stop();
  Join();
  const uint64_t stopped = gate.StoppedAt();
  EXPECT_GT(stopped, before);
  EXPECT_LT(stopped, Clock::Get().Now());
  gate.Stop();
  EXPECT_EQ(gate.StoppedAt(), stopped) << "the first stop counts";
  gate.AwaitStop(600'000'000'000);  // returns at once
}

TEST_F(GateTest, AwaitStopEndsWithItsTime) {
  Gate gate(1);
  gate.AwaitStop(1'000'000);
  EXPECT_FALSE(gate.Stopping());
}

TEST_F(GateTest, CloseDoesNotWaitForAClientThatHasLeft) {
  Gate gate(2, true);
  threads_.emplace_back([&gate] {
    gate.Rest(0);
    gate.Leave(0);
  });
  threads_.emplace_back([&gate, this] {
    gate.Rest(1);
    while (!gate.Halted()) ++operations_;
    gate.Rest(1);
    gate.Leave(1);
  });
  gate.Open();
  ASSERT_TRUE(WaitForOperations(0));
  EXPECT_GT(gate.Close(), 0);
  gate.Stop();
  Join();
}

}  // namespace
}  // namespace testbed
