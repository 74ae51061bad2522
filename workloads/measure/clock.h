// The clock of the hot loop. It counts from an arbitrary start and is monotonic across processors.
//
// Clock reads the processor's time stamp counter (about 10 ns) where the kernel itself trusts that
// counter as its clock source, else clock_gettime(CLOCK_MONOTONIC) (about 24 ns). The counter's
// rate is calibrated against CLOCK_MONOTONIC_RAW once per process; ticks are converted to
// nanoseconds by a multiplication and a shift. Thread-safe.
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
  // Returns the process's clock. The first call calibrates it, which takes 20 ms, so it belongs
  // before the threads start.
  static const Clock& Get();

  // Returns the time in ticks. Only the difference of two readings has a meaning.
  uint64_t Now() const {
#if defined(__x86_64__)
    if (use_tsc_) return __rdtsc();
#endif
    return Monotonic();
  }
  // Converts a span of ticks to nanoseconds, and back.
  uint64_t ToNs(uint64_t ticks) const {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(ticks) * multiplier_) >> kShift);
  }
  uint64_t FromNs(uint64_t ns) const {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(ns) << kShift) / multiplier_);
  }
  // Keeps the processor busy for `ns` nanoseconds.
  void Spin(uint64_t ns) const {
    const uint64_t begin = Now(), ticks = FromNs(ns);
    while (Now() - begin < ticks) {
    }
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

// Returns the time of day (CLOCK_REALTIME) in nanoseconds since the epoch. It is for display, as it
// may be set at any time.
inline int64_t SystemNs() {
  timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return static_cast<int64_t>(t.tv_sec) * 1000000000 + t.tv_nsec;
}

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_MEASURE_CLOCK_H_
