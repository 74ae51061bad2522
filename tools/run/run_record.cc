#include "tools/run/run_record.h"

#include <algorithm>

namespace testbed {

double PhaseRecord::DeviceReadsPerOperation() const {
  if (!account.device) return 0;
  // A number of requests may be below 0 (BlockCounts).
  const auto others = static_cast<int64_t>(account.ledger.OtherPrograms().reads);
  const double own = static_cast<double>(account.device->reads) - static_cast<double>(others);
  return std::max(0.0, own) / static_cast<double>(std::max<uint64_t>(1, charged_operations()));
}

double PhaseRecord::DeviceReadSecondsPerOperation() const {
  if (!account.device || account.device->reads == 0) return 0;
  const double all = static_cast<double>(account.device->read_ms) / 1000;
  return DeviceReadsPerOperation() * all / static_cast<double>(account.device->reads);
}

double PhaseRecord::CachedBytes() const {
  if (!memory) return 0;
  return static_cast<double>(memory->parts.engine_cache + memory->parts.page_cache);
}

}  // namespace testbed
