// Workload linkbench-index builds the covering index of a database that linkbench-load made without
// the index (covering_index=after). It refuses a database that has the index (Error kUsage).
#ifndef TESTBED_WORKLOADS_LINKBENCH_INDEX_H_
#define TESTBED_WORKLOADS_LINKBENCH_INDEX_H_

#include <memory>

#include "workloads/workload.h"

namespace testbed {

std::unique_ptr<Workload> MakeLinkbenchIndex(std::shared_ptr<const Dataset> dataset,
                                             const WorkloadOptions& options);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_LINKBENCH_INDEX_H_
