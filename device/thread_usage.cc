#include "device/thread_usage.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "device/sys_file.h"

namespace testbed {
namespace {

constexpr uint64_t kBlock = 512;  // the unit of ru_inblock and ru_oublock

uint64_t Ns(const timeval& t) {
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_usec) * 1000;
}

CpuUsage Usage(int who, clockid_t clock) {
  rusage r{};
  timespec cpu{};
  getrusage(who, &r);
  clock_gettime(clock, &cpu);
  CpuUsage usage;
  usage.cpu_ns =
      static_cast<uint64_t>(cpu.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(cpu.tv_nsec);
  usage.user_ns = Ns(r.ru_utime);
  usage.system_ns = Ns(r.ru_stime);
  usage.minor_faults = static_cast<uint64_t>(r.ru_minflt);
  usage.major_faults = static_cast<uint64_t>(r.ru_majflt);
  usage.read_bytes = static_cast<uint64_t>(r.ru_inblock) * kBlock;
  usage.write_bytes = static_cast<uint64_t>(r.ru_oublock) * kBlock;
  usage.waits = static_cast<uint64_t>(r.ru_nvcsw);
  usage.preemptions = static_cast<uint64_t>(r.ru_nivcsw);
  return usage;
}

// Fills what /proc tells of one thread; false when the thread is gone.
bool ReadTask(const std::string& directory, TaskUsage* task) {
  const auto stat = ReadSmallFile(directory + "/stat");
  if (!stat) return false;
  const size_t name_begin = stat->find('('), name_end = stat->rfind(')');
  if (name_begin == std::string::npos || name_end == std::string::npos) return false;
  task->name = stat->substr(name_begin + 1, name_end - name_begin - 1);
  const std::vector<std::string> fields = SplitWords(std::string_view(*stat).substr(name_end + 1));
  constexpr size_t kFirst = 3;  // proc(5)'s number of the first field after the name
  if (fields.size() <= 15 - kFirst) return false;
  const auto field = [&](size_t number) { return std::stoull(fields[number - kFirst]); };
  static const uint64_t tick_ns = 1'000'000'000 / static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
  CpuUsage& usage = task->usage;
  usage.minor_faults = field(10);
  usage.major_faults = field(12);
  usage.user_ns = field(14) * tick_ns;
  usage.system_ns = field(15) * tick_ns;
  // The time on a processor, in nanoseconds; where the kernel keeps none, the ticks must do.
  usage.cpu_ns = ReadNumber(directory + "/schedstat").value_or(usage.user_ns + usage.system_ns);
  const std::string io = ReadSmallFile(directory + "/io").value_or("");
  usage.read_bytes = FindNumber(io, "read_bytes:").value_or(0);
  usage.write_bytes = FindNumber(io, "write_bytes:").value_or(0);
  const std::string status = ReadSmallFile(directory + "/status").value_or("");
  usage.waits = FindNumber(status, "voluntary_ctxt_switches:").value_or(0);
  usage.preemptions = FindNumber(status, "nonvoluntary_ctxt_switches:").value_or(0);
  return true;
}

}  // namespace

CpuUsage& CpuUsage::operator+=(const CpuUsage& o) {
  cpu_ns += o.cpu_ns, user_ns += o.user_ns, system_ns += o.system_ns;
  minor_faults += o.minor_faults, major_faults += o.major_faults;
  read_bytes += o.read_bytes, write_bytes += o.write_bytes;
  waits += o.waits, preemptions += o.preemptions;
  return *this;
}

CpuUsage& CpuUsage::operator-=(const CpuUsage& o) {
  cpu_ns -= o.cpu_ns, user_ns -= o.user_ns, system_ns -= o.system_ns;
  minor_faults -= o.minor_faults, major_faults -= o.major_faults;
  read_bytes -= o.read_bytes, write_bytes -= o.write_bytes;
  waits -= o.waits, preemptions -= o.preemptions;
  return *this;
}

CpuUsage ThreadUsage() { return Usage(RUSAGE_THREAD, CLOCK_THREAD_CPUTIME_ID); }
CpuUsage ProcessUsage() { return Usage(RUSAGE_SELF, CLOCK_PROCESS_CPUTIME_ID); }

std::vector<TaskUsage> AllThreadsUsage() {
  std::vector<TaskUsage> tasks;
  std::error_code failed;
  for (std::filesystem::directory_iterator at("/proc/self/task", failed), end; !failed && at != end;
       at.increment(failed)) {
    TaskUsage task;
    task.tid = std::atoi(at->path().filename().c_str());
    if (ReadTask(at->path(), &task)) tasks.push_back(std::move(task));
  }
  return tasks;
}

}  // namespace testbed
