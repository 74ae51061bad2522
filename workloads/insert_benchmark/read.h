// The read steps of the insert benchmark. Each client has a thread that inserts (and deletes) at a
// fixed rate, and a thread that queries as fast as it can until the inserting thread has written
// its rows.
#ifndef TESTBED_WORKLOADS_INSERT_BENCHMARK_READ_H_
#define TESTBED_WORKLOADS_INSERT_BENCHMARK_READ_H_

#include <memory>

#include "workloads/workload.h"

namespace testbed {

enum class IbQuery : uint8_t { kRange, kPoint };

// Makes a read step: ib.qr100 is MakeIbRead<IbQuery::kRange, 100>. The rate is in rows per second
// and client; the steps have rates of 100, 500 and 1000.
template <IbQuery kQuery, int kRate>
std::unique_ptr<Workload> MakeIbRead(std::shared_ptr<const Dataset> dataset,
                                     const WorkloadOptions& options);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_INSERT_BENCHMARK_READ_H_
