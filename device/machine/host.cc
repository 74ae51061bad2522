#include "device/machine/host.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "device/error.h"
#include "device/os/child_process.h"
#include "device/os/sys_file.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

// Returns the value in a line "key : value" or "key=value"; empty when there is no such line.
std::string Value(const std::string& text, std::string_view key, char separator) {
  for (const std::string& line : SplitLines(text)) {
    if (line.compare(0, key.size(), key) != 0) continue;
    const size_t at = line.find(separator);
    if (at == std::string::npos) continue;
    if (line.find_first_not_of(" \t", key.size()) != at) continue;
    std::string value = line.substr(at + 1);
    value.erase(0, value.find_first_not_of(" \t\""));
    while (!value.empty() && (value.back() == '"' || value.back() == ' ')) value.pop_back();
    return value;
  }
  return "";
}

bool HasWord(const std::string& text, std::string_view word) {
  const std::vector<std::string> words = SplitWords(text);
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Returns the word in brackets of a list such as "always [madvise] never".
std::string Chosen(const std::string& text) {
  const size_t begin = text.find('['), end = text.find(']');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return text;
  return text.substr(begin + 1, end - begin - 1);
}

std::vector<std::string> Names(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator at(directory, failed), end; !failed && at != end;
       at.increment(failed)) {
    names.push_back(at->path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool IsNumber(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return c >= '0' && c <= '9'; });
}

// Looks for DAMON in the three places where it may show itself: its own interface, the modules that
// use it, and its threads. If a host runs DAMON from inside the kernel, only the threads are
// visible.
void FindDamon(const std::string& root, HostFacts* facts) {
  const std::string admin = root + "/sys/kernel/mm/damon/admin/kdamonds";
  for (const std::string& name : Names(admin)) {
    if (!IsNumber(name) || ReadLine(fmt::format("{}/{}/state", admin, name)) != "on") continue;
    const std::string schemes = fmt::format("{}/{}/contexts/0/schemes", admin, name);
    std::string actions;
    for (const std::string& scheme : Names(schemes)) {
      if (!IsNumber(scheme)) continue;
      if (!actions.empty()) actions += ", ";
      actions += ReadLine(fmt::format("{}/{}/action", schemes, scheme));
    }
    facts->damon = Reclaim::kRunning;
    facts->damon_detail =
        "kdamond " + name + " is on" + (actions.empty() ? "" : ", with the action " + actions);
    return;
  }
  for (const char* module : {"damon_reclaim", "damon_lru_sort"}) {
    const std::string parameters = root + "/sys/module/" + module + "/parameters/";
    if (ReadLine(parameters + "enabled") != "Y") continue;
    facts->damon = Reclaim::kRunning;
    facts->damon_detail = std::string(module) + " is enabled";
    return;
  }
  for (const std::string& pid : Names(root + "/proc")) {
    if (!IsNumber(pid)) continue;
    const std::string name = ReadLine(fmt::format("{}/proc/{}/comm", root, pid));
    if (name.rfind("kdamond", 0) != 0) continue;
    facts->damon = Reclaim::kRunning;
    facts->damon_detail = fmt::format("the kernel thread {} (process {}) runs", name, pid);
    return;
  }
  // Process 2 is the parent of all kernel threads, unless a pid namespace hides them.
  if (ReadLine(root + "/proc/2/comm") != "kthreadd") {
    facts->damon = Reclaim::kUnknown;
    facts->damon_detail = "the kernel's threads are not visible here";
    return;
  }
  facts->damon_detail = "no kdamond thread runs";
}

void ReadProcessor(const std::string& root, HostFacts* facts) {
  const std::string info = ReadSmallFile(root + "/proc/cpuinfo").value_or("");
  facts->cpu_model = Value(info, "model name", ':');
  if (facts->cpu_model.empty()) facts->cpu_model = Value(info, "CPU part", ':');
  const std::string flags = Value(info, "flags", ':');
  facts->virtual_machine = HasWord(flags, "hypervisor");
  facts->tsc_invariant = HasWord(flags, "constant_tsc") && HasWord(flags, "nonstop_tsc");
  facts->cpus_online = static_cast<uint32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  facts->cpus = static_cast<uint32_t>(OwnProcessors().size());
  facts->cpu_governor = ReadLine(root + "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  facts->clock_source =
      ReadLine(root + "/sys/devices/system/clocksource/clocksource0/current_clocksource");
}

void ReadMemory(const std::string& root, HostFacts* facts) {
  const std::string info = ReadSmallFile(root + "/proc/meminfo").value_or("");
  facts->memory_bytes = FindNumber(info, "MemTotal:").value_or(0) * 1024;
  facts->memory_available = FindNumber(info, "MemAvailable:").value_or(0) * 1024;
  facts->swap_bytes = FindNumber(info, "SwapTotal:").value_or(0) * 1024;
  facts->transparent_huge_pages =
      Chosen(ReadLine(root + "/sys/kernel/mm/transparent_hugepage/enabled"));
}

void ReadRights(const std::string& root, HostFacts* facts) {
  facts->root = geteuid() == 0;
  facts->user_namespace =
      !IsFirstUserNamespace(ReadSmallFile(root + "/proc/self/uid_map").value_or(kUidMapOfFirst));
  const uint64_t effective =
      EffectiveCapabilities(ReadSmallFile(root + "/proc/self/status").value_or(""));
  const auto has = [&](int capability) { return (effective >> capability & 1) != 0; };
#ifndef CAP_PERFMON
  constexpr int CAP_PERFMON = 38, CAP_BPF = 39;  // since Linux 5.8
#endif
  facts->cap_sys_admin = has(CAP_SYS_ADMIN);
  facts->cap_bpf = has(CAP_BPF) || facts->cap_sys_admin;
  facts->cap_perfmon = has(CAP_PERFMON) || facts->cap_sys_admin;
  const std::string paranoid = ReadLine(root + "/proc/sys/kernel/perf_event_paranoid");
  if (!paranoid.empty()) facts->perf_event_paranoid = std::atoi(paranoid.c_str());
  facts->kernel_types = access((root + "/sys/kernel/btf/vmlinux").c_str(), R_OK) == 0;
  facts->loop_control = access("/dev/loop-control", R_OK | W_OK) == 0;
  facts->mkfs_ext4 = FindProgram("mkfs.ext4").has_value();
  facts->mkfs_xfs = FindProgram("mkfs.xfs").has_value();
}

void ReadPath(const std::string& path, const std::string& root, HostFacts* facts) {
  struct stat info;
  struct statvfs space;
  if (stat(path.c_str(), &info) != 0) throw Error::Io("stat", path, errno);
  if (statvfs(path.c_str(), &space) != 0) throw Error::Io("statvfs", path, errno);
  facts->free_bytes = static_cast<uint64_t>(space.f_bavail) * space.f_frsize;
  const std::string real = fs::canonical(path);
  size_t longest = 0;
  for (const Mount& mount : ReadMounts(root)) {
    const bool covers =
        mount.point == "/" || real == mount.point || real.rfind(mount.point + "/", 0) == 0;
    // If two mounts have the same point, the later one covers the earlier one.
    if (!covers || mount.point.size() < longest) continue;
    longest = mount.point.size();
    facts->file_system = mount.type;
    facts->mount_point = mount.point;
    facts->mount_source = mount.source;
    facts->mount_options = mount.options;
  }
}

}  // namespace

std::string HostName() {
  char name[256] = "";
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

std::vector<int> OwnProcessors() {
  // A cpu_set_t has room for 1024 processors. The kernel refuses less room than for all that the
  // machine may have.
  constexpr size_t kMostSets = 1024;
  std::vector<cpu_set_t> sets(1);
  const auto bytes = [&sets] { return sets.size() * sizeof(cpu_set_t); };
  while (::sched_getaffinity(0, bytes(), sets.data()) != 0) {
    if (errno != EINVAL || sets.size() >= kMostSets) return {0};
    sets.resize(2 * sets.size());
  }
  std::vector<int> processors;
  for (size_t i = 0; i < sets.size() * CPU_SETSIZE; ++i) {
    if (CPU_ISSET_S(i, bytes(), sets.data())) processors.push_back(static_cast<int>(i));
  }
  return processors;
}

const char* ReclaimName(Reclaim reclaim) {
  switch (reclaim) {
    case Reclaim::kNone:
      return "none";
    case Reclaim::kRunning:
      return "running";
    case Reclaim::kUnknown:
      break;
  }
  return "unknown";
}

// Only the first user namespace maps every id to itself.
bool IsFirstUserNamespace(const std::string& uid_map) {
  return SplitWords(uid_map) == SplitWords(kUidMapOfFirst);
}

uint64_t EffectiveCapabilities(const std::string& status) {
  return std::strtoull(Value(status, "CapEff", ':').c_str(), nullptr, 16);
}

HostFacts ReadHostFacts(const std::string& path, const std::string& root) {
  HostFacts facts;
  utsname names{};
  uname(&names);
  facts.kernel = names.release;
  facts.operating_system =
      Value(ReadSmallFile(root + "/etc/os-release").value_or(""), "PRETTY_NAME", '=');
  ReadProcessor(root, &facts);
  ReadMemory(root, &facts);
  bool v1 = false, v2 = false;
  for (const Mount& mount : ReadMounts(root)) {
    v1 |= mount.type == "cgroup";
    v2 |= mount.type == "cgroup2";
  }
  facts.cgroups = v1 ? (v2 ? "v1+v2" : "v1") : (v2 ? "v2" : "none");
  FindDamon(root, &facts);
  facts.load = std::strtod(ReadLine(root + "/proc/loadavg").c_str(), nullptr);
  ReadRights(root, &facts);
  ReadPath(path, root, &facts);
  return facts;
}

std::vector<std::pair<std::string, std::string>> HostFacts::Fields() const {
  const auto yes = [](bool value) { return std::string(value ? "yes" : "no"); };
  return {
      {"kernel", kernel},
      {"operating_system", operating_system},
      {"cpu_model", cpu_model},
      {"cpus", std::to_string(cpus)},
      {"cpus_online", std::to_string(cpus_online)},
      {"virtual_machine", yes(virtual_machine)},
      {"cpu_governor", cpu_governor},
      {"memory_bytes", std::to_string(memory_bytes)},
      {"memory_available", std::to_string(memory_available)},
      {"swap_bytes", std::to_string(swap_bytes)},
      {"clock_source", clock_source},
      {"tsc_invariant", yes(tsc_invariant)},
      {"transparent_huge_pages", transparent_huge_pages},
      {"cgroups", cgroups},
      {"damon", ReclaimName(damon)},
      {"damon_detail", damon_detail},
      {"load", fmt::format("{:.2f}", load)},
      {"root", yes(root)},
      {"user_namespace", yes(user_namespace)},
      {"cap_sys_admin", yes(cap_sys_admin)},
      {"cap_bpf", yes(cap_bpf)},
      {"cap_perfmon", yes(cap_perfmon)},
      {"perf_event_paranoid",
       perf_event_paranoid == kNoParanoid ? "" : std::to_string(perf_event_paranoid)},
      {"kernel_types", yes(kernel_types)},
      {"loop_control", yes(loop_control)},
      {"mkfs_ext4", yes(mkfs_ext4)},
      {"mkfs_xfs", yes(mkfs_xfs)},
      {"file_system", file_system},
      {"mount_point", mount_point},
      {"mount_source", mount_source},
      {"mount_options", mount_options},
      {"free_bytes", std::to_string(free_bytes)},
  };
}

}  // namespace testbed
