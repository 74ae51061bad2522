// Workload insert: inserts every row of the data set once, in the data set's order. One operation
// is a transaction of rows_per_transaction rows. Threads take blocks of that size in turn, so a
// sequential load grows at one edge of the key space.
#ifndef TESTBED_WORKLOADS_ROWS_INSERT_H_
#define TESTBED_WORKLOADS_ROWS_INSERT_H_

#include "workloads/registry.h"

namespace testbed {

WorkloadInfo InsertInfo();
std::unique_ptr<Workload> MakeInsert(std::shared_ptr<const Dataset> dataset,
                                     const WorkloadOptions& options);
// Makes the workload with the name `name`, for a workload that is a preset of this one. `name` must
// live as long as the workload.
std::unique_ptr<Workload> MakeInsertAs(const char* name, std::shared_ptr<const Dataset> dataset,
                                       const WorkloadOptions& options);

// Opens, or creates, the main table and the secondary indexes of a data set and returns them in
// that order.
std::vector<TableId> OpenDatasetTables(Engine& engine, const Dataset& dataset);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_ROWS_INSERT_H_
