#include "workloads/registry.h"
#include "workloads/trace/replay.h"

namespace testbed {

std::vector<WorkloadInfo> TraceWorkloads() { return {ReplayInfo(), ReplayLoadInfo()}; }

}  // namespace testbed
