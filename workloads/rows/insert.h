// Workload insert: every row of the data set once, in its order, a transaction of
// rows_per_transaction rows an operation. Threads take turns row block by row block, so that a
// sequential load has one growing edge.
#ifndef TESTBED_WORKLOADS_ROWS_INSERT_H_
#define TESTBED_WORKLOADS_ROWS_INSERT_H_

#include "workloads/registry.h"

namespace testbed {

WorkloadInfo InsertInfo();
std::unique_ptr<Workload> MakeInsert(std::shared_ptr<const Dataset> dataset,
                                     const WorkloadOptions& options);

// Opens the main table and the secondary indexes of a data set, in that order.
std::vector<TableId> OpenDatasetTables(Engine& engine, const Dataset& dataset);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_ROWS_INSERT_H_
