// What a phase measured as parts of a results document (docs/results.md, "phase").
#ifndef TESTBED_TOOLS_RUN_PHASE_JSON_H_
#define TESTBED_TOOLS_RUN_PHASE_JSON_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "device/file/read_trace.h"
#include "device/machine/host_activity.h"
#include "device/machine/memory_budget.h"
#include "workloads/measure/runner.h"

namespace testbed {

// Rates, latencies and the per-second series: all but the account. `ops` are the workload's kinds
// of operations.
nlohmann::json PhaseJson(const std::string& name, const std::string& kind,
                         const PhaseOptions& options, const std::vector<OpKind>& ops,
                         const PhaseResult& result);

// "foreign_cpu_share" of what happened between two readings.
nlohmann::json ForeignCpuJson(const CpuUse& before, const CpuUse& after);

nlohmann::json MemoryJson(const MemoryBudget& budget, uint64_t engine_cache);

// What a kernel of 2014 would have sent to the device for the recorded reads, at the read_ahead_kb
// of the published experiment. The first half warms the model's page cache, the second counts.
nlohmann::json ReadaheadModelJson(const ReadTrace::Recording& recording, uint64_t operations,
                                  uint64_t cache_bytes, bool random);

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_PHASE_JSON_H_
