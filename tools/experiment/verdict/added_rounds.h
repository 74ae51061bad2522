// Verdicts of an experiment to which rounds are added.
//
// A user who sees that a part cannot be told may add rounds, and look again. A part that is judged
// at 5 % after each of 3 to 9 rounds holds by chance in up to 14 of 100 experiments. Each look is
// therefore at a level of its own, and the levels of all looks are 5 % together (Bonferroni). The
// first one has nine tenths of it, because most experiments are looked at once, and each further
// look has half of what is left: 4.5 %, 0.25 %, 0.125 %, ... A look is a number of rounds. Looking
// at the same rounds again shows the same verdict, and one round gives none. SureAtLook
// (resample.h) returns the level.
#ifndef TESTBED_TOOLS_EXPERIMENT_VERDICT_ADDED_ROUNDS_H_
#define TESTBED_TOOLS_EXPERIMENT_VERDICT_ADDED_ROUNDS_H_

#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace testbed {

// Raises the "rounds" of an experiment.json to `rounds`, if it has fewer, and notes those before in
// "looked_at" when there may have been verdicts from them. `cells` is the folder of the finished
// cells.
void RaiseRounds(int rounds, const std::string& cells, nlohmann::json* header);

// Returns the numbers of rounds from which there may have been verdicts, `rounds` of now included.
// Throws json::exception for a header that is none.
std::set<int> LooksOf(const nlohmann::json& header, int rounds);

// Returns a sentence such as "verdicts may have been seen after 3 and 5 rounds: ..."; an empty
// string for a single look.
std::string LooksText(const std::set<int>& looks);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_VERDICT_ADDED_ROUNDS_H_
