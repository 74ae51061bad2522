// The metrics of the insert benchmark, computed from a phase of a results document.
//
// The classic metrics have the definitions of the public scripts (github.com/mdcallag/mytools,
// bench/ibench: etl.sh, np.sh): the IO of the whole device while the step ran, divided by the
// step's rate. docs/workloads.md defines each metric. Beside them stand figures that only the
// ledger can give: the blocks that each kind of operation caused itself.
//
//   nlohmann::json m = InsertBenchmarkMetrics(phase);   // null when the phase is no step
//   const double ips = m["ips"];                        // docs/workloads.md lists them
//   for (const nlohmann::json& b : m["blocks"]) ...     // by kind of operation
#ifndef TESTBED_TOOLS_REPORT_INSERT_BENCHMARK_METRICS_H_
#define TESTBED_TOOLS_REPORT_INSERT_BENCHMARK_METRICS_H_

#include <nlohmann/json.hpp>
#include <vector>

#include "tools/output/table.h"

namespace testbed {

// Returns the metrics of `phase`, a phase of docs/results.md with its account; null when the phase
// is no step of the insert benchmark. Metrics that cannot be known are left out.
nlohmann::json InsertBenchmarkMetrics(const nlohmann::json& phase);

// Returns the tables of all steps in a results document; the tables are empty when it has no step.
std::vector<Table> InsertBenchmarkTables(const nlohmann::json& document);

// Returns the rate that was exceeded in `share` of the seconds: the rate at that share of the list,
// sorted in falling order. Returns NaN for fewer than 10 rates.
double RateExceededIn(std::vector<double> rates, double share);

}  // namespace testbed

#endif  // TESTBED_TOOLS_REPORT_INSERT_BENCHMARK_METRICS_H_
