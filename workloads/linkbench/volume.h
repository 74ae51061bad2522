// Computes how much LinkBench's loaders write, which depends on the distribution of degrees.
#ifndef TESTBED_WORKLOADS_LINKBENCH_VOLUME_H_
#define TESTBED_WORKLOADS_LINKBENCH_VOLUME_H_

#include <cstdint>

#include "workloads/linkbench/degree.h"

namespace testbed::linkbench {

inline constexpr uint64_t kBulk = 1024;   // rows of a transaction
inline constexpr uint64_t kChunk = 2048;  // nodes whose links a loader writes as one task

struct LoadVolume {
  uint64_t chunks = 0;
  uint64_t links = 0, counts = 0;  // rows
  // Numbers of transactions. No transaction has rows of two chunks.
  uint64_t link_transactions = 0, count_transactions = 0;
};

// Returns the volume of a load. The first call for some options goes over all nodes. The result is
// remembered, as a plan asks for each of its cells. Thread-safe.
LoadVolume VolumeOf(const DegreeOptions& options);

}  // namespace testbed::linkbench

#endif  // TESTBED_WORKLOADS_LINKBENCH_VOLUME_H_
