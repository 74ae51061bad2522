// How much LinkBench's loaders write, which the distribution of degrees decides.
#ifndef TESTBED_WORKLOADS_LINKBENCH_VOLUME_H_
#define TESTBED_WORKLOADS_LINKBENCH_VOLUME_H_

#include <cstdint>

#include "workloads/linkbench/degree.h"

namespace testbed::linkbench {

inline constexpr uint64_t kBulk = 1024;   // rows of a transaction
inline constexpr uint64_t kChunk = 2048;  // nodes whose links one loader writes together

struct LoadVolume {
  uint64_t chunks = 0;
  uint64_t links = 0, counts = 0;  // rows
  // Transactions; none has rows of two chunks.
  uint64_t link_transactions = 0, count_transactions = 0;
};

// Goes over all nodes at the first call, and remembers: a plan asks for each of its cells. Any
// thread may call it.
LoadVolume VolumeOf(const DegreeOptions& options);

}  // namespace testbed::linkbench

#endif  // TESTBED_WORKLOADS_LINKBENCH_VOLUME_H_
