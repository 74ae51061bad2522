// Workload mixed: point reads, updates, read-modify-writes, inserts, erases and scans on a loaded
// database, in the proportions of --mix. An update writes another version of a row. Of a value with
// fields it writes another version of one field, drawn at random: it gets the row and puts it with
// that field. A read-modify-write is a get and an update of a row, with one get in all. The calls
// of an operation are measured as one, but are not in one transaction. An insert adds a row that
// the database never held. An erase removes the oldest row (population.h). Inserts and erases also
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

// Makes the workload with the name `name`, for a workload that is a preset with a mix of its own
// (options.mix). With `uniform_scans`, scans take 1 to --scan-rows rows, unless the option
// scan_length says otherwise.
std::unique_ptr<Workload> MakeMixedAs(const char* name, bool uniform_scans,
                                      std::shared_ptr<const Dataset> dataset,
                                      const WorkloadOptions& options);
// Returns the run options of all such workloads, for WorkloadInfo.
std::vector<std::pair<std::string, std::string>> MixedRunOptions();

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_ROWS_MIXED_H_
