// Workload multi-get: gets several rows by their keys with one call of Session::MultiGet. The rows
// are drawn by --distribution.
#ifndef TESTBED_WORKLOADS_ROWS_MULTI_GET_H_
#define TESTBED_WORKLOADS_ROWS_MULTI_GET_H_

#include "workloads/registry.h"

namespace testbed {

WorkloadInfo MultiGetInfo();
// Makes the workload with the name `name`, for a workload that is a preset of this one. `name` must
// live as long as the workload.
std::unique_ptr<Workload> MakeMultiGetAs(const char* name, std::shared_ptr<const Dataset> dataset,
                                         const WorkloadOptions& options);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_ROWS_MULTI_GET_H_
