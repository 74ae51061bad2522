#include "workloads/mixgraph/mixgraph.h"

namespace testbed {

std::vector<WorkloadInfo> MixgraphWorkloads() { return {MixgraphInfo()}; }

}  // namespace testbed
