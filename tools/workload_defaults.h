// The values that a workload, such as those of YCSB, gives to options of the run.
//
// Functions throw Error (kUsage) when two of the workloads stand for different values. Workloads
// that are not known are left to RunOptions::Resolve. All of it is thread-safe.
#ifndef TESTBED_TOOLS_WORKLOAD_DEFAULTS_H_
#define TESTBED_TOOLS_WORKLOAD_DEFAULTS_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tools/options.h"

namespace testbed {

// Returns the options that the workloads have values for (WorkloadInfo::defaults), by name without
// dashes. Options that the user gave, for which `given` returns true, are left out. `mix` has the
// shares of workload mixed. Throws Error (kUsage) when the user gave both keys and key-order, too,
// and when the scan-rows of one workload would shorten the scans of another.
std::map<std::string, std::string> WorkloadDefaults(
    const std::vector<std::string>& workloads,
    const std::function<bool(const std::string& name)>& given,
    const std::map<std::string, double>& mix);

// Sets these options of a run, except those that `words`, its command line, give. Call it before
// Resolve.
void ApplyWorkloadDefaults(const std::vector<std::string>& words, RunOptions* options);

}  // namespace testbed

#endif  // TESTBED_TOOLS_WORKLOAD_DEFAULTS_H_
