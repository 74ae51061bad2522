// These functions return the processor time and the memory of a run: of this process, and of the
// servers that work for it (server_process.h), whose processes do the engine's work in its place.
//
//   const CpuSeconds before = CpuOfRun();
//   ... operations ...
//   const CpuSeconds after = CpuOfRun();
//
// Thread-safe.
#ifndef TESTBED_DEVICE_OS_RUN_CPU_H_
#define TESTBED_DEVICE_OS_RUN_CPU_H_

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>

namespace testbed {

struct CpuSeconds {
  double user = 0, system = 0;
  CpuSeconds& operator+=(const CpuSeconds& other) {
    user += other.user;
    system += other.system;
    return *this;
  }
};

// Returns the time so far of this process, of its children that have ended, and of its servers with
// all their descendants. It does not fall while the servers live. The servers' time comes in ticks
// of 10 ms.
CpuSeconds CpuOfRun();

// Returns the bytes in memory now of the run's servers and all their descendants. Memory that the
// processes of a server map together, such as PostgreSQL's shared buffers, counts once for each
// server: the function takes the largest such amount among the server's processes.
uint64_t ServersResidentBytes();

// Returns the names of all threads (/proc/PID/task/TID/comm) of processes that are neither this one
// nor a server of the run, nor descend from these.
std::set<std::string> ThreadsOfOtherPrograms();

// AddServer makes the process with this id a server of the run, and RemoveServer undoes that.
// ServerProcess calls both.
void AddServer(pid_t pid);
void RemoveServer(pid_t pid);

}  // namespace testbed

#endif  // TESTBED_DEVICE_OS_RUN_CPU_H_
