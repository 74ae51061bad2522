// The option of a run that searches for a rate: --find-rate.
#ifndef TESTBED_TOOLS_RATE_RATE_OPTIONS_H_
#define TESTBED_TOOLS_RATE_RATE_OPTIONS_H_

#include <memory>

#include "tools/options.h"
#include "workloads/dataset.h"

namespace CLI {
class App;
}

namespace testbed {

// Adds the option to `app`. Parsing stores the value in `options`, which must outlive `app`.
void AddRateOptions(CLI::App& app, RunOptions& options);

// Returns whether the clients start operations at a rate and not when the last one has ended.
bool IsOpenLoop(const RunOptions& options);

// Throws Error (kUsage) when --arrivals is exponential and no rate is given. Sweeps and experiments
// do not call it, because their cells may share --arrivals.
void CheckArrivals(const RunOptions& options);

// Throws Error (kUsage) when the option does not go together with the others.
void CheckRateOptions(const RunOptions& options);

// Throws Error (kUsage) when a workload ends by itself or sets its own rate, so that no rate can be
// searched for it, or when none has the operation that is limited.
void CheckRateWorkloads(const RunOptions& options, const std::shared_ptr<const Dataset>& dataset);

}  // namespace testbed

#endif  // TESTBED_TOOLS_RATE_RATE_OPTIONS_H_
