// `testbed advise` recommends the page size, IO mode and cache share that serve a workload best on
// this machine. It measures them, and shows the evidence.
#ifndef TESTBED_TOOLS_EXPERIMENT_VERDICT_ADVISE_H_
#define TESTBED_TOOLS_EXPERIMENT_VERDICT_ADVISE_H_

#include <string>

#include "tools/experiment/results.h"

namespace testbed {

// Returns the advice from the results of the experiment "advise": the options of the fastest cell,
// the rates of the next ones relative to it, and the reads and CPU time that explain them. Without
// a finished cell, returns only the list of missing measurements.
std::string AdviceText(const ResultSet& results);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_VERDICT_ADVISE_H_
