#include "workloads/documents/document.h"
#include "workloads/registry.h"

namespace testbed {

std::vector<WorkloadInfo> DocumentsWorkloads() { return {DocumentLoadInfo(), DocumentQueryInfo()}; }

}  // namespace testbed
