#include "tools/run/tasks/clock_offset.h"

#include <algorithm>

#include "workloads/measure/clock.h"

namespace testbed {
namespace {

// Returns how long the messages of the exchange were under way.
int64_t UnderWay(const ClockExchange& e) {
  return (e.returned - e.asked) - (e.answered - e.received);
}

}  // namespace

ClockOffset OffsetOf(const std::vector<ClockExchange>& exchanges) {
  const ClockExchange& best = *std::min_element(
      exchanges.begin(), exchanges.end(),
      [](const ClockExchange& a, const ClockExchange& b) { return UnderWay(a) < UnderWay(b); });
  return {.ns = ((best.received - best.asked) + (best.answered - best.returned)) / 2,
          .error_ns = std::max<int64_t>(0, (UnderWay(best) + 1) / 2)};
}

int64_t MonotonicNs() { return static_cast<int64_t>(Clock::Monotonic()); }

// The thread may lose its processor between the two readings, so the pair with the least time
// between them counts.
int64_t WallAheadOf(const std::function<int64_t()>& now) {
  constexpr int kReadings = 3;
  int64_t ahead = 0, least = INT64_MAX;
  for (int i = 0; i < kReadings; ++i) {
    const int64_t before = now(), wall = SystemNs(), after = now();
    if (after - before >= least) continue;
    least = after - before;
    ahead = wall - before - least / 2;
  }
  return ahead;
}

}  // namespace testbed
