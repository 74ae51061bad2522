// Workload mixed: point reads, updates, read-modify-writes, inserts, erases and scans on a loaded
// database, in the proportions of --mix. An update writes another version of a row. A
// read-modify-write gets a row first, as one operation, which is no transaction. An insert adds a row that the
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

// The same with the name `name`, for a workload that is a mix of its own (options.mix).
// `uniform_scans`: scans take 1 to --scan-rows rows, unless scan_length says otherwise.
std::unique_ptr<Workload> MakeMixedAs(const char* name, bool uniform_scans,
                                      std::shared_ptr<const Dataset> dataset,
                                      const WorkloadOptions& options);
// The run options of all such workloads.
std::vector<std::pair<std::string, std::string>> MixedRunOptions();

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_ROWS_MIXED_H_
