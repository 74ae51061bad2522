#include "workloads/measure/clock.h"

#include <fstream>
#include <string>

namespace testbed {

const Clock& Clock::Get() {
  static const Clock clock;
  return clock;
}

Clock::Clock() {
#if defined(__x86_64__)
  std::string source;
  std::ifstream("/sys/devices/system/clocksource/clocksource0/current_clocksource") >> source;
  if (source != "tsc") return;
  // Compares both clocks at two moments 20 ms apart. Each comparison errs by less than 100 ns, so
  // the rate errs by about five in a million.
  auto raw = [] {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return static_cast<uint64_t>(t.tv_sec) * 1000000000ull + static_cast<uint64_t>(t.tv_nsec);
  };
  const uint64_t ns = raw();
  const uint64_t ticks = __rdtsc();
  timespec pause{0, 20000000};
  nanosleep(&pause, nullptr);
  const uint64_t ns_passed = raw() - ns;
  const uint64_t ticks_passed = __rdtsc() - ticks;
  if (ticks_passed == 0) return;
  multiplier_ =
      static_cast<uint64_t>((static_cast<unsigned __int128>(ns_passed) << kShift) / ticks_passed);
  use_tsc_ = true;
#endif
}

}  // namespace testbed
