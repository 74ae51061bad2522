#include "workloads/registry.h"
#include "workloads/rows/db_bench.h"
#include "workloads/rows/insert.h"
#include "workloads/rows/mixed.h"
#include "workloads/rows/multi_get.h"
#include "workloads/rows/point_read.h"
#include "workloads/rows/settle.h"
#include "workloads/rows/ycsb.h"

namespace testbed {

std::vector<WorkloadInfo> RowsWorkloads() {
  std::vector<WorkloadInfo> all = {InsertInfo(), PointReadInfo(), MultiGetInfo(), MixedInfo(),
                                   SettleInfo()};
  for (WorkloadInfo& info : YcsbInfos()) all.push_back(std::move(info));
  for (WorkloadInfo& info : DbBenchInfos()) all.push_back(std::move(info));
  return all;
}

}  // namespace testbed
