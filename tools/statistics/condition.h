// Conditions on the change of a metric from A to B, as --fail-if has them: "rate < -3%".
// Thread-safe.
#ifndef TESTBED_TOOLS_STATISTICS_CONDITION_H_
#define TESTBED_TOOLS_STATISTICS_CONDITION_H_

#include <cstddef>
#include <string>
#include <vector>

#include "tools/statistics/comparison.h"

namespace testbed {

struct Condition {
  std::string metric;  // a name that MetricNamed knows
  bool less = false;   // "<"; else ">"
  double change = 0;   // -0.03
};

// Parses "METRIC < CHANGE%" or "METRIC > CHANGE%", with or without spaces. `option` is named in the
// Error (kUsage) that it throws for any other text, and for a change of -100 % or less.
Condition ParseCondition(const std::string& option, const std::string& text);

// Parses "2%" or "2", more than 0 and at most 100 per cent, and returns 0.02. Throws Error
// (kUsage), which names the option.
double ParseMargin(const std::string& option, const std::string& text);
// Parses names of metrics, separated by commas, or "all". Returns none for an empty text. Throws
// Error (kUsage), which names the option, also for a name that is in the list twice: each value of
// that metric would count as two.
std::vector<std::string> ParseMetricNames(const std::string& option, const std::string& text);

// Returns "rate < -3 %", which ParseCondition takes for the same condition.
std::string ConditionText(const Condition& condition);

enum class Judgement { kHolds, kDoesNotHold, kUnknown };

// Returns "holds", "does not hold" or "cannot be told".
std::string JudgementWords(Judgement judgement);

// Returns whether the condition holds of the change from A to B, by a one-sided test at
// answer.alpha in each direction: a change that equals the condition's is told to hold in at most
// that share of comparisons. Where all loads have exactly that change, as equal counts of blocks
// have 0 %, it does not hold. kUnknown with fewer than kLeastLoads loads, and of a metric that was
// 0 somewhere, so that it has no ratio (Scale::kDifference), unless A and B are equal for sure, or
// one of them was 0 in all loads and the other is more for sure.
Judgement Judge(const Condition& condition, const Answer& answer);

// Returns whether the condition holds as one of `n` that are judged together, of sides, cells and
// conditions. To hold it is tested at answer.alpha / n (Bonferroni), so that in at most a share
// alpha of comparisons any is told to hold that does not. Not to hold it is tested at answer.alpha:
// "none holds" is told only when each one is found not to hold. When one does hold, that is wrong
// no more often than the single test of this one (an intersection-union test: Berger,
// "Multiparameter hypothesis testing and acceptance sampling", Technometrics 24, 1982).
Judgement JudgeOneOf(size_t n, const Condition& condition, Answer answer);

}  // namespace testbed

#endif  // TESTBED_TOOLS_STATISTICS_CONDITION_H_
