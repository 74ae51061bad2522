// Workload point-read: gets one row by its key. The row is drawn by --distribution.
#ifndef TESTBED_WORKLOADS_ROWS_POINT_READ_H_
#define TESTBED_WORKLOADS_ROWS_POINT_READ_H_

#include "workloads/registry.h"

namespace testbed {

WorkloadInfo PointReadInfo();

std::unique_ptr<Workload> MakePointRead(std::shared_ptr<const Dataset> dataset,
                                        const WorkloadOptions& options);
// Makes the workload with the name `name`, for a workload that is a preset of this one. `name` must
// live as long as the workload.
std::unique_ptr<Workload> MakePointReadAs(const char* name, std::shared_ptr<const Dataset> dataset,
                                          const WorkloadOptions& options);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_ROWS_POINT_READ_H_
