#include "tools/run/run_record.h"

#include <algorithm>
#include <cstdint>

namespace testbed {

double PhaseRecord::DeviceReadsPerOperation() const {
  if (!account.device) return 0;
  auto own = static_cast<int64_t>(account.device->reads);
  for (const LedgerCounts::Foreign& foreign : account.ledger.foreign) {
    const bool other_program = foreign.kind == FileKind::kOtherFile;
    if (other_program) own -= static_cast<int64_t>(foreign.counts.reads);
  }
  return static_cast<double>(std::max<int64_t>(0, own)) /
         static_cast<double>(std::max<uint64_t>(1, operations()));
}

double PhaseRecord::CachedBytes() const {
  if (!memory) return 0;
  return static_cast<double>(memory->parts.engine_cache + memory->parts.page_cache);
}

}  // namespace testbed
