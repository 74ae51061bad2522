// The metrics of the insert benchmark, computed from a phase of a results document.
//
// The classic metrics are defined as in the public scripts (github.com/mdcallag/mytools,
// bench/ibench: etl.sh, np.sh): the activity of the whole device during the step, divided by the
// step's rate. Where a metric differs from the scripts, the comment at its computation says so. In
// addition there are figures that only the ledger knows: the blocks that each kind of operation
// caused itself.
//
//   nlohmann::json m = InsertBenchmarkMetrics(phase);   // null when the phase is no step
//   m["ips"], m["qps"], m["rpq"], ...                   // docs/workloads.md lists them
//   for (const nlohmann::json& b : m["blocks"]) ...     // by kind of operation
#ifndef TESTBED_TOOLS_REPORT_INSERT_BENCHMARK_METRICS_H_
#define TESTBED_TOOLS_REPORT_INSERT_BENCHMARK_METRICS_H_

#include <nlohmann/json.hpp>
#include <vector>

#include "tools/output/table.h"

namespace testbed {

// Returns the metrics of a phase in the form of docs/results.md, with its account. Metrics that
// cannot be known are left out.
nlohmann::json InsertBenchmarkMetrics(const nlohmann::json& phase);

// Returns the tables of all steps in a results document; they are empty when it has none.
std::vector<Table> InsertBenchmarkTables(const nlohmann::json& document);

// Returns the rate that was exceeded in a share of the seconds: the rate at that share of the list
// of rates in falling order. Returns NaN for fewer than 10 rates.
double RateExceededIn(std::vector<double> rates, double share);

}  // namespace testbed

#endif  // TESTBED_TOOLS_REPORT_INSERT_BENCHMARK_METRICS_H_
