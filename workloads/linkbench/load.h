// Workload linkbench-load: creates LinkBench's database in an empty one. docs/workloads.md
// describes what it loads in which order.
#ifndef TESTBED_WORKLOADS_LINKBENCH_LOAD_H_
#define TESTBED_WORKLOADS_LINKBENCH_LOAD_H_

#include <memory>

#include "workloads/workload.h"

namespace testbed {

std::unique_ptr<Workload> MakeLinkbenchLoad(std::shared_ptr<const Dataset> dataset,
                                            const WorkloadOptions& options);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_LINKBENCH_LOAD_H_
