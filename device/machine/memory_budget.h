// The memory budget of a run (--ram): a memory cgroup of its own, which bounds the process together
// with the page cache it fills.
//
//   std::string why_not;
//   auto budget = MemoryBudget::Create(512 << 20, &why_not);   // null: not enforceable, and why
//   if (pid_t child = fork(); child == 0) { budget->Enter(); exec... }
//   ...
//   MemoryParts parts = budget->Parts(engine_cache_bytes, child);
//
// Enter first and allocate after: memory is charged to the group its process was in when the page
// was first touched, for good. The same holds for the page cache: pages of a file that were cached
// before belong to another group and would be free for the run, so drop them before
// (device/file/page_cache.h). A process that entered and then called exec owns all its memory.
//
// Anonymous memory cannot be reclaimed: a process that wants more of it than the limit is ended by
// the kernel with SIGKILL, which OomKilled() tells from other ends. So an engine's cache must leave
// room for the rest of its process.
//
// Works on cgroup v1 (memory.limit_in_bytes, and where there is swap memory.memsw.limit_in_bytes
// against escape into it) and v2 (memory.max and memory.swap.max = 0); which of them the machine
// has is found by looking. The group is made in the nearest place that allows it, from the
// process's own group upward, so an outer limit (a container's) still holds; one that is tighter
// than the budget makes Create decline. Source: Documentation/admin-guide/cgroup-v1/memory.rst and
// cgroup-v2.rst.
//
// Thread-safe, as all of it is in the kernel. The group is removed by the process that created it;
// a forked child holding a copy leaves it alone.
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

// What a group holds, in bytes, as the kernel counts it. The charge (limit, usage, peak) is exact
// at any moment; the kernel gathers the parts from all CPUs in steps, so that each may lag behind
// by 64 pages (256 KiB) a CPU for up to two seconds.
struct MemoryUsage {
  uint64_t limit = 0;
  uint64_t usage = 0;      // charged now; includes pages each CPU took in advance, up to 256 KiB
  uint64_t peak = 0;       // the most that was ever charged; 0 when the kernel does not tell
  uint64_t anon = 0;       // anonymous memory: heaps and stacks
  uint64_t shmem = 0;      // shared anonymous memory and tmpfs files
  uint64_t file = 0;       // page cache without shmem
  uint64_t kernel = 0;     // slabs, page tables, kernel stacks
  uint64_t mapped = 0;     // part of file + shmem that is mapped into a process
  uint64_t dirty = 0;      // part of file
  uint64_t writeback = 0;  // part of file
  uint64_t refaults = 0;   // file pages read again soon after they were evicted, a count
  uint64_t failcnt = 0;  // times the limit was hit and memory had to be reclaimed; v1 with swap: 0
  uint64_t oom_kills = 0;  // processes ended because nothing could be reclaimed
};

// What one process holds, by the process's own page tables (/proc/PID/smaps_rollup, or statm on
// kernels without it): a source that knows nothing of cgroups. Pages shared by several processes
// count by their share.
struct ProcessMemory {
  uint64_t anon = 0, shmem = 0, file = 0, rss = 0;
};
std::optional<ProcessMemory> ReadProcessMemory(pid_t pid);

// The budget of a run, split for its report. Each part has its own source (the engine's counters,
// the group's statistics, its charge counter), so that the sum is a check and not a tautology.
struct MemoryParts {
  uint64_t limit = 0;
  uint64_t engine_cache = 0;   // as the engine says, at most what the processes really hold
  uint64_t process_other = 0;  // the processes' other memory: anon + shmem - engine_cache
  uint64_t page_cache = 0;
  uint64_t kernel = 0;
  uint64_t unused = 0;  // limit - usage

  uint64_t Sum() const { return engine_cache + process_other + page_cache + kernel + unused; }
  // limit - Sum(): charged, but in none of the parts. Pages that CPUs took in advance, and counters
  // read one after the other. In bytes; negative when the parts hold more than was charged.
  int64_t unaccounted() const { return static_cast<int64_t>(limit - Sum()); }
  // The same memory by the processes' own page tables, minus the group's anon + shmem: above 0 by
  // what they touched before they entered the group; nothing when it could not be read.
  std::optional<int64_t> process_check;
  // Engine cache that the engine counts but has not touched, or keeps in page cache.
  uint64_t engine_cache_untouched = 0;
};

class MemoryBudget {
 public:
  // Makes a group with this limit in bytes, rounded down to whole pages. Returns null and, in
  // `why_not`, one sentence when this machine or user cannot enforce it.
  static std::unique_ptr<MemoryBudget> Create(uint64_t limit, std::string* why_not,
                                              const CgroupFs& fs = CgroupFs::System());
  // The budget whose group is at `path`, as a child after exec needs it; it never removes the
  // group. Throws Error when there is no such group.
  static std::unique_ptr<MemoryBudget> Attach(const std::string& path,
                                              const CgroupFs& fs = CgroupFs::System());
  ~MemoryBudget();
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  // Puts the process, all its threads and its later children under the budget. 0 is the caller.
  // Throws Error.
  void Enter(pid_t pid = 0) const;
  MemoryUsage Usage() const;
  bool OomKilled() const { return Usage().oom_kills > 0; }
  // `engine_cache`: what the engine says its cache holds now. Reads the page tables of every
  // process in the group: milliseconds per GB, for phase borders.
  MemoryParts Parts(uint64_t engine_cache) const;
  // Gives the group's page cache back and removes the group; waits a moment for processes that are
  // on their way out. Returns a sentence when it could not, else an empty string. The destructor
  // calls it.
  std::string Remove();

  uint64_t limit() const { return limit_; }
  int version() const { return version_; }  // of cgroups: 1 or 2
  const std::string& path() const { return path_; }

  // Removes groups that killed runs left behind. Returns one sentence for each found.
  static std::vector<std::string> CleanLeftovers(const CgroupFs& fs = CgroupFs::System());

 private:
  MemoryBudget(const CgroupFs& fs, int version, std::string path, pid_t owner, DirLock lock);
  std::string SetLimit(uint64_t limit);
  void Reclaim() const;

  const CgroupFs& fs_;
  const int version_;
  const std::string path_;
  uint64_t limit_ = 0;
  const pid_t owner_;   // the process that created the group, and alone removes it; 0 = none
  const DirLock lock_;  // on the group: it is in use
  bool removed_ = false;
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_MACHINE_MEMORY_BUDGET_H_
