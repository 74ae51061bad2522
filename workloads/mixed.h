// Workload mixed: point reads, updates, inserts of new rows, erases and scans on a loaded database,
// in the proportions of --mix. Updates write the row's next version; inserts add rows past the
// loaded ones; erases remove every sixteenth of the loaded rows, which no update touches, so that
// a row is there with its index entries or not at all.
#ifndef TESTBED_WORKLOADS_MIXED_H_
#define TESTBED_WORKLOADS_MIXED_H_

#include "workloads/workload.h"

namespace testbed {

// Throws Error (kUsage) for an unknown operation or shares that do not add up to more than 0.
std::unique_ptr<Workload> MakeMixed(std::shared_ptr<const Dataset> dataset,
                                    const WorkloadOptions& options);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_MIXED_H_
