#include "workloads/measure/log_estimate.h"

#include <algorithm>

namespace testbed {

LogWriteEstimate EstimateLogWrites(uint64_t bytes, uint64_t syncs, uint32_t page) {
  LogWriteEstimate e;
  if (bytes == 0) return e;
  const auto n = static_cast<double>(std::max<uint64_t>(syncs, 1));
  e.bytes = static_cast<double>(bytes);
  e.bytes_per_sync = e.bytes / n;
  if (bytes % page == 0) {
    e.alignment = page;
  } else if (bytes % 512 == 0) {
    e.alignment = 512;
  }
  e.least_bytes = std::max(e.bytes, n * page);
  e.expected_bytes = std::max(e.least_bytes, e.bytes + n * (page - e.alignment));
  return e;
}

}  // namespace testbed
