// Workload mixed does point reads, updates, inserts of new rows, erases and scans on a loaded
// database, in the proportions of --mix. An update writes another version of a row. An insert adds
// a row that the database never had. An erase removes the oldest row (population.h). Inserts and
// erases include the row's index entries. Every operation finds its row: no client erases a row
// between the preparation of an operation on it and the operation's end. The phase ends when no row
// is left for an operation.
#ifndef TESTBED_WORKLOADS_ROWS_MIXED_H_
#define TESTBED_WORKLOADS_ROWS_MIXED_H_

#include "workloads/registry.h"

namespace testbed {

WorkloadInfo MixedInfo();
// Throws Error (kUsage) when --mix has an unknown operation, a negative share or no share above 0,
// and when it has inserts and the keys come from a file.
std::unique_ptr<Workload> MakeMixed(std::shared_ptr<const Dataset> dataset,
                                    const WorkloadOptions& options);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_ROWS_MIXED_H_
