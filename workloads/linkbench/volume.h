// The volume that LinkBench's loaders write. The distribution of degrees determines it.
#ifndef TESTBED_WORKLOADS_LINKBENCH_VOLUME_H_
#define TESTBED_WORKLOADS_LINKBENCH_VOLUME_H_

#include <cstdint>

#include "workloads/linkbench/degree.h"

namespace testbed::linkbench {

inline constexpr uint64_t kBulk = 1024;   // maximum rows of a transaction
inline constexpr uint64_t kChunk = 2048;  // nodes whose links one task loads

struct LoadVolume {
  uint64_t chunks = 0;
  uint64_t links = 0, counts = 0;  // rows
  // Transactions; each has rows of a single chunk only.
  uint64_t link_transactions = 0, count_transactions = 0;
};

// Returns the volume of a load. The first call for some options visits all nodes and remembers the
// result, since a plan asks for each of its cells. Thread-safe.
LoadVolume VolumeOf(const DegreeOptions& options);

// Returns the mean bytes of the data of rows, whose median is `median`.
uint64_t MeanDataBytes(uint64_t median);
// Returns about how many bytes the entries of the links have in the covering index, keys included.
uint64_t IndexBytes(uint64_t links, uint64_t link_data_size);

}  // namespace testbed::linkbench

#endif  // TESTBED_WORKLOADS_LINKBENCH_VOLUME_H_
