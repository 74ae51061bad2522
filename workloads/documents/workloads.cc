// The registration of the workloads on documents of many attributes.
#include "workloads/documents/document.h"
#include "workloads/registry.h"

namespace testbed {

std::vector<WorkloadInfo> DocumentsWorkloads() { return {DocumentLoadInfo(), DocumentQueryInfo()}; }

}  // namespace testbed
