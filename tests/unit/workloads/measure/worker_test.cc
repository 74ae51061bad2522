#include "workloads/measure/worker.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

namespace testbed {
namespace {

// Whoever measures without a series of seconds gets the same totals.
TEST(WorkerTest, TheResultHasTheChecksOfAllThreads) {
  PhaseResult result;
  for (const uint64_t n : {uint64_t{1}, uint64_t{10}}) {
    const auto worker = std::make_unique<Worker>();
    worker->verified.Add(4 * n);
    worker->wrong.Add(n);
    worker->counted_checks.Add(3 * n);
    worker->check_requests.Add(9 * n);
    worker->check_misses.Add(2 * n);
    AddWorker(*worker, 1, &result);
  }
  EXPECT_EQ(result.verified, 44u);
  EXPECT_EQ(result.wrong, 11u);
  EXPECT_EQ(result.checks.checks, 33u);
  EXPECT_EQ(result.checks.requests, 99u);
  EXPECT_EQ(result.checks.misses, 22u);
}

}  // namespace
}  // namespace testbed
