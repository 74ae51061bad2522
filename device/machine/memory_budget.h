// A MemoryBudget is the memory budget of a run (--ram): a memory cgroup of its own, which bounds
// the run's processes together with the page cache that they fill.
//
//   std::string why_not;
//   auto budget = MemoryBudget::Create(512 << 20, &why_not);
//   if (budget == nullptr) ...                  // why_not says why it cannot be enforced
//   if (pid_t child = fork(); child == 0) { budget->Enter(); execv(path, arguments); }
//   ...
//   MemoryParts parts = budget->Parts(engine_cache_bytes);
//
// A process enters first and allocates after: the kernel charges a page, for good, to the group
// that the process is in when it first touches the page. The page cache follows this rule too.
// Pages of a file that were cached before belong to another group and would be free for the run, so
// they are dropped before (device/file/page_cache.h). If a process enters and then calls exec, all
// its memory is charged to the budget.
//
// Anonymous memory cannot be reclaimed: when a process wants more of it than the limit, the kernel
// ends it with SIGKILL, and OomKilled() then returns true. So an engine's cache must leave room for
// the rest of its process.
//
// A budget works on cgroup v1 (memory.limit_in_bytes and, on a machine with swap,
// memory.memsw.limit_in_bytes, so that memory cannot escape into swap) and on v2 (memory.max, and
// memory.swap.max = 0); Create finds out which the machine has. Where the kernel has no swap
// accounting, lacks() says that swap is not bounded; of a budget above the memory of the machine it
// says that the machine has less. Create makes the group in the nearest place that allows it, from
// the process's own group upward. On v2 a limit of reads (read_limit.h) is set on the same group,
// which then has to be where the controller io is handed down, too: systemd hands memory down
// further than io. Create declines when the limit of the process's own group, or of a group above
// it (a container's), is tighter than the budget, so that these limits hold even where the budget's
// group lies above the own group. Source: Documentation/admin-guide/cgroup-v1/memory.rst and
// cgroup-v2.rst.
//
// Thread-safe, but for Remove and the destructor. The process that created the group removes it;
// the copy in a forked child leaves the group alone.
#ifndef TESTBED_DEVICE_MACHINE_MEMORY_BUDGET_H_
#define TESTBED_DEVICE_MACHINE_MEMORY_BUDGET_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/machine/cgroup.h"

namespace testbed {

// MemoryUsage is what a group holds, in bytes, as the kernel counts it. The charge (limit, usage,
// peak) is exact at any moment. The kernel gathers the other values from all CPUs in steps, so that
// each may lag behind by 64 pages (256 KiB) per CPU for up to two seconds.
struct MemoryUsage {
  uint64_t limit = 0;
  uint64_t usage = 0;      // charged now, with up to 256 KiB that each CPU took in advance
  uint64_t peak = 0;       // highest charge so far; 0 when the kernel does not tell
  uint64_t anon = 0;       // anonymous memory: heaps and stacks
  uint64_t shmem = 0;      // shared anonymous memory and tmpfs files
  uint64_t file = 0;       // page cache without shmem
  uint64_t kernel = 0;     // slabs, page tables, kernel stacks
  uint64_t mapped = 0;     // part of file + shmem that is mapped into a process
  uint64_t dirty = 0;      // part of `file`
  uint64_t writeback = 0;  // part of `file`
  uint64_t refaults = 0;   // number of file pages read again soon after they were evicted
  // This is the number of times that the limit was hit and memory had to be reclaimed. On v1 with
  // swap it may stay 0: kernels from 6.15 on do not count it there.
  uint64_t failcnt = 0;
  uint64_t oom_kills = 0;  // processes ended because nothing could be reclaimed
};

// ProcessMemory is what a process holds, in bytes, by its own page tables (/proc/PID/smaps_rollup,
// or statm on kernels without it), a source that is independent of cgroups. Of a page that several
// processes share, `anon`, `shmem` and `file` count this process's share, and `rss` counts the
// whole page. From statm, each value counts whole pages, and `file` includes shmem.
struct ProcessMemory {
  uint64_t anon = 0, shmem = 0, file = 0, rss = 0;
};
// Returns nothing when the process does not exist or may not be examined.
std::optional<ProcessMemory> ReadProcessMemory(pid_t pid);

// MemoryParts is the budget of a run in bytes, split for its report. Each part has its own source
// (the engine's counters, the group's statistics, the group's charge), so that the sum is a check
// and not a tautology.
struct MemoryParts {
  uint64_t limit = 0;
  uint64_t engine_cache = 0;   // as the engine counts it, but at most anon + shmem of the group:
                               // the rest is not touched yet, or lies in the page cache
  uint64_t process_other = 0;  // the processes' other memory: anon + shmem - engine_cache
  uint64_t page_cache = 0;
  uint64_t kernel = 0;
  uint64_t unused = 0;  // limit - usage

