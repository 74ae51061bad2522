// Results in the JSON of google-benchmark (https://github.com/google/benchmark, docs/tools.md), so
// that its compare.py sets two of them side by side. Thread-safe.
#ifndef TESTBED_TOOLS_RESULTS_BENCHMARK_JSON_H_
#define TESTBED_TOOLS_RESULTS_BENCHMARK_JSON_H_

#include <nlohmann/json.hpp>

#include "tools/results/query.h"

namespace testbed {

// Returns the document of the rows of the table "results": "context", and in "benchmarks" an entry
// for each operation of a phase that loads or measures.
//
// - "name" is ENGINE/PHASE/OPERATION/threads:N (the operation is left out when it is called as the
//   phase), then "phase:K" for the K-th phase of this name in a run, from 2, and NAME:VALUE for
//   each option that has several values among the rows, and likewise for the host, the engine's
//   version and the build's commit. Rows of one name are its repetitions.
// - "iterations" is the count; "real_time" the mean latency, "cpu_time" the processor time of the
//   run by operation, both in us; "items_per_second" the rate of all clients.
// - Other numbers are counters: percentiles of the latency, and reads and bytes per operation. What
//   is not known is left out. "written_per_user_byte" is of the phase and the settle behind it.
// - The processor time, and what the device and the settle did, are totals of the phase. In a phase
//   of several kinds of operations they are divided by all of these, and are counters whose names
//   begin with "phase_"; "cpu_time" is then 0.
//
// `phases` is the answer to kPhasesSql of the same store, whatever the rows were selected by.
// Throws Error (kUsage) when no row has a latency from a finished phase of a run that did not fail.
nlohmann::json BenchmarkJson(const QueryAnswer& rows, const QueryAnswer& phases);

// The question for the phases of all runs, in their order, and what the device wrote in each.
inline constexpr char kPhasesSql[] =
    "SELECT DISTINCT document, run, phase_index, phase, kind, phase_own_write_bytes FROM results "
    "WHERE kind IN ('load', 'measure', 'settle') ORDER BY document, run, phase_index";

}  // namespace testbed

#endif  // TESTBED_TOOLS_RESULTS_BENCHMARK_JSON_H_
