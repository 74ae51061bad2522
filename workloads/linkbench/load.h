// Workload linkbench-load fills an empty database with LinkBench's tables. docs/workloads.md tells
// which rows it loads in which order.
#ifndef TESTBED_WORKLOADS_LINKBENCH_LOAD_H_
#define TESTBED_WORKLOADS_LINKBENCH_LOAD_H_

#include <memory>

#include "workloads/workload.h"

namespace testbed {

std::unique_ptr<Workload> MakeLinkbenchLoad(std::shared_ptr<const Dataset> dataset,
                                            const WorkloadOptions& options);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_LINKBENCH_LOAD_H_
