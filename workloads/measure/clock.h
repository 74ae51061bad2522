// The clock of the hot loop counts ticks since an arbitrary start, monotonic across processors.
//
//   const Clock& clock = Clock::Get();
//   const uint64_t begin = clock.Now();
//   ...
//   const uint64_t ns = clock.ToNs(clock.Now() - begin);
//
// It reads the processor's time stamp counter (about 10 ns) where the kernel trusts the counter as
// its own clock source, and else clock_gettime(CLOCK_MONOTONIC) (about 24 ns). The counter's rate
// is calibrated against CLOCK_MONOTONIC_RAW once per process. Ticks are converted by multiply and
// shift. Thread-safe.
#ifndef TESTBED_WORKLOADS_MEASURE_CLOCK_H_
#define TESTBED_WORKLOADS_MEASURE_CLOCK_H_

#include <cstdint>
#include <ctime>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace testbed {

class Clock {
 public:
  // Returns the clock. The first call calibrates it, which takes 20 ms, so it is made before
  // threads start.
  static const Clock& Get();

  // Returns the time in ticks. Only differences of times mean something.
  uint64_t Now() const {
#if defined(__x86_64__)
    if (use_tsc_) return __rdtsc();
#endif
    return Monotonic();
  }
  // These convert a span of time between ticks and nanoseconds.
  uint64_t ToNs(uint64_t ticks) const {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(ticks) * multiplier_) >> kShift);
  }
  uint64_t FromNs(uint64_t ns) const {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(ns) << kShift) / multiplier_);
  }
  bool uses_tsc() const { return use_tsc_; }

  // Returns CLOCK_MONOTONIC in nanoseconds.
  static uint64_t Monotonic() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<uint64_t>(t.tv_sec) * 1000000000ull + static_cast<uint64_t>(t.tv_nsec);
  }

 private:
  Clock();
  static constexpr int kShift = 32;
  bool use_tsc_ = false;
  uint64_t multiplier_ = 1ull << kShift;  // nanoseconds per tick, times 2^kShift
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_MEASURE_CLOCK_H_
