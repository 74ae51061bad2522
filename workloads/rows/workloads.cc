#include "workloads/registry.h"
#include "workloads/rows/insert.h"
#include "workloads/rows/mixed.h"
#include "workloads/rows/multi_get.h"
#include "workloads/rows/point_read.h"

namespace testbed {

std::vector<WorkloadInfo> RowsWorkloads() {
  return {InsertInfo(), PointReadInfo(), MultiGetInfo(), MixedInfo()};
}

}  // namespace testbed
