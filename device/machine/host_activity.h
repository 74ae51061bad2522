// What the whole machine does, as vmstat and ps show it: for metrics that are defined by them.
#ifndef TESTBED_DEVICE_MACHINE_HOST_ACTIVITY_H_
#define TESTBED_DEVICE_MACHINE_HOST_ACTIVITY_H_

#include <cstdint>
#include <optional>
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

// Processor time in user mode up to a moment: of all programs of the machine, and of this run. User
// mode alone: kernel threads, as the workers of a loop device, serve the run and have none.
struct CpuUse {
  double at_seconds = 0;         // of a clock that only goes forward
  double host_user_seconds = 0;  // 0 where /proc does not tell
  double own_user_seconds = 0;   // this process, its parent, and children that have ended
};

// `root` stands before /proc, for tests.
CpuUse ReadCpuUse(const std::string& root = "");

// What other programs took of `cpus` processors between two readings, 0 to 1. Nothing when /proc
// does not tell, and of less than 0.2 s, of which a tick of /proc/stat (10 ms) is too much.
std::optional<double> ForeignCpuShare(const CpuUse& before, const CpuUse& after, int64_t cpus);

// Bytes of this process that are in memory now, as ps shows them (RSS).
uint64_t ProcessResidentBytes();

}  // namespace testbed

#endif  // TESTBED_DEVICE_MACHINE_HOST_ACTIVITY_H_
