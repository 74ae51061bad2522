// testbed advise: the page size, IO mode and cache share that serve a described workload best on
// this machine, measured and not guessed, with the evidence.
#ifndef TESTBED_TOOLS_EXPERIMENT_VERDICT_ADVISE_H_
#define TESTBED_TOOLS_EXPERIMENT_VERDICT_ADVISE_H_

#include <string>

#include "tools/experiment/results.h"

namespace testbed {

// The advice from the results of the experiment "advise": the options of the fastest cell, how far
// the next ways are behind, and what the difference comes from. Empty when no cell is finished.
std::string AdviceText(const ResultSet& results);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_VERDICT_ADVISE_H_
