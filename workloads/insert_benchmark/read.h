// The read steps of the insert benchmark. Each client has two threads: one inserts (and deletes) at
// a fixed rate, the other queries as fast as it can until the first has inserted its rows.
#ifndef TESTBED_WORKLOADS_INSERT_BENCHMARK_READ_H_
#define TESTBED_WORKLOADS_INSERT_BENCHMARK_READ_H_

#include <memory>

#include "workloads/workload.h"

namespace testbed {

enum class IbQuery : uint8_t { kRange, kPoint };

// ib.qr100 is MakeIbRead<IbQuery::kRange, 100>. The rates are 100, 500 and 1000 rows per second and
// client.
template <IbQuery kQuery, int kRate>
std::unique_ptr<Workload> MakeIbRead(std::shared_ptr<const Dataset> dataset,
                                     const WorkloadOptions& options);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_INSERT_BENCHMARK_READ_H_
