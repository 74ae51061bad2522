// The options of a run that record a trace and pace a replay: --record and --speed.
#ifndef TESTBED_TOOLS_TRACE_TRACE_OPTIONS_H_
#define TESTBED_TOOLS_TRACE_TRACE_OPTIONS_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/options.h"
#include "workloads/dataset.h"

namespace CLI {
class App;
}

namespace testbed {

// Adds the options to `app`. Parsing stores the values in `options`, which must outlive `app`.
void AddTraceOptions(CLI::App& app, RunOptions& options);

// Throws Error (kUsage) when these options do not go together with the others.
void CheckTraceOptions(const RunOptions& options);

// Gives a replay as many threads as the trace has clients, unless `words`, the command line of the
// run, have --threads. Throws Error (kUsage) when the trace cannot be read.
void ApplyTraceThreads(const std::vector<std::string>& words, RunOptions* options);

// Throws Error (kUsage) when the run records rows that exceed the limits of a trace.
void CheckRecordedRows(const RunOptions& options, const Dataset& dataset);

// Returns a sentence that says why --record wrote no trace in the runs of the document; an empty
// string when it wrote one, or when the error of a run says why.
std::string UnrecordedText(const RunOptions& options, const nlohmann::json& document);

// Throws Error (kUsage) when the run replays a trace with a block that is damaged. Reads all of it.
void CheckReplayedTrace(const RunOptions& options);

}  // namespace testbed

#endif  // TESTBED_TOOLS_TRACE_TRACE_OPTIONS_H_
