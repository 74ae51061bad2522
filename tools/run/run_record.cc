#include "tools/run/run_record.h"

#include <algorithm>

#include "tools/report/figures.h"
#include "tools/run/run_json.h"

namespace testbed {

double PhaseRecord::DeviceReadsPerOperation() const {
  if (!account.device) return 0;
  return OwnDeviceIo(AccountJson(account)).reads /
         static_cast<double>(std::max<uint64_t>(1, operations()));
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
