// The metrics of the insert benchmark, computed from a phase of a results document.
//
// The classic ones have the definitions of the public scripts (github.com/mdcallag/mytools,
// bench/ibench: etl.sh, np.sh): what the whole device did while the step ran, divided by the step's
// rate. Where this differs, it is said at the field. Beside them stands what the ledger knows and
// the scripts cannot: the blocks that each kind of operation caused itself.
//
//   nlohmann::json m = InsertBenchmarkMetrics(phase);   // null when it is no step
//   m["ips"], m["qps"], m["rpq"], ...                   // docs/workloads.md lists them
//   for (const nlohmann::json& b : m["blocks"]) ...     // by kind of operation
#ifndef TESTBED_TOOLS_REPORT_INSERT_BENCHMARK_METRICS_H_
#define TESTBED_TOOLS_REPORT_INSERT_BENCHMARK_METRICS_H_

#include <nlohmann/json.hpp>
#include <vector>

#include "tools/output/table.h"

namespace testbed {

// `phase` as docs/results.md has it, with its account. What cannot be known is left out.
nlohmann::json InsertBenchmarkMetrics(const nlohmann::json& phase);

// The tables of all steps in a results document; empty ones when it has none.
std::vector<Table> InsertBenchmarkTables(const nlohmann::json& document);

// The rate that was exceeded in a share of the seconds: of the rates in falling order, the one at
// that share of the list. NaN with fewer than 10.
double RateExceededIn(std::vector<double> rates, double share);

}  // namespace testbed

#endif  // TESTBED_TOOLS_REPORT_INSERT_BENCHMARK_METRICS_H_
