// Measures the cost of the runner's own loop, so that a report can show it beside the time of an
// operation.
#ifndef TESTBED_WORKLOADS_MEASURE_HARNESS_COST_H_
#define TESTBED_WORKLOADS_MEASURE_HARNESS_COST_H_

#include <memory>

#include "workloads/measure/runner.h"

namespace testbed {

// Returns the harness's own cost per operation, in nanoseconds. It runs point reads, of rows drawn
// as `draws` says, on an engine that returns values of the dataset's value size and does nothing
// else, with the accounting, latency and consume settings of `options`. With `recording` the reads
// are recorded to a trace that is written nowhere. Returns the least of three measurements.
double HarnessCostNs(const PhaseOptions& options, std::shared_ptr<const Dataset> dataset,
                     WorkloadOptions draws, bool recording = false);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_MEASURE_HARNESS_COST_H_
