#include "tools/inspect/doctor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/bpf.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iterator>
#include <optional>
#include <thread>

#include "device/account/block_device.h"
#include "device/account/grade.h"
#include "device/account/kernel_account.h"
#include "device/file/direct_io.h"
#include "device/file/page_cache.h"
#include "device/file/read_ring.h"
#include "device/machine/in_memory.h"
#include "device/machine/memory_budget.h"
#include "device/machine/scratch.h"
#include "device/os/sys_file.h"
#include "tools/output/table.h"

namespace testbed {
namespace {

using State = Check::State;

// Tries to load a kernel program of two instructions. A user who may load it may load the kernel
// account's program as well. Returns 0 or errno.
int TryKernelProgram() {
  bpf_insn program[2] = {};
  program[0].code = BPF_ALU64 | BPF_MOV | BPF_K;  // r0 = 0
  program[1].code = BPF_JMP | BPF_EXIT;
  bpf_attr attributes = {};
  attributes.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT;
  attributes.insn_cnt = static_cast<uint32_t>(std::size(program));
  attributes.insns = reinterpret_cast<uint64_t>(program);
  attributes.license = reinterpret_cast<uint64_t>("GPL");
  const long fd = syscall(SYS_bpf, BPF_PROG_LOAD, &attributes, sizeof(attributes));
  if (fd < 0) return errno;
  close(static_cast<int>(fd));
  return 0;
}

Check CheckScratch(const HostFacts& host, const std::string& why) {
  Check check{"scratch"};
  std::string tools;
  if (host.mkfs_ext4) tools = "mkfs.ext4";
  if (host.mkfs_xfs) tools += tools.empty() ? "mkfs.xfs" : " and mkfs.xfs";
  if (!why.empty()) {
    check.state = State::kMissing;
    check.found = why;
    check.means =
        "the block device under a run is shared: its statistics also hold the IO of other programs";
    check.change = "run as root of a machine with loop devices, in a directory on ext4 or xfs";
  } else if (tools.empty()) {
    check.state = State::kMissing;
    check.found = "neither mkfs.ext4 nor mkfs.xfs is installed";
    check.means = "a scratch device cannot be given a file system";
    check.change = "install e2fsprogs or xfsprogs";
  } else {
    check.state = host.mkfs_ext4 && host.mkfs_xfs ? State::kOk : State::kLimited;
    check.found = "loop devices can be made, and " + tools + " found";
    check.means =
        "with --scratch SIZE a run has a device and file system of its own, whose "
        "statistics are the run's alone";
    if (check.state == State::kLimited) {
      check.change = host.mkfs_ext4 ? "for --scratch SIZE,xfs install xfsprogs"
                                    : "for --scratch SIZE,ext4 install e2fsprogs";
    }
  }
  return check;
}

Check CheckBudget(const HostFacts& host) {
  Check check{"memory budget"};
  std::string why_not;
  constexpr uint64_t kProbe = 64 << 20;
  const auto budget = MemoryBudget::Create(kProbe, &why_not);
  if (budget != nullptr) {
    check.found =
        fmt::format("a cgroup v{} of {} could be made", budget->version(), SizeText(kProbe));
    check.means = "--ram bounds the process together with its page cache";
    if (!budget->lacks().empty()) {
      check.state = State::kLimited;
      check.found += "; " + budget->lacks();
      check.means = "--ram bounds resident memory and page cache, and not what moves into swap";
      check.change = "swapoff -a";
    }
  } else {
    check.state = State::kMissing;
    check.found = why_not;
    check.means = fmt::format(
        "--ram is not enforced: buffered and mmap reads may use all {} of the machine as page "
        "cache; with --io direct the engine's cache still is the budget",
        SizeText(host.memory_bytes));
    check.change =
        "run as root, or under systemd-run --user --scope -p Delegate=yes; or use "
        "--io direct";
  }
  return check;
}

Check CannotWrite(const std::string& name, const std::string& path, int code) {
  return {name, State::kMissing,
          fmt::format("{} cannot be written to: {}", path, std::strerror(code)),
          "no database can be made there", "choose another --dir"};
}

Check CheckDirectIo(const HostFacts& host, const std::string& path) {
  Check check{"direct IO"};
  const int fd = OpenNameless(path, O_DIRECT);
  const int code = fd < 0 ? errno : 0;
  if (code != 0 && code != EINVAL) return CannotWrite(check.name, path, code);
  if (LiesInMemory(path)) {
    if (fd >= 0) close(fd);
    check.state = State::kMissing;
    check.found = fmt::format("the file system {} under {} lies in memory, and no disk is below it",
                              host.file_system, path);
    check.means = "--io direct reads and writes memory there, or is refused";
    check.change = "choose a --dir on ext4 or xfs";
    return check;
  }
  if (code != 0) {
    check.state = State::kMissing;
    check.found = fmt::format("the file system {} under {} refuses O_DIRECT: {}", host.file_system,
                              path, std::strerror(code));
    check.means = "--io direct is not possible there, and reads always go through the page cache";
    check.change = "choose a --dir on ext4 or xfs, or --scratch";
    return check;
  }
  const DirectIo direct = DirectIoOf(fd);
  close(fd);
  if (direct.in_page_cache) {
    check.state = State::kMissing;
    check.found =
        fmt::format("the file system {} accepts O_DIRECT under {}, but has no direct IO there",
                    host.file_system, path);
    check.means = "--io direct is refused: reads and writes would go through the page cache";
    check.change = "choose a --dir that is neither encrypted nor on a mount with data=journal";
    return check;
  }
  check.found = "direct IO works on " + host.file_system;
  if (direct.offset_align != 0) {
    check.found += fmt::format(", at multiples of {} bytes", direct.offset_align);
  }
  check.means = "--io direct reads and writes the device without the page cache";
  return check;
}

Check CheckReadahead(const HostFacts& host, const std::optional<BlockDevice>& device) {
  Check check{"readahead"};
  if (!device) {
    check.state = State::kMissing;
    check.found = "no block device is known under " + host.file_system;
    check.means = "--readahead cannot be set, and there are no device statistics";
    check.change = "choose a --dir on ext4 or xfs, or --scratch";
    return check;
  }
  const std::string knob = device->sysfs() + "/queue/read_ahead_kb";
  check.found = fmt::format("{} reads {} KiB ahead", device->name(), device->readahead_kb());
  check.means =
      "reads of several pages and mmap faults depend on it; 4k is neutral, and 0 splits "
      "every buffered read into single pages";
  if (host.file_system == "btrfs") {
    check.state = State::kMissing;
    check.means = "btrfs ignores it and has a readahead of its own";
    check.change = "choose a --dir on ext4 or xfs, or --scratch";
  } else if (access(knob.c_str(), W_OK) != 0) {
    check.state = State::kLimited;
    check.found += fmt::format(", and {} is not writable for this user", knob);
    check.means += "; without the right to set it, only --file-advice and --mmap-advice bound it";
    check.change = "run as root, or choose --scratch, or set it by hand before a run";
  }
  return check;
}

Check CheckPageCache(const std::string& path) {
  Check check{"page cache"};
  const int fd = OpenNameless(path, 0);
  if (fd < 0) return CannotWrite(check.name, path, errno);
  const char page[4096] = {};
  const ssize_t written = pwrite(fd, page, sizeof(page), 0);
  const int code = written < 0 ? errno : ENOSPC;
  if (written != static_cast<ssize_t>(sizeof(page))) {
    close(fd);
    return CannotWrite(check.name, path, code);
  }
  const PageCacheUse use = Residency(fd, path);
  const bool overlay = IsOnOverlay(fd);
  close(fd);
  if (use.exact) {
    check.found = "cachestat(2) tells what is cached, dirty and evicted";
    check.means = "runs can start cold, and say so";
  } else if (overlay) {
    check.state = State::kLimited;
    check.found = "cachestat(2) sees no page of an overlay; mincore(2) is used";
    check.means =
        "what is cached is known, what is dirty is not; a write-back that failed is told by the "
        "next sync alone, not by the next read";
    check.change = "choose a --dir on ext4 or xfs, such as a volume of the container";
  } else {
    check.state = State::kLimited;
    check.found = "cachestat(2) is missing or not permitted here; mincore(2) is used";
    check.means = "what is cached is known, what is dirty is not";
    check.change = "use Linux 6.5 or newer, and a container profile that permits cachestat";
  }
  return check;
}

// Counts the requests on the disk for a moment in which this process sends none.
Check CheckTraffic(const std::optional<BlockDevice>& device) {
  Check check{"disk traffic"};
  if (!device) {
    check.state = State::kMissing;
    check.found = "no block device is known";
    check.means = "whether other programs use the disk cannot be seen";
    return check;
  }
  constexpr int kMs = 300;
  const DeviceStats before = device->Stats();
  std::this_thread::sleep_for(std::chrono::milliseconds(kMs));
  const DeviceStats seen = device->Stats() - before;
  const uint64_t requests = seen.reads + seen.writes;
  check.found = fmt::format("{} on {} in {} ms while testbed was idle",
                            Counted(requests, "request"), device->name(), kMs);
  if (requests == 0) {
    check.means = "no other program seems to use the disk now";
  } else {
    check.state = State::kLimited;
    check.means =
        "other programs use the disk: latencies are disturbed, and the device's statistics are "
        "not the run's alone";
    check.change = "stop other work, or use --scratch, which at least keeps the counts apart";
  }
  return check;
}

Check CheckReadsInFlight() {
  Check check{"reads in flight"};
  if (std::string why; !ReadRing::Available(&why)) {
    check.state = State::kMissing;
    check.found = why;
    check.means =
        "--queue-depth is refused; multi-get and scans of btree read one page after the other";
    check.change =
        "set the sysctl kernel.io_uring_disabled to 0, and use a container profile that permits "
        "io_uring";
    return check;
  }
  check.found = "io_uring works";
  check.means = "--queue-depth keeps many reads in flight on one thread (btree)";
  return check;
}

Check CheckSpace(const HostFacts& host, const std::string& path) {
  Check check{"space"};
  check.found = fmt::format("{} free under {} ({}, {})", SizeText(host.free_bytes), path,
                            host.file_system, host.mount_options);
  check.means = "a database and, while it compacts or checkpoints, a second copy must fit";
  constexpr uint64_t kEnough = uint64_t{4} << 30;
  if (host.free_bytes < kEnough) {
    check.state = State::kLimited;
    check.change = "choose a --dir with more space, or a smaller database";
  }
  return check;
}

double NsPerClockReading() {
  constexpr int kReadings = 20'000;
  double best = 1e9;
  for (int round = 0; round < 5; ++round) {
    timespec now;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kReadings; ++i) clock_gettime(CLOCK_MONOTONIC, &now);
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    best = std::min(best, took.count() / kReadings);
  }
  return best;
}

}  // namespace

