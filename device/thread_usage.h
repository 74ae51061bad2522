// Processor time, page faults and device bytes of threads and of the process, as the kernel keeps
// them for each: what a phase cost in CPU, and, without root, the bytes that each thread made the
// device read (grade B).
//
//   CpuUsage before = ThreadUsage();
//   ...
//   CpuUsage cost = ThreadUsage() - before;      // about 0.6 microseconds a call
//
// Reads are charged to the thread that submits them, readahead and page faults included, to the
// byte; writes to the thread that dirtied the page, when it dirtied it, so they are not what the
// device wrote (getrusage(2), proc(5), and measured). Counts of requests are not in there.
#ifndef TESTBED_DEVICE_THREAD_USAGE_H_
#define TESTBED_DEVICE_THREAD_USAGE_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace testbed {

struct CpuUsage {
  uint64_t cpu_ns = 0;                  // user and system, exact
  uint64_t user_ns = 0, system_ns = 0;  // split by the kernel from samples at its timer tick
  uint64_t minor_faults = 0;
  uint64_t major_faults = 0;  // those that waited for a read
  uint64_t read_bytes = 0;    // from devices
  uint64_t write_bytes = 0;   // towards devices, when made dirty
  uint64_t waits = 0;         // context switches because the thread had to wait
  uint64_t preemptions = 0;   // context switches because others wanted the processor
  CpuUsage& operator+=(const CpuUsage& o);
  CpuUsage& operator-=(const CpuUsage& o);
  friend CpuUsage operator-(CpuUsage after, const CpuUsage& before) { return after -= before; }
};

CpuUsage ThreadUsage();   // of the calling thread
CpuUsage ProcessUsage();  // of all its threads, those that ended included

// The threads of this process as they are now, by /proc/self/task. user_ns and system_ns are whole
// timer ticks here.
struct TaskUsage {
  pid_t tid = 0;
  std::string name;
  CpuUsage usage;
};
std::vector<TaskUsage> AllThreadsUsage();

}  // namespace testbed

#endif  // TESTBED_DEVICE_THREAD_USAGE_H_
