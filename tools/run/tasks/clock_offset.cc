#include "tools/run/tasks/clock_offset.h"

#include <algorithm>

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
  return {((best.received - best.asked) + (best.answered - best.returned)) / 2,
          std::max<int64_t>(0, (UnderWay(best) + 1) / 2)};
}

}  // namespace testbed
