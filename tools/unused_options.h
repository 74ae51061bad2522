// Refuses options that would change nothing in a run, because the run lacks what they belong to: a
// user who gives one expects an effect, and would take the figures for it.
//
// The check is for the command line of a single run. The cells of a sweep or an experiment share
// options, of which one cell may have no use.
#ifndef TESTBED_TOOLS_UNUSED_OPTIONS_H_
#define TESTBED_TOOLS_UNUSED_OPTIONS_H_

#include <string>
#include <vector>

#include "tools/options.h"

namespace testbed {

// Throws Error (kUsage), which names the option and what it belongs to, when `words`, the command
// line, give one without use: --zipf-theta, --hot-fraction or --hot-probability with another
// --distribution, --distribution or --hit-ratio for workloads that draw no rows by them, or
// --mmap-advice without mapped files. The options are resolved. Creates nothing.
void CheckUnusedOptions(const RunOptions& options, const std::vector<std::string>& words);

}  // namespace testbed

#endif  // TESTBED_TOOLS_UNUSED_OPTIONS_H_
