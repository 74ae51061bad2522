#include "workloads/documents/allocation_meter.h"

#include <algorithm>

namespace testbed {
namespace {

// Returns the ticks that timing an empty call takes, at best.
double EmptyCallTicks() {
  const Clock& clock = Clock::Get();
  double best = 1e9;
  for (int round = 0; round < 20; ++round) {
    uint64_t ticks = 0;
    for (int i = 0; i < 200; ++i) {
      const uint64_t start = clock.Now();
      ticks += clock.Now() - start;
    }
    best = std::min(best, static_cast<double>(ticks) / 200);
  }
  return best;
}

}  // namespace

double AllocationMeter::NetNs() const {
  static const double kEmpty = EmptyCallTicks();
  const double net = static_cast<double>(ticks) - static_cast<double>(timed_calls) * kEmpty;
  return static_cast<double>(Clock::Get().ToNs(static_cast<uint64_t>(std::max(net, 0.0))));
}

}  // namespace testbed
