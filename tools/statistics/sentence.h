// Says an answer (comparison.h) in a sentence, the same in every command.
#ifndef TESTBED_TOOLS_STATISTICS_SENTENCE_H_
#define TESTBED_TOOLS_STATISTICS_SENTENCE_H_

#include <nlohmann/json.hpp>
#include <string>

#include "tools/statistics/comparison.h"
#include "tools/statistics/metrics.h"

namespace testbed {

// Returns one clause without a full stop, such as
//
//   B is faster by 4.1 % (3.2 to 5.0)
//   p99 of B is higher by 12 % (9.3 to 15)
//   the same within 2 % (-0.40 to +0.90)
//   cannot be told: B is between 3.1 % slower and 4.0 % faster; about 6 more minutes would be
//   enough (8 more loads of each)
//   cannot be told from 1 load of each, because loads differ: it takes at least 3 of each; about 2
//   more loads of each would be enough
//
// `b` names the side B in it.
std::string Sentence(const Answer& answer, const Metric& metric, const std::string& b = "B");

// Returns the effect and its interval for a table: "+4.1 % (+3.2 to +5.0)".
std::string EffectText(const Answer& answer);
// Return the outcome for a table ("faster", "slower", "higher", "lower", "same", "cannot be told"),
// and a share or a rise in per cent with as many digits as are of use: "4.1", "0.10", "12".
std::string OutcomeText(const Answer& answer, const Metric& metric);
std::string PercentText(double change);
// Returns by how many per cent something changes that becomes `ratio` times as large, as
// PercentText does: "4.1" of 1.041 and of 0.959. A fall that leaves something is never "100": it
// has the decimals that say so, as "99.6" and "99.97". SignedChangeText has the sign before it, and
// is "?" when the ratio is not finite.
std::string ChangeText(double ratio);
std::string SignedChangeText(double ratio);

// Returns {"scale", "effect", "low", "high"} of the answer, for documents.
nlohmann::json EffectJson(const Answer& answer);

}  // namespace testbed

#endif  // TESTBED_TOOLS_STATISTICS_SENTENCE_H_
