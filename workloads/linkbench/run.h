// Workload linkbench does LinkBench's ten operations on the database that linkbench-load made.
// docs/workloads.md tells what each operation does to the tables.
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
// Workload linkbench-check checks the whole database once (check.h).
std::unique_ptr<Workload> MakeLinkbenchCheck(std::shared_ptr<const Dataset> dataset,
                                             const WorkloadOptions& options);
// Returns the names and meanings of the extra options of linkbench, for WorkloadInfo.
std::vector<std::pair<std::string, std::string>> LinkbenchOptions();
// Returns those of the options of all linkbench workloads that say nothing about the database.
std::vector<std::pair<std::string, std::string>> LinkbenchRunOptions();

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_LINKBENCH_RUN_H_
