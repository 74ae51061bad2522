#include "workloads/measure/open_loop.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace testbed
