// Reads what the whole machine does, for metrics that are defined by what vmstat and ps show.
// Thread-safe.
#ifndef TESTBED_DEVICE_MACHINE_HOST_ACTIVITY_H_
#define TESTBED_DEVICE_MACHINE_HOST_ACTIVITY_H_

#include <cstdint>
#include <optional>
#include <string>

namespace testbed {

// HostActivity says what the machine did since it was started. The values are 0 where /proc does
// not tell them.
struct HostActivity {
  uint64_t context_switches = 0;
  double user_seconds = 0, system_seconds = 0;  // summed over all CPUs: vmstat's us and sy
  double steal_seconds = 0;  // time that the hypervisor withheld from CPUs: vmstat's st
};

// Returns a reading. Tests set `root`, which stands before /proc.
HostActivity ReadHostActivity(const std::string& root = "");

// CpuUse is the processor time used up to a moment: by all programs of the machine and by this run
// in user mode, and what the hypervisor took of the processors (st in vmstat). Kernel threads, such
// as the workers of a loop device, serve the run but have no time in user mode. So the time in user
// mode tells other programs from the run.
struct CpuUse {
  double at_seconds = 0;         // time of the reading, by a clock that only goes forward
  double host_user_seconds = 0;  // 0 where /proc does not tell
  double own_user_seconds = 0;   // this process, its parent, its servers, and its ended children
  double steal_seconds = 0;      // also 0 on a machine without a hypervisor
};

// Returns a reading. Tests set `root`, which stands before /proc.
CpuUse ReadCpuUse(const std::string& root = "");

// ForeignCpuShare returns the share of `cpus` processors, 0 to 1, that other programs used in user
// mode between two readings; OwnCpuShare returns the share that this run used so, and StealShare
// the one that the hypervisor took. All return nothing when /proc does not tell, and when the
// readings are less than 0.2 seconds apart, for which a tick of /proc/stat (10 ms) is too coarse.
std::optional<double> ForeignCpuShare(const CpuUse& before, const CpuUse& after, int64_t cpus);
std::optional<double> OwnCpuShare(const CpuUse& before, const CpuUse& after, int64_t cpus);
std::optional<double> StealShare(const CpuUse& before, const CpuUse& after, int64_t cpus);

// Returns the bytes of this process that are in memory now, as ps shows them (RSS).
uint64_t ProcessResidentBytes();
// Returns the bytes in memory now of the run: of this process and of its servers
// (device/os/run_cpu.h).
uint64_t RunResidentBytes();

}  // namespace testbed

#endif  // TESTBED_DEVICE_MACHINE_HOST_ACTIVITY_H_
