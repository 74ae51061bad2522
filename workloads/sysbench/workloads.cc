#include "workloads/registry.h"
#include "workloads/sysbench/load.h"
#include "workloads/sysbench/oltp.h"

namespace testbed {

std::vector<WorkloadInfo> SysbenchWorkloads() {
  std::vector<WorkloadInfo> all = {sysbench::LoadInfo()};
  for (WorkloadInfo& info : sysbench::OltpInfos()) all.push_back(std::move(info));
  return all;
}

}  // namespace testbed