const char* CheckStateName(Check::State state) {
  switch (state) {
    case State::kOk:
      return "ok";
    case State::kLimited:
      return "limited";
    case State::kMissing:
      break;
  }
  return "missing";
}

std::string WhyNoKernelAccount(const HostFacts& host) {
  if (!host.kernel_types) {
    return "the kernel has no type information (/sys/kernel/btf/vmlinux)";
  }
  const int code = TryKernelProgram();
  if (code == 0) return "";
  if (code == EPERM && !(host.cap_bpf && host.cap_perfmon)) {
    return "loading a kernel program needs root (CAP_BPF and CAP_PERFMON)";
  }
  if (code == EPERM) {
    return "the kernel refuses to load a program though this user may: kernel lockdown, a "
           "container's seccomp filter or a user namespace";
  }
  if (code == ENOSYS) return "this kernel has no bpf(2)";
  return fmt::format("a kernel program could not be loaded: {}", std::strerror(code));
}

Check CheckAccount(const std::string& kernel_why, const std::string& scratch_why,
                   const std::string& not_covered) {
  Check check{"account"};
  InForce in_force{.counted_in_kernel = kernel_why.empty(),
                   .own_device = scratch_why.empty(),
                   .not_charged = {},
                   .not_covered = {}};
  const bool covered = scratch_why.empty() || not_covered.empty();
  if (!covered) in_force.not_covered.push_back(not_covered);
  const Grade grade = DecideGrade(in_force);
  check.found = fmt::format("grade {}: ", grade.letter);
  if (grade.letter != 'A') check.state = State::kLimited;
  if (kernel_why.empty() && scratch_why.empty()) {
    check.found += "block requests can be counted in the kernel, on a scratch device";
    check.means =
        "with --scratch, requests and bytes of all threads add up to the device's "
        "statistics exactly";
  } else if (!covered) {
    check.found += not_covered + "; " + scratch_why;
    check.means = "what was read from and written to the devices is not known as a whole";
    check.change =
        "choose a --dir on a single disk, or make a scratch device possible (see scratch)";
  } else if (scratch_why.empty()) {
    check.found += "a scratch device, but " + kernel_why;
    check.means =
        "with --scratch the device's totals are exact, and so are the bytes that the process read; "
        "requests per operation and who wrote what are not known";
    check.change = "run as root on a kernel with BPF and type information";
  } else if (kernel_why.empty()) {
    check.found += "block requests can be counted in the kernel, but " + scratch_why;
    check.means =
        "what each thread caused is exact; the device's totals include the IO of other programs, "
        "which is named";
    check.change = "make a scratch device possible (see scratch)";
  } else {
    check.found += kernel_why + "; " + scratch_why;
    check.means =
        "the bytes that the process read from the device are known; its requests are known only "
        "with direct IO, where each call is one; the device's totals also hold the IO of other "
        "programs";
    check.change = "run as root";
  }
  return check;
}

