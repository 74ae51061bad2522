// Looking at a comparison again and again while its loads come in, without raising false alarms.
//
// A test at 5 % that is repeated after every load is wrong far more often than in 5 % of
// comparisons. A group-sequential test therefore tests each time at a smaller level, the same at
// each look (Pocock, "Group sequential methods in the design and analysis of clinical trials",
// Biometrika 64, 1977), and the intervals at that level hold at all looks together (Jennison,
// Turnbull, "Interim analyses: the repeated confidence interval approach", Journal of the Royal
// Statistical Society B 51, 1989). The levels here are those of the sequential t test, whose
// statistic has a distribution that depends on nothing but the numbers of loads (Jennison,
// Turnbull, "Exact calculations for sequential t, chi-squared and F tests", Biometrika 78, 1991);
// it was simulated once, by bench/statistics_simulation.cc, which prints the table in looks.cc.
//
// A look is a number of loads of each side. The answer changes only at the numbers in kLooks, so a
// program may ask at any time and as often as it likes. A comparison whose time is over between two
// looks takes its last look there, in place of the next one, so that no load is wasted. The level
// over all looks is then no higher than with all of kLooks, whatever the number of loads is.
// Thread-safe.
#ifndef TESTBED_TOOLS_STATISTICS_LOOKS_H_
#define TESTBED_TOOLS_STATISTICS_LOOKS_H_

#include <array>

namespace testbed {

// The looks, in loads of each side. A comparison ends with the last of them.
inline constexpr std::array kLooks = {3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 80, 100};

// Returns the last look that `loads` loads allow; 0 when there is none yet.
int LookAt(int loads);
// Returns the last look of a comparison that has ended with `loads` loads. It is at all of them,
// but no later than the last of kLooks; 0 when they are fewer than the first look needs.
int LastLook(int loads);
// Returns the first look after `loads` loads; 0 when there is none any more.
int NextLook(int loads);

// Returns the probability that the smallest of the one-sided p-values at all looks is at most
// `tail` when there is no difference. This is the p-value, over all looks, of a comparison whose
// p-value at this look is `tail`. It is never smaller than `tail`.
double AnytimeTail(double tail);
// Returns the inverse of AnytimeTail: the level of a one-sided test at each look with which its
// level over all looks is `alpha`.
double LookTail(double alpha);

}  // namespace testbed

#endif  // TESTBED_TOOLS_STATISTICS_LOOKS_H_
