#include "device/machine/host_activity.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "device/os/run_cpu.h"
#include "device/os/sys_file.h"

namespace testbed {
namespace {

// Returns the user mode seconds of the parent process, which shows the run's progress and writes
// its results down.
double ParentUserSeconds(const std::string& root) {
  const std::optional<std::string> text =
      ReadSmallFile(root + "/proc/" + std::to_string(::getppid()) + "/stat");
  if (!text) return 0;
  // The process name in parentheses may hold any byte; utime is the 12th word after it (proc(5)).
  const std::vector<std::string> words = SplitWords(text->substr(text->rfind(')') + 1));
  return words.size() < 12 ? 0 : std::stod(words[11]) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

// Returns `taken` seconds as a share of what `cpus` processors had between two readings; nothing
// when that cannot be told.
std::optional<double> ShareOf(double taken, const CpuUse& before, const CpuUse& after,
                              int64_t cpus) {
  constexpr double kLeastSeconds = 0.2;
  const double seconds = after.at_seconds - before.at_seconds;
  if (seconds < kLeastSeconds || after.host_user_seconds == 0 || cpus < 1) return std::nullopt;
  return std::clamp(taken / (static_cast<double>(cpus) * seconds), 0.0, 1.0);
}

}  // namespace

HostActivity ReadHostActivity(const std::string& root) {
  HostActivity activity;
  const std::optional<std::string> text = ReadSmallFile(root + "/proc/stat");
  if (!text) return activity;
  activity.context_switches = FindNumber(*text, "ctxt").value_or(0);
  // The line is "cpu user nice system idle iowait irq softirq steal ...", in clock ticks (proc(5)).
  const std::vector<std::string> words = SplitWords(text->substr(0, text->find('\n')));
  if (words.size() < 8 || words[0] != "cpu") return activity;
  const auto seconds = [&](size_t word) {
    return std::stod(words[word]) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  };
  activity.user_seconds = seconds(1) + seconds(2);
  activity.system_seconds = seconds(3) + seconds(6) + seconds(7);
  if (words.size() > 8) activity.steal_seconds = seconds(8);
  return activity;
}

CpuUse ReadCpuUse(const std::string& root) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const HostActivity host = ReadHostActivity(root);
  return {static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9,
          host.user_seconds, CpuOfRun().user + ParentUserSeconds(root), host.steal_seconds};
}

std::optional<double> ForeignCpuShare(const CpuUse& before, const CpuUse& after, int64_t cpus) {
  return ShareOf((after.host_user_seconds - before.host_user_seconds) -
                     (after.own_user_seconds - before.own_user_seconds),
                 before, after, cpus);
}

std::optional<double> OwnCpuShare(const CpuUse& before, const CpuUse& after, int64_t cpus) {
  return ShareOf(after.own_user_seconds - before.own_user_seconds, before, after, cpus);
}

std::optional<double> StealShare(const CpuUse& before, const CpuUse& after, int64_t cpus) {
  return ShareOf(after.steal_seconds - before.steal_seconds, before, after, cpus);
}

uint64_t ProcessResidentBytes() {
  const std::optional<std::string> text = ReadSmallFile("/proc/self/statm");
  const std::vector<std::string> words = SplitWords(text.value_or(""));
  return words.size() < 2 ? 0
                          : std::stoull(words[1]) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

uint64_t RunResidentBytes() { return ProcessResidentBytes() + ServersResidentBytes(); }

}  // namespace testbed
