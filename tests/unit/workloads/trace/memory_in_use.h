// The memory that the process of a test has in RAM.
#ifndef TESTBED_TESTS_UNIT_WORKLOADS_TRACE_MEMORY_IN_USE_H_
#define TESTBED_TESTS_UNIT_WORKLOADS_TRACE_MEMORY_IN_USE_H_

#include <unistd.h>

#include <cstdint>
#include <fstream>

namespace testbed {

inline uint64_t MemoryInUse() {
  uint64_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace testbed

#endif  // TESTBED_TESTS_UNIT_WORKLOADS_TRACE_MEMORY_IN_USE_H_
