// Findings that are judged again: the same claims with the same numbers, on other values of an
// axis, such as on an engine behind its server ([[again]] of an experiment's file).
//
//   for (const Finding& finding : FindingsAgain(e, again, is_there)) Check(finding);
#ifndef TESTBED_TOOLS_EXPERIMENT_VERDICT_AGAIN_H_
#define TESTBED_TOOLS_EXPERIMENT_VERDICT_AGAIN_H_

#include <functional>
#include <string>
#include <vector>

#include "tools/experiment/experiment.h"

namespace testbed {

// Returns the findings that `again` names, each with the id "C1.NAME", with the parts and
// mechanisms that select one of its labels, in which each such label is replaced. A part that
// selects a label that is not there is left out, and so is a finding without parts. `is_there`
// returns whether there are cells with a label of the axis; no function: there are for each.
std::vector<Finding> FindingsAgain(const Experiment& experiment, const Again& again,
                                   const std::function<bool(const std::string&)>& is_there);

// Returns the first finding that `again` names and the experiment lacks, or of which no part
// selects a label; an empty string when there is none.
std::string NotJudgedAgain(const Experiment& experiment, const Again& again);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_VERDICT_AGAIN_H_
