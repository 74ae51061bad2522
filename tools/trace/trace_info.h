// Summarizes a trace, for `testbed trace info`: operations by kind, calls, rates, sizes, how
// unevenly keys are asked for, and the working set.
#ifndef TESTBED_TOOLS_TRACE_TRACE_INFO_H_
#define TESTBED_TOOLS_TRACE_TRACE_INFO_H_

#include <nlohmann/json.hpp>
#include <string>

#include "workloads/trace/trace_file.h"

namespace testbed {

// Reads the whole trace and returns what docs/trace-format.md lists under "trace info". Throws
// Error (kUsage) when a block is damaged, and Stopped when the user asks to stop.
nlohmann::json TraceInfo(const TraceFile& file);

// Returns the document that TraceInfo returned as tables.
std::string TraceInfoText(const nlohmann::json& info);

}  // namespace testbed

#endif  // TESTBED_TOOLS_TRACE_TRACE_INFO_H_