  uint64_t Sum() const { return engine_cache + process_other + page_cache + kernel + unused; }
  // Returns the bytes that are charged but in none of the parts: pages that CPUs took in advance,
  // and changes while the counters are read one after the other. Negative when the parts hold more
  // than the charge.
  int64_t unaccounted() const { return static_cast<int64_t>(limit - Sum()); }
  // This is the anon + shmem of the processes by their own page tables, minus the anon + shmem of
  // the group. It is above 0 by the memory that the processes touched before they entered the
  // group. It is nothing when a page table could not be read.
  std::optional<int64_t> process_check;
};

class MemoryBudget {
 public:
  // Makes a group with this limit in bytes, rounded down to whole pages. Returns null and sets
  // *why_not to one sentence when this machine or user cannot enforce it. `fs` must outlive the
  // budget. With `limits_reads` the group also has the controller io, where a group can have both.
  static std::unique_ptr<MemoryBudget> Create(uint64_t limit, std::string* why_not,
                                              const CgroupFs& fs = CgroupFs::System(),
                                              bool limits_reads = false);
  // Returns the budget whose group is at `path`, for a child after exec. It never removes the
  // group. Throws Error (kUsage) when there is no such group.
  static std::unique_ptr<MemoryBudget> Attach(const std::string& path,
                                              const CgroupFs& fs = CgroupFs::System());
  ~MemoryBudget();
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  // Puts the process, all its threads and its later children under the budget. A pid of 0 is the
  // calling process. Throws Error (kIo) when the kernel refuses.
  void Enter(pid_t pid = 0) const;
  // Returns what the group holds now; values that cannot be read are 0.
  MemoryUsage Usage() const;
  // Returns whether the kernel killed a process of the group for want of memory, because of the
  // group's own limit or of an outer one.
  bool AnyKilled() const { return Usage().oom_kills > 0; }
  // Returns whether the kernel killed a process because of the group's own limit.
  bool OomKilled() const;
  // Returns the split of the budget. `engine_cache` is what the engine says that its cache holds
  // now, in bytes. It reads the page tables of every process in the group, which takes milliseconds
  // per GB, so it belongs to the borders of phases.
  MemoryParts Parts(uint64_t engine_cache) const;
  // Reclaims the group's page cache and removes the group. Waits up to two seconds for its
  // processes to end. When the kernel makes no progress with the pages, the group stays with them,
  // for CleanLeftovers. Returns a sentence when it could not remove the group, else an empty
  // string. The destructor calls it.
  std::string Remove();

  uint64_t limit() const { return limit_; }
  // Returns a sentence when the budget bounds resident memory alone, because the machine has swap
  // and the kernel does not count the group's, or bounds nothing, because the machine has less
  // memory; an empty string when it bounds all memory. Only the process that created the group
  // knows it.
  const std::string& lacks() const { return lacks_; }
  int version() const { return version_; }  // version of cgroups: 1 or 2
  const std::string& path() const { return path_; }

  // Leftovers has sentences about the groups that killed runs left behind. A group that could not
  // be removed most often has processes, which may disturb a run.
  struct Leftovers {
    std::vector<std::string> removed, kept;
  };
  // Removes the groups that killed runs left behind.
  static Leftovers CleanLeftovers(const CgroupFs& fs = CgroupFs::System());

 private:
  MemoryBudget(const CgroupFs& fs, int version, std::string path, pid_t owner, DirLock lock);
  static std::unique_ptr<MemoryBudget> MakeGroup(const CgroupHierarchy& hierarchy,
                                                 const std::vector<std::string>& controllers,
                                                 const CgroupFs& fs, std::string* why_not);
  std::string SetLimit(uint64_t limit);
  void LimitSwap(const std::string& limit);
  bool Reclaim() const;

  const CgroupFs& fs_;
  const int version_;
  const std::string path_;
  uint64_t limit_ = 0;
  std::string lacks_;
  const pid_t owner_;   // the process that created the group and removes it; 0 after Attach
  const DirLock lock_;  // lock on the group, which says that the group is in use
  bool removed_ = false;
  bool stuck_ = false;  // the kernel did not reclaim the group's pages
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_MACHINE_MEMORY_BUDGET_H_
