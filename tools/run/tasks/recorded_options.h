// The options of a run that are not on its command line.
#ifndef TESTBED_TOOLS_RUN_TASKS_RECORDED_OPTIONS_H_
#define TESTBED_TOOLS_RUN_TASKS_RECORDED_OPTIONS_H_

#include <string>
#include <vector>

#include "tools/options.h"

namespace testbed {

// Returns the options, which `words` give, completed by the defaults of the workloads or, with
// --reuse, by the record of the database. Throws Error (kUsage) when that may not be read, when
// there is none and no engine is named, and when a workload does not fit it.
RunOptions WithRecord(RunOptions options, const std::vector<std::string>& words);

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_TASKS_RECORDED_OPTIONS_H_
