// `testbed advise` recommends the page size, IO mode and cache share that serve a workload best on
// this machine. It measures them, and shows the evidence.
#ifndef TESTBED_TOOLS_EXPERIMENT_VERDICT_ADVISE_H_
#define TESTBED_TOOLS_EXPERIMENT_VERDICT_ADVISE_H_

#include <string>
#include <vector>

#include "tools/experiment/results.h"

namespace testbed {

// Returns the advice from the results of the experiment "advise": the options of the fastest cell,
// the rates of the next ones relative to it, and the reads and CPU time that explain them. Without
// a finished cell, returns only the list of missing measurements.
std::string AdviceText(const ResultSet& results);

// The rounds in which all ways are measured before the finalists are measured on.
constexpr int kAdviseRounds = 3;

// Returns the names of the cells that cannot be told from the fastest by the rounds so far; empty
// when the fastest is decided, or fewer than two rounds are there.
std::vector<std::string> Finalists(const ResultSet& results);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_VERDICT_ADVISE_H_
