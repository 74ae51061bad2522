// What the whole machine does, as vmstat and ps show it: for metrics that are defined by them.
#ifndef TESTBED_DEVICE_HOST_ACTIVITY_H_
#define TESTBED_DEVICE_HOST_ACTIVITY_H_

#include <cstdint>
#include <string>

namespace testbed {

// Since the machine was started; the difference of two readings is what it did between them. Zeros
// where /proc does not tell.
struct HostActivity {
  uint64_t context_switches = 0;
  double user_seconds = 0, system_seconds = 0;  // of all CPUs together: vmstat's us and sy
};

// `root` stands before /proc, for tests.
HostActivity ReadHostActivity(const std::string& root = "");

// Bytes of this process that are in memory now, as ps shows them (RSS).
uint64_t ProcessResidentBytes();

}  // namespace testbed

#endif  // TESTBED_DEVICE_HOST_ACTIVITY_H_