Check CheckReclaim(const HostFacts& host) {
  Check check{"proactive reclaim"};
  check.found = host.damon_detail;
  switch (host.damon) {
    case Reclaim::kNone:
      check.means = "pages stay in the page cache until memory is needed";
      break;
    case Reclaim::kRunning:
      check.state = State::kLimited;
      check.means =
          "DAMON, the kernel's access monitor, evicts page cache that was not touched "
          "for about ten seconds though memory is free: reads that ought to hit may go "
          "to the device";
      check.change = "testbed leaves the host's DAMON alone; its administrator can switch it off";
      break;
    case Reclaim::kUnknown:
      check.state = State::kLimited;
      check.means = "whether the host evicts page cache ahead of need cannot be seen from here";
      check.change = "look on the host for a kernel thread named kdamond";
      break;
  }
  return check;
}

Check CheckClock(const HostFacts& host, double ns_per_reading) {
  Check check{"clock"};
  check.found = fmt::format("{}, {:.0f} ns a reading, TSC {}",
                            host.clock_source.empty() ? "clock source unknown" : host.clock_source,
                            ns_per_reading, host.tsc_invariant ? "invariant" : "not invariant");
  constexpr double kVdso = 150;  // in ns; a reading without a system call takes 15 to 80
  if (ns_per_reading > kVdso) {
    check.state = State::kLimited;
    check.means = "each reading is a system call, which is felt in cached operations";
    check.change = "boot with clocksource=tsc where the TSC is invariant";
  } else if (!host.tsc_invariant) {
    check.state = State::kLimited;
    check.means =
        "the processor's counter changes pace or stops, so the harness times by the "
        "kernel's clock, which costs a little more";
  } else {
    check.means = "latencies are timed at nanosecond resolution for little cost";
  }
  return check;
}

