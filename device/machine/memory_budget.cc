#include "device/machine/memory_budget.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "device/error.h"
#include "device/machine/helper_write.h"
#include "device/os/sys_file.h"

namespace testbed {
namespace {

constexpr uint64_t kNoLimit = std::numeric_limits<int64_t>::max() & ~uint64_t{4095};

// Returns whether new children of `parent` have these controllers. On v2, `parent` must have passed
// the controllers on to its children.
bool Gives(const std::vector<std::string>& controllers, const CgroupHierarchy& hierarchy,
           const std::string& parent) {
  if (hierarchy.version == 1) return true;
  const std::string control = parent + "/cgroup.subtree_control";
  return std::all_of(controllers.begin(), controllers.end(), [&](const std::string& controller) {
    if (CgroupListHas(ReadLine(control), ' ', controller)) return true;
    // On v2 only the top group may have both processes and children with controllers. At any other
    // group, passing the controllers on would change a setting that belongs to another program.
    if (parent != hierarchy.mount) return false;
    return WriteSmallFile(control, "+" + controller) == 0 &&
           CgroupListHas(ReadLine(control), ' ', controller);
  });
}

std::string WhyNot(int code, bool controller_given, const CgroupHierarchy& hierarchy) {
  if (!controller_given) {
    return fmt::format(
        "no cgroup from {} upward hands the memory controller to its children; write +memory to "
        "cgroup.subtree_control of a group without processes, or start testbed with "
        "systemd-run --user --scope -p Delegate=yes",
        hierarchy.own);
  }
  if (code == EROFS) {
    return fmt::format(
        "the cgroup file system at {} is mounted read-only, as in a container without privileges",
        hierarchy.mount);
  }
  if (code == EACCES || code == EPERM) {
    return fmt::format("this user may not make a memory cgroup in {}; run as root", hierarchy.own);
  }
  return fmt::format("a memory cgroup in {} could not be made: {}", hierarchy.own,
                     std::strerror(code));
}

// Returns the tightest limit of this process's own group and of the groups above it. On v2 a group
// with processes hands no controllers down, so the budget's group is made above the own group, and
// the kernel no longer applies the own group's limit to the run.
uint64_t OuterLimit(const CgroupHierarchy& hierarchy) {
  uint64_t tightest = kNoLimit;
  for (std::string at = hierarchy.own; at.size() >= hierarchy.mount.size();
       at = at.substr(0, at.rfind('/'))) {
    for (const char* file : {"memory.limit_in_bytes", "memory.max", "memory.high"}) {
      if ((hierarchy.version == 1) != (std::strcmp(file, "memory.limit_in_bytes") == 0)) continue;
      if (const auto limit = ReadNumber(at + "/" + file)) tightest = std::min(tightest, *limit);
    }
  }
  return tightest;
}

// Returns the memory of the machine in bytes; 0 when the system does not tell.
uint64_t MachineMemory(const CgroupFs& fs) {
  const std::string info = ReadSmallFile(fs.prefix() + "/proc/meminfo").value_or("");
  return FindNumber(info, "MemTotal:").value_or(0) * 1024;
}

// Returns the bytes that are charged to the group; 0 when the kernel does not tell them.
uint64_t Charged(int version, const std::string& group) {
  const char* file = version == 1 ? "/memory.usage_in_bytes" : "/memory.current";
  return ReadNumber(group + file).value_or(0);
}

std::string PagesStayText(int version, const std::string& group) {
  return fmt::format(
      "{} of pages stay in the memory cgroup {}: the kernel does not reclaim them, as where their "
      "file system takes no writes any more; `testbed scratch clean` tries again",
      SizeText(Charged(version, group)), group);
}

void Pause() { std::this_thread::sleep_for(std::chrono::milliseconds(10)); }
constexpr int kPatience = 200;  // number of pauses: two seconds altogether

}  // namespace

std::optional<ProcessMemory> ReadProcessMemory(pid_t pid) {
  const std::string directory = fmt::format("/proc/{}/", pid);
  ProcessMemory memory;
  const auto rollup = ReadSmallFile(directory + "smaps_rollup");
  const auto kib = [&](const char* key) -> std::optional<uint64_t> {
    const auto value = rollup ? FindNumber(*rollup, key) : std::nullopt;
    return value ? std::optional(*value * 1024) : std::nullopt;
  };
  if (const auto anon = kib("Pss_Anon:")) {
    memory.anon = *anon;
    memory.shmem = kib("Pss_Shmem:").value_or(0);
    memory.file = kib("Pss_File:").value_or(0);
    memory.rss = kib("Rss:").value_or(0);
    return memory;
  }
  const std::vector<std::string> statm = SplitWords(ReadLine(directory + "statm"));
  if (statm.size() < 3) return std::nullopt;
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  memory.rss = std::stoull(statm[1]) * page;
  memory.file =
      std::min<uint64_t>(std::stoull(statm[2]) * page, memory.rss);  // file and shmem together
  memory.anon = memory.rss - memory.file;
  return memory;
}

MemoryBudget::MemoryBudget(const CgroupFs& fs, int version, std::string path, pid_t owner,
                           DirLock lock)
    : fs_(fs), version_(version), path_(std::move(path)), owner_(owner), lock_(std::move(lock)) {}

MemoryBudget::~MemoryBudget() {
  if (owner_ == getpid()) Remove();
}

// Makes the group, without a limit, under the nearest parent that gives it the controllers.
std::unique_ptr<MemoryBudget> MemoryBudget::MakeGroup(const CgroupHierarchy& hierarchy,
                                                      const std::vector<std::string>& controllers,
                                                      const CgroupFs& fs, std::string* why_not) {
  int code = 0;
  bool controller_given = false;
  for (std::string parent = hierarchy.own; parent.size() >= hierarchy.mount.size();
       parent = parent.substr(0, parent.rfind('/'))) {
    if (!Gives(controllers, hierarchy, parent)) continue;
    controller_given = true;
    std::string path;
    DirLock lock;
    const int failed = MakeCgroup(fs, parent, &path, &lock);
    if (code == 0) code = failed;  // the error at the nearest parent is reported
    if (failed != 0) continue;
    return std::unique_ptr<MemoryBudget>(
        new MemoryBudget(fs, hierarchy.version, path, getpid(), std::move(lock)));
  }
  *why_not = WhyNot(code, controller_given, hierarchy);
  return nullptr;
}

std::unique_ptr<MemoryBudget> MemoryBudget::Create(uint64_t limit, std::string* why_not,
                                                   const CgroupFs& fs, bool limits_reads) {
  const auto hierarchy = FindCgroups(fs, "memory", "memory");
  if (!hierarchy) {
    *why_not = "no memory cgroup controller is mounted here, so nothing can bound the page cache";
    return nullptr;
  }
  std::unique_ptr<MemoryBudget> budget;
  if (limits_reads) budget = MakeGroup(*hierarchy, {"memory", "io"}, fs, why_not);
  // Where no group can have both controllers, the budget is made without a limit of reads, and
  // ReadLimit reports that.
  if (budget == nullptr) budget = MakeGroup(*hierarchy, {"memory"}, fs, why_not);
  if (budget == nullptr) return nullptr;
  *why_not = budget->SetLimit(limit);
  const uint64_t outer = OuterLimit(*hierarchy);
  if (why_not->empty() && outer < budget->limit_) {
    *why_not = fmt::format("a cgroup around this process already limits it to {}, below {}",
                           SizeText(outer), SizeText(limit));
  }
  const uint64_t machine = MachineMemory(fs);
  if (budget->lacks_.empty() && machine != 0 && budget->limit_ > machine) {
    budget->lacks_ = fmt::format(
        "it is {}, and the machine has {} of memory, of which the run gets what other programs "
        "leave; give a smaller one",
        SizeText(limit), SizeText(machine));
  }
  return why_not->empty() ? std::move(budget) : nullptr;
}

std::unique_ptr<MemoryBudget> MemoryBudget::Attach(const std::string& path, const CgroupFs& fs) {
  struct stat info;
  const bool v1 = stat((path + "/memory.limit_in_bytes").c_str(), &info) == 0;
  if (!v1 && stat((path + "/memory.max").c_str(), &info) != 0) {
    throw Error(Error::kUsage, path + " is not a memory cgroup");
  }
  std::unique_ptr<MemoryBudget> budget(new MemoryBudget(fs, v1 ? 1 : 2, path, 0, DirLock()));
  budget->limit_ = budget->Usage().limit;
  return budget;
}

// Keeps the run's memory out of swap, which would be memory beside the budget. Kernels without swap
// accounting lack the files, and there the budget bounds resident memory alone. When both limits of
// version 1 are equal, the kernel hits the limit of memory and swap first, and kernels from 6.15 on
// do not count that in failcnt; so the limit is set only where the machine has swap.
void MemoryBudget::LimitSwap(const std::string& limit) {
  const bool has_swap =
      SplitLines(ReadSmallFile(fs_.prefix() + "/proc/swaps").value_or("")).size() > 1;
  const std::string file = version_ == 1 ? "memory.memsw.limit_in_bytes" : "memory.swap.max";
  if (version_ == 1) WriteSmallFile(path_ + "/memory.swappiness", "0");
  if (version_ == 1 && !has_swap) return;
  const int code = WriteSmallFile(path_ + "/" + file, version_ == 1 ? limit : "0");
  if (code == 0 || !has_swap) return;
  lacks_ = fmt::format(
      "{} could not be set ({}), so the run's memory may move into the machine's swap, which "
      "counts in no budget; end the swap with swapoff -a",
      file, std::strerror(code));
}

// Sets the limit. Returns an empty string, or a sentence that says why the limit does not hold.
std::string MemoryBudget::SetLimit(uint64_t limit) {
  const std::string file = path_ + (version_ == 1 ? "/memory.limit_in_bytes" : "/memory.max");
  const std::string text = std::to_string(limit);
  if (const int code = WriteSmallFile(file, text); code != 0) {
    return fmt::format("{} could not be set to {}: {}", file, text, std::strerror(code));
  }
  LimitSwap(text);
  limit_ = ReadNumber(file).value_or(kNoLimit);
  if (limit_ > limit || limit - limit_ >= static_cast<uint64_t>(sysconf(_SC_PAGESIZE))) {
    return fmt::format("{} was set to {} but reads {}", file, text, ReadLine(file));
  }
  return "";
}

void MemoryBudget::Enter(pid_t pid) const {
  // A process writes 0 to put itself into the group, in any pid namespace.
  const std::string file = path_ + "/cgroup.procs";
  if (const int code = WriteSmallFile(file, std::to_string(pid)); code != 0) {
    throw Error(Error::kIo,
                fmt::format("process {} could not enter the memory budget at {}: {}",
                            pid == 0 ? getpid() : pid, path_, std::strerror(code)),
                code);
  }
}

MemoryUsage MemoryBudget::Usage() const {
  const auto number = [&](const char* file) { return ReadNumber(path_ + "/" + file).value_or(0); };
  const std::string stat = ReadSmallFile(path_ + "/memory.stat").value_or("");
  const auto field = [&](const char* key) { return FindNumber(stat, key).value_or(0); };
  MemoryUsage usage;
  uint64_t file = 0;
  if (version_ == 1) {
    usage.limit = number("memory.limit_in_bytes");
    usage.usage = number("memory.usage_in_bytes");
    usage.peak = number("memory.max_usage_in_bytes");
    usage.kernel = number("memory.kmem.usage_in_bytes");
    usage.failcnt = number("memory.failcnt") + number("memory.memsw.failcnt");
    const std::string oom = ReadSmallFile(path_ + "/memory.oom_control").value_or("");
    usage.oom_kills = FindNumber(oom, "oom_kill").value_or(0);
    usage.anon = field("total_rss");
    file = field("total_cache");
    usage.shmem = field("total_shmem");
    usage.mapped = field("total_mapped_file");
    usage.dirty = field("total_dirty");
    usage.writeback = field("total_writeback");
    usage.refaults = field("total_workingset_refault_file");
  } else {
    usage.limit = number("memory.max");
    usage.usage = number("memory.current");
    usage.peak = number("memory.peak");
    const std::string events = ReadSmallFile(path_ + "/memory.events").value_or("");
    usage.failcnt = FindNumber(events, "max").value_or(0);
    usage.oom_kills = FindNumber(events, "oom_kill").value_or(0);
    usage.anon = field("anon");
    file = field("file");
    usage.shmem = field("shmem");
    usage.mapped = field("file_mapped");
    usage.dirty = field("file_dirty");
    usage.writeback = field("file_writeback");
    usage.refaults = field("workingset_refault_file");
    // Linux before 5.18 has no value "kernel"; its parts are added up instead.
    const auto kernel = FindNumber(stat, "kernel");
    usage.kernel =
        kernel ? *kernel
               : field("kernel_stack") + field("pagetables") + field("percpu") + field("slab");
    usage.kernel += field("sock");
  }
  usage.file = file - std::min(file, usage.shmem);
  return usage;
}

bool MemoryBudget::OomKilled() const {
  const MemoryUsage usage = Usage();
  if (usage.oom_kills == 0) return false;
  // Version 2 counts how often the group's own limit was the cause ("oom"), apart from the
  // processes that were killed. Version 1 has no such count, so this looks whether the group was
  // ever near its limit.
  if (version_ == 2) {
    const std::string events = ReadSmallFile(path_ + "/memory.events").value_or("");
    if (const auto own = FindNumber(events, "oom")) return *own > 0;
  }
  constexpr uint64_t kNear = 32;  // a group may be full when 1/32 of its limit is left
  return usage.peak == 0 || usage.peak >= usage.limit - usage.limit / kNear;
}

MemoryParts MemoryBudget::Parts(uint64_t engine_cache) const {
  MemoryParts parts;
  const MemoryUsage usage = Usage();
  const uint64_t process = usage.anon + usage.shmem;
  parts.limit = usage.limit;
  parts.engine_cache = std::min(engine_cache, process);
  parts.process_other = process - parts.engine_cache;
  parts.page_cache = usage.file;
  parts.kernel = usage.kernel;
  parts.unused = usage.limit - std::min(usage.limit, usage.usage);

  uint64_t by_page_tables = 0;
  const auto processes = ReadSmallFile(path_ + "/cgroup.procs");
  for (const std::string& pid : SplitLines(processes.value_or(""))) {
    const auto memory = ReadProcessMemory(std::atoi(pid.c_str()));
    if (!memory) return parts;
    by_page_tables += memory->anon + memory->shmem;
  }
  if (processes && !processes->empty()) {
    parts.process_check = static_cast<int64_t>(by_page_tables - process);
  }
  return parts;
}

// Reclaims the group's page cache. Pages that are still charged to a group when it is removed would
// live on, charged to no group, and be free hits for the next run. Returns false when the kernel
// stopped making progress: a file system that was made read-only by an error takes no dirty pages.
// The group must then stay, as rmdir(2) would wait for the pages while it holds a lock of all
// cgroups.
bool MemoryBudget::Reclaim() const {
  for (int i = 0; i < 3; ++i) {
    const uint64_t charged = Charged(version_, path_);
    if (charged == 0) return true;
    const WriteEnd end =
        WriteInHelper(path_ + (version_ == 1 ? "/memory.force_empty" : "/memory.reclaim"),
                      version_ == 1 ? "0" : std::to_string(charged), fs_.patience(),
                      [this] { return Charged(version_, path_); });
    if (end != WriteEnd::kRefused) return end == WriteEnd::kDone;
  }
  return true;
}

std::string MemoryBudget::Remove() {
  if (removed_ || stuck_) return "";
  const std::string procs = path_ + "/cgroup.procs";
  for (int i = 0; i < kPatience && !ReadLine(procs).empty(); ++i) Pause();
  stuck_ = ReadLine(procs).empty() && !Reclaim();
  if (stuck_) return PagesStayText(version_, path_);
  int code = fs_.RemoveDirectory(path_);
  for (int i = 0; i < kPatience / 4 && code == EBUSY; ++i) {
    Pause();
    code = fs_.RemoveDirectory(path_);
  }
  removed_ = code == 0 || code == ENOENT;
  if (removed_) return "";
  std::string inside = ReadLine(procs);
  std::replace(inside.begin(), inside.end(), '\n', ' ');
  return inside.empty()
             ? fmt::format("the memory cgroup {} could not be removed: {}", path_,
                           std::strerror(code))
             : fmt::format("the memory cgroup {} still holds the processes {}", path_, inside);
}

MemoryBudget::Leftovers MemoryBudget::CleanLeftovers(const CgroupFs& fs) {
  Leftovers leftovers;
  const auto hierarchy = FindCgroups(fs, "memory", "memory");
  if (!hierarchy) return leftovers;
  for (const std::string& path : AllCgroups(*hierarchy)) {
    std::optional<DirLock> lock = TakeLeftoverCgroup(path);
    if (!lock) continue;
    MemoryBudget leftover(fs, hierarchy->version, path, 0, std::move(*lock));
    // A group with processes that a killed run started can be removed only after those are killed.
    // The user decides that.
    const bool busy = !ReadLine(path + "/cgroup.procs").empty();
    if (!busy && !leftover.Reclaim()) {
      leftovers.kept.push_back(PagesStayText(hierarchy->version, path));
      continue;
    }
    const int code = busy ? EBUSY : fs.RemoveDirectory(path);
    if (code == 0) {
      leftovers.removed.push_back(
          fmt::format("removed the memory cgroup {} of an earlier, killed run", path));
    } else if (code != ENOENT) {
      std::string inside = ReadLine(path + "/cgroup.procs");
      std::replace(inside.begin(), inside.end(), '\n', ' ');
      leftovers.kept.push_back(fmt::format(
          "the memory cgroup {} of an earlier, killed run could not be removed: {}", path,
          busy ? "it still holds the processes " + inside : std::string(std::strerror(code))));
    }
  }
  return leftovers;
}

}  // namespace testbed
