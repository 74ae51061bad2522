// Workload linkbench: LinkBench's ten operations on the database that linkbench-load made.
// docs/workloads.md describes what each operation does to the tables.
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
// Workload linkbench-check: checks the whole database once (check.h).
std::unique_ptr<Workload> MakeLinkbenchCheck(std::shared_ptr<const Dataset> dataset,
                                             const WorkloadOptions& options);
// Returns the options of linkbench that describe the database or the accesses.
std::vector<std::pair<std::string, std::string>> LinkbenchOptions();
// Returns the options that do not describe the database; linkbench-load shares them.
std::vector<std::pair<std::string, std::string>> LinkbenchRunOptions();

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_LINKBENCH_RUN_H_
