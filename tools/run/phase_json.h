// Converts the measurements of a phase to parts of a results document (docs/results.md, "phase").
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

// Returns the rates, latencies and per-second series, that is everything but the account. `ops` are
// the workload's kinds of operations.
nlohmann::json PhaseJson(const std::string& name, const std::string& kind,
                         const PhaseOptions& options, const std::vector<OpKind>& ops,
                         const PhaseResult& result);

// Returns "foreign_cpu_share" for the time between two readings; null when it is not known.
nlohmann::json ForeignCpuJson(const CpuUse& before, const CpuUse& after);

// Returns "memory": what the budget's memory is used for now.
nlohmann::json MemoryJson(const MemoryBudget& budget, uint64_t engine_cache);

// Returns what a kernel of 2014 would have sent to the device for the recorded reads, for
// read_ahead_kb from 0 to 128. The first half of the reads warms the model's page cache, the second
// half is counted.
nlohmann::json ReadaheadModelJson(const ReadTrace::Recording& recording, uint64_t operations,
                                  uint64_t cache_bytes, bool random);

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_PHASE_JSON_H_
