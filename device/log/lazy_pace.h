// LazyPace says when the syncs of lazy durability begin. All engines follow this rule.
//
// A commit that just missed a sync is durable when the next sync ends, so at most the interval may
// pass from the begin of a sync to the end of the next. The next sync begins as late as that allows
// with a margin. The margin is twice the time of the slowest recent sync, but at least a tenth and
// at most half of the interval. On a device whose syncs take longer than that margin, commits may
// become durable later than the interval promises.
//
//   LazyPace pace(std::chrono::milliseconds(100));
//   for (;;) { WaitUntil(pace.Next()); pace.Begin(); Sync(); pace.End(); }
//
// Turn is a Begin, a sync and its End.
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

  // Next returns when the next sync is to begin. A sync covers the commits before its Begin. A turn
  // that finds nothing to sync has a Begin and no End.
  Clock::time_point Next() const { return begin_ + Period(); }
  Clock::duration Period() const {
    return interval_ - std::clamp(2 * slowest_, interval_ / 10, interval_ / 2);
  }
  // Runs a turn: Begin, `sync` and End. `sync` returns whether it found anything to sync.
  template <typename Sync>
  void Turn(const Sync& sync) {
    Begin();
    if (sync()) End();
  }
  void Begin(Clock::time_point now = Clock::now()) { begin_ = now; }
  void End(Clock::time_point now = Clock::now()) {
    slowest_ = std::max(now - begin_, slowest_ - slowest_ / 8);
  }

 private:
  const Clock::duration interval_;
  Clock::time_point begin_;
  Clock::duration slowest_{0};  // slowest recent sync; each faster one takes an eighth off
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_LOG_LAZY_PACE_H_
