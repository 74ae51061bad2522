// Workloads oltp-point-select, oltp-read-only, oltp-read-write, oltp-write-only, oltp-update-index,
// oltp-update-non-index, oltp-insert, oltp-delete: the OLTP benchmarks of sysbench 1.0 on the
// tables that sysbench-load made. One operation is one transaction of the benchmark's script.
//
// Engines here do not lock the rows that a transaction reads before it writes them, which SQL does:
// so transactions that write rows of the same id take turns by locks of the workload, held until
// the commit has returned. Every transaction takes its locks in the same order, so there are no
// deadlocks.
#ifndef TESTBED_WORKLOADS_SYSBENCH_OLTP_H_
#define TESTBED_WORKLOADS_SYSBENCH_OLTP_H_

#include <vector>

#include "workloads/registry.h"

namespace testbed::sysbench {

std::vector<WorkloadInfo> OltpInfos();

}  // namespace testbed::sysbench

#endif  // TESTBED_WORKLOADS_SYSBENCH_OLTP_H_
