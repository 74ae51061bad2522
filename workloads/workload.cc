#include "workloads/workload.h"

namespace testbed {

const char* DistributionName(Distribution distribution) {
  static constexpr const char* kNames[] = {"uniform", "zipfian", "latest", "hot"};
  return kNames[static_cast<size_t>(distribution)];
}

}  // namespace testbed
