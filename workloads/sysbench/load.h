// Workload sysbench-load: makes the tables of sysbench's OLTP benchmarks (schema.h) in an empty
// database. One operation is a transaction of 500 rows with their index entries.
#ifndef TESTBED_WORKLOADS_SYSBENCH_LOAD_H_
#define TESTBED_WORKLOADS_SYSBENCH_LOAD_H_

#include "workloads/registry.h"

namespace testbed::sysbench {

WorkloadInfo LoadInfo();

}  // namespace testbed::sysbench

#endif  // TESTBED_WORKLOADS_SYSBENCH_LOAD_H_
