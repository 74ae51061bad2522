// Workload settle: lets the engine come to rest (Engine::Settle), as a load does at its end. In a
// list of phases that follow each other at once, it is the phase in which the engine completes the
// work that the earlier ones left behind: compactions, dirty pages, a checkpoint.
#ifndef TESTBED_WORKLOADS_ROWS_SETTLE_H_
#define TESTBED_WORKLOADS_ROWS_SETTLE_H_

#include "workloads/registry.h"

namespace testbed {

WorkloadInfo SettleInfo();

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_ROWS_SETTLE_H_
