// Workload linkbench: LinkBench's ten operations on the database that linkbench-load made.
// docs/workloads.md tells what each does to the tables.
#ifndef TESTBED_WORKLOADS_LINKBENCH_RUN_H_
#define TESTBED_WORKLOADS_LINKBENCH_RUN_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "workloads/workload.h"

namespace testbed {

std::unique_ptr<Workload> MakeLinkbench(std::shared_ptr<const Dataset> dataset,
                                        const WorkloadOptions& options);
// Workload linkbench-check: looks at the whole database, once (linkbench_check.h).
std::unique_ptr<Workload> MakeLinkbenchCheck(std::shared_ptr<const Dataset> dataset,
                                             const WorkloadOptions& options);
std::vector<std::pair<std::string, std::string>> LinkbenchOptions();
// Those that say nothing about the database, also of linkbench-load.
std::vector<std::pair<std::string, std::string>> LinkbenchRunOptions();

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_LINKBENCH_RUN_H_
