// HostFacts are the facts about the machine that shape results. Every run records them.
//
//   HostFacts host = ReadHostFacts(directory);
//   for (const auto& [name, value] : host.Fields()) ...     // as in the run's JSON
//
// tools/inspect/doctor.h judges the same facts for a user.
//
// DAMON is the kernel's data access monitor. Some hosts use it to reclaim memory ahead of need: it
// evicts pages of the page cache that were not touched for some seconds, although memory is free,
// and testbed then sees misses that the engine did not cause. DAMON belongs to the host, so testbed
// reports it and leaves it alone.
#ifndef TESTBED_DEVICE_MACHINE_HOST_H_
#define TESTBED_DEVICE_MACHINE_HOST_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace testbed {

// Returns the name of this host, as the kernel has it; "" when it has none.
std::string HostName();

// Returns the numbers of the processors that this process may run on, however many the machine has.
std::vector<int> OwnProcessors();

enum class Reclaim : uint8_t {
  kNone,     // the kernel has no DAMON, or DAMON is switched off
  kRunning,  // a monitoring thread of the kernel runs
  kUnknown,  // the kernel's threads are not visible here (a container)
};
const char* ReclaimName(Reclaim reclaim);  // "none", "running", "unknown"

struct HostFacts {
  std::string kernel;            // "6.18.44"
  std::string operating_system;  // "Debian GNU/Linux 12 (bookworm)"
  std::string cpu_model;
  uint32_t cpus = 0;         // processors that this process may run on
  uint32_t cpus_online = 0;  // processors that the machine has
  bool virtual_machine = false;
  std::string cpu_governor;   // "performance", "schedutil"; empty when the kernel does not set it
  uint64_t memory_bytes = 0;  // memory of the machine
  uint64_t memory_available = 0;
  uint64_t swap_bytes = 0;
  std::string clock_source;            // "tsc", "kvm-clock", "hpet"
  bool tsc_invariant = false;          // the TSC ticks at one rate, whatever the processor does
  std::string transparent_huge_pages;  // "always", "madvise", "never"; empty when absent
  std::string cgroups;                 // "v1", "v2", "v1+v2" (both mounted), "none"
  Reclaim damon = Reclaim::kNone;
  std::string damon_detail;  // what showed that DAMON runs or does not
  double load = 0;           // average of runnable and waiting threads over the last minute

  // The next members are facts about the user.
  static constexpr int kNoParanoid = -100;  // the kernel has no such setting
  bool root = false;
  bool user_namespace = false;  // user ids are mapped, so that root is root in a container only
  bool cap_sys_admin = false, cap_bpf = false, cap_perfmon = false;
  int perf_event_paranoid = kNoParanoid;
  bool kernel_types = false;  // the kernel has /sys/kernel/btf/vmlinux
  bool loop_control = false;  // this user can open /dev/loop-control
  bool mkfs_ext4 = false, mkfs_xfs = false;

  // The next members are facts about the path.
  std::string file_system;  // "ext4"
  std::string mount_point, mount_source, mount_options;
  uint64_t free_bytes = 0;  // bytes that this user may fill

  // Returns all facts as names and values, in the order above.
  std::vector<std::pair<std::string, std::string>> Fields() const;
};

// kUidMapOfFirst is the text of /proc/self/uid_map in the first user namespace, without its blanks.
// It also stands for the text where the kernel has no user namespaces and no such file.
inline constexpr char kUidMapOfFirst[] = "0 0 4294967295";
// Returns whether `uid_map`, the text of /proc/self/uid_map, is that of the first user namespace.
// In another one root has no rights on the machine, whatever its capabilities.
bool IsFirstUserNamespace(const std::string& uid_map);
// Returns the effective capabilities that `status`, the text of /proc/self/status, tells, as a set
// of bits: the bit CAP_SYS_ADMIN of capabilities(7), and so on.
uint64_t EffectiveCapabilities(const std::string& status);

// Returns the facts of this machine, this user and `path`. Facts that the machine does not tell are
// left empty. Tests set `root`, which stands before /proc, /sys and /etc. Throws Error (kIo) when
// the path does not exist. Thread-safe.
HostFacts ReadHostFacts(const std::string& path, const std::string& root = "");

}  // namespace testbed

#endif  // TESTBED_DEVICE_MACHINE_HOST_H_
