// When the syncs of lazy durability begin: the one rule for all engines.
//
// A commit that just missed a sync is durable when the next one ends, so from the begin of one sync
// to the end of the next at most the interval may pass. The next one begins as late as that allows
// with a margin: twice what the slowest of the recent syncs took, a tenth of the interval at least,
// half of it at most. A device on which a sync takes longer than that does not keep up, and the
// commits are as old as it makes them.
//
//   LazyPace pace(std::chrono::milliseconds(100));
//   for (;;) { WaitUntil(pace.Next()); pace.Begin(); Sync(); pace.End(); }
#ifndef TESTBED_DEVICE_LOG_LAZY_PACE_H_
#define TESTBED_DEVICE_LOG_LAZY_PACE_H_

#include <algorithm>
#include <chrono>

namespace testbed {

class LazyPace {
 public:
  using Clock = std::chrono::steady_clock;
  explicit LazyPace(Clock::duration interval, Clock::time_point now = Clock::now())
      : interval_(interval), begin_(now) {}

  // When the next sync begins. Commits up to Begin are in the sync; a turn that finds nothing to
  // sync has a Begin and no End.
  Clock::time_point Next() const { return begin_ + Period(); }
  Clock::duration Period() const {
    return interval_ - std::clamp(2 * slowest_, interval_ / 10, interval_ / 2);
  }
  void Begin(Clock::time_point now = Clock::now()) { begin_ = now; }
  void End(Clock::time_point now = Clock::now()) {
    slowest_ = std::max(now - begin_, slowest_ - slowest_ / 8);
  }

 private:
  const Clock::duration interval_;
  Clock::time_point begin_;
  Clock::duration slowest_{0};  // of the recent syncs; what it was is forgotten by eighths
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_LOG_LAZY_PACE_H_
