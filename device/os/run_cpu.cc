#include "device/os/run_cpu.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "device/os/mutex.h"
#include "device/os/sys_file.h"

namespace testbed {
namespace {

struct Servers {
  Mutex mutex;
  std::vector<pid_t> pids GUARDED_BY(mutex);
};
Servers& TheServers() {
  static Servers* const servers = new Servers;  // never freed: threads use it until they end
  return *servers;
}

CpuSeconds OfRusage(int who) {
  rusage usage{};
  ::getrusage(who, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return {seconds(usage.ru_utime), seconds(usage.ru_stime)};
}

struct Process {
  pid_t parent = 0;
  CpuSeconds cpu;        // time of the process and of its children that have ended
  long ended_ticks = 0;  // time of the children that have ended
};

// Returns the process with this id; nothing when it has ended.
std::optional<Process> ReadProcess(pid_t pid) {
  const std::optional<std::string> text = ReadSmallFile("/proc/" + std::to_string(pid) + "/stat");
  if (!text) return {};
  // The process name in parentheses may hold any byte. Behind it are the state, the parent, and at
  // the 12th to 15th place utime, stime, cutime and cstime in clock ticks (proc(5)).
  const std::vector<std::string> words = SplitWords(text->substr(text->rfind(')') + 1));
  if (words.size() < 15) return {};
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  const auto time = [&](size_t word) { return std::stod(words[word]) / ticks; };
  return Process{static_cast<pid_t>(std::stol(words[1])),
                 {time(11) + time(13), time(12) + time(14)},
                 std::stol(words[13]) + std::stol(words[14])};
}

std::map<pid_t, Process> ReadProcesses() {
  std::map<pid_t, Process> all;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto pid = static_cast<pid_t>(std::stol(name));
    if (const std::optional<Process> process = ReadProcess(pid)) all.emplace(pid, *process);
  }
  return all;
}

// Returns whether the process is one of `servers` or descends from one.
bool Serves(const std::map<pid_t, Process>& all, pid_t pid, const std::vector<pid_t>& servers) {
  for (size_t steps = 0; steps <= all.size(); ++steps) {
    if (std::find(servers.begin(), servers.end(), pid) != servers.end()) return true;
    const auto process = all.find(pid);
    if (process == all.end()) return false;
    pid = process->second.parent;
  }
  return false;
}

// Returns the servers and all processes that descend from them.
std::map<pid_t, Process> ReadServing(const std::vector<pid_t>& servers) {
  const std::map<pid_t, Process> all = ReadProcesses();
  std::map<pid_t, Process> serving;
  for (const auto& [pid, process] : all) {
    if (Serves(all, pid, servers)) serving.emplace(pid, process);
  }
  return serving;
}

// Returns whether each process still exists and has not taken over the time of a child since it was
// read.
bool AreUnchanged(const std::map<pid_t, Process>& processes) {
  return std::all_of(processes.begin(), processes.end(), [](const auto& known) {
    const std::optional<Process> now = ReadProcess(known.first);
    return now && now->ended_ticks == known.second.ended_ticks;
  });
}

// A Resident says how many bytes of a process are in memory: `own` are anonymous, `shared` are
// those of files and of shared memory.
struct Resident {
  uint64_t own = 0, shared = 0;
};

Resident ResidentOf(pid_t pid) {
  const std::string text = ReadSmallFile("/proc/" + std::to_string(pid) + "/status").value_or("");
  const auto bytes = [&text](const char* name) {
    return FindNumber(text, name).value_or(0) * 1024;  // the file has kB
  };
  return {bytes("RssAnon:"), bytes("RssFile:") + bytes("RssShmem:")};
}

std::vector<pid_t> ServersOfRun() {
  Servers& known = TheServers();
  const LockGuard lock(known.mutex);
  return known.pids;
}

}  // namespace

CpuSeconds CpuOfRun() {
  const std::vector<pid_t> servers = ServersOfRun();
  CpuSeconds sum = OfRusage(RUSAGE_SELF);
  sum += OfRusage(RUSAGE_CHILDREN);
  if (servers.empty()) return sum;
  // When a process has ended, its parent gets its time, as with the backends of PostgreSQL at the
  // end of a phase. If a process ends after one of the two was read and before the other was, its
  // time is in neither reading or in both. Then all processes are read again.
  constexpr int kMostReadings = 20;
  std::map<pid_t, Process> serving = ReadServing(servers);
  for (int i = 1; i < kMostReadings && !AreUnchanged(serving); ++i) serving = ReadServing(servers);
  for (const auto& [pid, process] : serving) sum += process.cpu;
  return sum;
}

uint64_t ServersResidentBytes() {
  const std::vector<pid_t> servers = ServersOfRun();
  if (servers.empty()) return 0;
  const std::map<pid_t, Process> all = ReadProcesses();
  uint64_t sum = 0;
  for (const pid_t server : servers) {
    uint64_t shared = 0;
    for (const auto& [pid, process] : all) {
      if (!Serves(all, pid, {server})) continue;
      const Resident resident = ResidentOf(pid);
      sum += resident.own;
      shared = std::max(shared, resident.shared);
    }
    sum += shared;
  }
  return sum;
}

std::set<std::string> ThreadsOfOtherPrograms() {
  std::vector<pid_t> own = ServersOfRun();
  own.push_back(::getpid());
  const std::map<pid_t, Process> all = ReadProcesses();
  std::set<std::string> names;
  for (const auto& [pid, process] : all) {
    if (Serves(all, pid, own)) continue;
    std::error_code error;
    const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
    // The process may end while its threads are listed.
    for (std::filesystem::directory_iterator task(tasks, error), end; !error && task != end;
         task.increment(error)) {
      std::optional<std::string> name = ReadSmallFile(task->path().string() + "/comm");
      if (!name) continue;
      if (name->ends_with('\n')) name->pop_back();
      names.insert(std::move(*name));
    }
  }
  return names;
}

void AddServer(pid_t pid) {
  Servers& known = TheServers();
  const LockGuard lock(known.mutex);
  known.pids.push_back(pid);
}

void RemoveServer(pid_t pid) {
  Servers& known = TheServers();
  const LockGuard lock(known.mutex);
  std::erase(known.pids, pid);
}

}  // namespace testbed
