// Workload mixed: point reads, updates, inserts, erases and scans on a loaded database, in the
// proportions of --mix. An update writes another version of a row. An insert adds a row that the
// database never held. An erase removes the oldest row (population.h). Inserts and erases also
// change the row's index entries. Every operation finds its row: no client erases it between the
// preparation and the end of the operation. The phase ends when an operation has no row left to
// work on.
#ifndef TESTBED_WORKLOADS_ROWS_MIXED_H_
#define TESTBED_WORKLOADS_ROWS_MIXED_H_

#include "workloads/registry.h"

namespace testbed {

WorkloadInfo MixedInfo();
// Throws Error (kUsage) for an unknown operation, for a negative share, for shares that add up to
// 0, and for inserts into a data set whose keys come from a file.
std::unique_ptr<Workload> MakeMixed(std::shared_ptr<const Dataset> dataset,
                                    const WorkloadOptions& options);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_ROWS_MIXED_H_
