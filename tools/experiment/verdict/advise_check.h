// What `testbed advise` refuses before it measures for an hour, questions that have no answer, and
// what it says then of settings that will not be in force.
#ifndef TESTBED_TOOLS_EXPERIMENT_VERDICT_ADVISE_CHECK_H_
#define TESTBED_TOOLS_EXPERIMENT_VERDICT_ADVISE_CHECK_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "tools/experiment/plan/plan.h"

namespace testbed {

// Checks the options that have names of their own in `testbed advise`, `asked` by name, beside the
// words of its --set. Throws Error (kUsage) when an option is given by both, when one is a list
// though advice is for one value, when the engine is not in this build, and when --ram, whose
// shares are measured, is too small or has no bound.
void CheckAsked(const std::map<std::string, std::string>& asked,
                const std::vector<std::string>& set);

// Throws Error (kUsage) when no cell has a phase that is measured, as the loads would take most of
// an hour, and there would be no advice; and when something sets the rate, by which ways are told
// apart.
void CheckAdvised(const std::vector<Cell>& cells);

// Returns a line about the settings that the advice needs (RefusalText of advise.cc) and that this
// user or machine refuses; "" when there are none. It is printed before the measurements, which
// take most of an hour. `cells` are those that will be measured, some of which run; `out` is the
// directory of the results. With `scratch` the readahead is never refused.
std::string WillRefuseText(const std::vector<Cell>& cells, const std::string& out, bool scratch);

// Returns a line on the rounds that may follow those of `cells`, for ways that cannot be told from
// the best one, until there were `most` rounds: how many, and how long each takes at most; "" when
// none may follow. The forecast of the cells leaves them out.
std::string FinalsText(const std::vector<Cell>& cells, int most);

// Returns the line on a round of finals that begins: `ways` of them cannot be told apart, and
// `cells`, one at least, are those of the round that are still to run, with the rehearsals that are
// in `rehearsals_dir`.
std::string RoundOfFinalsText(size_t ways, const std::vector<Cell>& cells, int most,
                              const std::string& rehearsals_dir);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_VERDICT_ADVISE_CHECK_H_
