// Turns the measurements of a phase into parts of a results document (docs/results.md, "phase").
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

// Returns the rates, latencies and per-second series of a phase: all fields but the account and the
// memory. `ops` are the workload's kinds of operations.
nlohmann::json PhaseJson(const std::string& name, const std::string& kind,
                         const PhaseOptions& options, const std::vector<OpKind>& ops,
                         const PhaseResult& result);

// Returns "foreign_cpu_share" for the time between two readings; null when it cannot be told.
nlohmann::json ForeignCpuJson(const CpuUse& before, const CpuUse& after);

// Returns the parts of the budget's charge at this moment. `engine_cache` is the size of the
// engine's cache in bytes, as the engine reports it.
nlohmann::json MemoryJson(const MemoryBudget& budget, uint64_t engine_cache);

// Returns the reads that a kernel of 2014 would have sent to the device for the recorded file
// reads, for each read_ahead_kb of the published experiment. The first half of the recording only
// warms the model's page cache of `cache_bytes`; the second half is counted. `operations` is the
// number of operations during the whole recording; `random` stands for MADV_RANDOM.
nlohmann::json ReadaheadModelJson(const ReadTrace::Recording& recording, uint64_t operations,
                                  uint64_t cache_bytes, bool random);

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_PHASE_JSON_H_
