// `testbed advise`: the page size, I/O mode and cache share that measurements on this machine show
// to serve a described workload best, with the evidence.
#ifndef TESTBED_TOOLS_EXPERIMENT_VERDICT_ADVISE_H_
#define TESTBED_TOOLS_EXPERIMENT_VERDICT_ADVISE_H_

#include <string>

#include "tools/experiment/results.h"

namespace testbed {

// Returns the advice from the results of the experiment "advise": the options of the fastest cell,
// the distance of the next best, and the figures behind the difference. Without a finished cell,
// returns only what is missing from the comparison.
std::string AdviceText(const ResultSet& results);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_VERDICT_ADVISE_H_
