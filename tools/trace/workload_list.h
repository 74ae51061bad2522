// The value of --workload: names of workloads, each with a number of times or, for those that read a
// trace, the file.
#ifndef TESTBED_TOOLS_TRACE_WORKLOAD_LIST_H_
#define TESTBED_TOOLS_TRACE_WORKLOAD_LIST_H_

#include <string>

#include "tools/options.h"

namespace testbed {

// Sets the workloads that `text` lists, such as "insert,point-read:3,replay:run.trace". Throws Error
// (kUsage) for an unknown name, a refused number, or two different traces.
void SetWorkloads(const std::string& option, const std::string& text, RunOptions* options);

}  // namespace testbed

#endif  // TESTBED_TOOLS_TRACE_WORKLOAD_LIST_H_
