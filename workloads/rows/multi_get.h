// Workload multi-get: gets several rows by their keys with one call of Session::MultiGet. The rows
// are drawn by --distribution.
#ifndef TESTBED_WORKLOADS_ROWS_MULTI_GET_H_
#define TESTBED_WORKLOADS_ROWS_MULTI_GET_H_

#include "workloads/registry.h"

namespace testbed {

WorkloadInfo MultiGetInfo();

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_ROWS_MULTI_GET_H_
