// The steps that neither insert nor query at a rate: ib.x builds the secondary indexes of the rows
// that ib.i0 loaded; ib.vac lets the database settle before reads are measured.
#ifndef TESTBED_WORKLOADS_INSERT_BENCHMARK_BUILD_H_
#define TESTBED_WORKLOADS_INSERT_BENCHMARK_BUILD_H_

#include <memory>

#include "workloads/workload.h"

namespace testbed {

std::unique_ptr<Workload> MakeIbX(std::shared_ptr<const Dataset> dataset,
                                  const WorkloadOptions& options);
std::unique_ptr<Workload> MakeIbVac(std::shared_ptr<const Dataset> dataset,
                                    const WorkloadOptions& options);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_INSERT_BENCHMARK_BUILD_H_
