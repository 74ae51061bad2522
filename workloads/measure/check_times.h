// The times that a thread spent in checks of its answers. They are the harness's own: an operation
// that was due while a check ran did not wait for the engine.
#ifndef TESTBED_WORKLOADS_MEASURE_CHECK_TIMES_H_
#define TESTBED_WORKLOADS_MEASURE_CHECK_TIMES_H_

#include <cstdint>
#include <deque>

namespace testbed {

// One thread's checks, in any unit of time. Not thread-safe.
class CheckTimes {
 public:
  // Adds a check. Checks are added in their order.
  void Add(uint64_t begin, uint64_t end) {
    checks_.push_back({begin, end, sum_});
    sum_ += end - begin;
  }
  // Returns how much of the time since `from` was spent in checks. `from` never falls from call to
  // call, so checks that ended before it are forgotten.
  uint64_t Since(uint64_t from) {
    while (!checks_.empty() && checks_.front().end <= from) checks_.pop_front();
    if (checks_.empty()) return 0;
    const Check& first = checks_.front();
    return sum_ - first.before - (from > first.begin ? from - first.begin : 0);
  }

 private:
  struct Check {
    uint64_t begin, end;
    uint64_t before;  // time spent in all checks before it
  };
  std::deque<Check> checks_;
  uint64_t sum_ = 0;
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_MEASURE_CHECK_TIMES_H_