Check CheckLoad(const HostFacts& host) {
  Check check{"load"};
  check.found = fmt::format("load average {:.2f} on {}", host.load,
                            WithNoun(fmt::format("{}", host.cpus), "processor"));
  if (host.cpus < host.cpus_online) {
    check.found += fmt::format(" of the machine's {}", host.cpus_online);
  }
  if (!host.cpu_governor.empty()) {
    check.found += fmt::format(", frequency governor {}", host.cpu_governor);
  }
  const bool busy = host.load > 0.25 * host.cpus;
  const bool slow = host.cpu_governor == "powersave" || host.cpu_governor == "conservative";
  if (busy || slow) check.state = State::kLimited;
  check.means = busy ? "other work takes processor time: rates and latencies are disturbed, counts "
                       "are not"
                     : "the processors are free";
  if (slow) check.means += "; the processor may run slowly while it waits for the device";
  if (busy) check.change = "wait until the load is below a quarter of the processors";
  if (slow) check.change += std::string(busy ? "; " : "") + "cpupower frequency-set -g performance";
  return check;
}

Check CheckMemorySettings(const HostFacts& host) {
  Check check{"memory"};
  check.found = fmt::format(
      "{} of {} available, swap {}, transparent huge pages {}", SizeText(host.memory_available),
      SizeText(host.memory_bytes), host.swap_bytes == 0 ? "off" : SizeText(host.swap_bytes),
      host.transparent_huge_pages.empty() ? "absent" : host.transparent_huge_pages);
  check.means = "an engine's memory is what it asks for";
  if (host.transparent_huge_pages == "always") {
    check.state = State::kLimited;
    check.means =
        "heaps grow by 2 MiB pages, so that an engine's memory may be more than it asks "
        "for";
    check.change = "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled";
  }
  if (host.swap_bytes != 0) {
    check.state = State::kLimited;
    check.means += "; without an enforced --ram an engine's cache may be swapped out";
    check.change += std::string(check.change.empty() ? "" : "; ") + "swapoff -a";
  }
  return check;
}

std::vector<Check> Doctor(const std::string& path) {
  const HostFacts host = ReadHostFacts(path);
  const auto device = BlockDevice::Find(path);
  std::string scratch_why;
  ScratchDevice::Available(&scratch_why, path);
  const Check scratch = CheckScratch(host, scratch_why);
  if (scratch.state == State::kMissing) scratch_why = scratch.found;
  std::string kernel_why = WhyNoKernelAccount(host);
  // When the preconditions hold, starting the account shows whether its tracepoints exist, too.
  if (kernel_why.empty() && device) KernelAccount::Start(*device, &kernel_why);
  // Without a scratch device and without a known block device, a run cannot count requests.
  if (kernel_why.empty() && !device && !scratch_why.empty()) kernel_why = kNoBlockDevice;
  return {CheckAccount(kernel_why, scratch_why, device ? WhyNotCovered(*device, path) : ""),
          scratch,
          CheckBudget(host),
          CheckDirectIo(host, path),
          CheckReadahead(host, device),
          CheckReadsInFlight(),
          CheckPageCache(path),
          CheckReclaim(host),
          CheckMemorySettings(host),
          CheckClock(host, NsPerClockReading()),
          CheckLoad(host),
          CheckTraffic(device),
          CheckSpace(host, path)};
}

}  // namespace testbed
