// Workload mixed: point reads, updates, inserts of new rows, erases and scans on a loaded database,
// in the proportions of --mix. Updates write another version of a row; inserts add rows that were
// never there; erases take the oldest rows away (population.h), each with its index entries. Every
// operation finds its row: none is erased between the moment when an operation is prepared and its
// end. The phase ends when no row is left for an operation.
#ifndef TESTBED_WORKLOADS_ROWS_MIXED_H_
#define TESTBED_WORKLOADS_ROWS_MIXED_H_

#include "workloads/registry.h"

namespace testbed {

WorkloadInfo MixedInfo();
// Throws Error (kUsage) for an unknown operation or shares that do not add up to more than 0.
std::unique_ptr<Workload> MakeMixed(std::shared_ptr<const Dataset> dataset,
                                    const WorkloadOptions& options);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_ROWS_MIXED_H_
