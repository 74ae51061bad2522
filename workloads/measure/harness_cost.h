// Measures the cost of the runner's own loop, so that a report can show it beside the time of an
// operation.
#ifndef TESTBED_WORKLOADS_MEASURE_HARNESS_COST_H_
#define TESTBED_WORKLOADS_MEASURE_HARNESS_COST_H_

#include <cstdint>
#include <memory>

#include "workloads/measure/runner.h"

namespace testbed {

// Returns the harness's own cost per operation, in nanoseconds. It runs point reads, of rows drawn
// as `draws` says, on an engine that returns values of the dataset's value size and does nothing
// else, with the accounting, latency and consume settings of `options`. With `recording` the reads
// are recorded to a trace that is written nowhere. Returns the least of three measurements; NaN
// when `options.stop` ends the first one.
double HarnessCostNs(const PhaseOptions& options, std::shared_ptr<const Dataset> dataset,
                     WorkloadOptions draws, bool recording = false);

// Returns how many operations a measurement has. There are fewer of values so long that their use,
// which is part of an operation, would take seconds.
uint64_t HarnessCostOperations(uint64_t value_size);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_MEASURE_HARNESS_COST_H_
