// Corrects answers for their number: of many comparisons at 5 %, one in twenty is told to differ
// where nothing does. Thread-safe; nothing throws.
#ifndef TESTBED_TOOLS_STATISTICS_CORRECTIONS_H_
#define TESTBED_TOOLS_STATISTICS_CORRECTIONS_H_

#include <span>
#include <vector>

#include "tools/statistics/comparison.h"

namespace testbed {

// Corrects the answers about several metrics of one comparison, so that one or more of their
// differences are wrong in at most a share alpha of comparisons, and likewise one or more of their
// "the same" (Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal
// of Statistics 6, 1979). p and p_same become the adjusted ones. Each interval is at the level at
// which Holm's procedure tested its metric, so that it holds no zero difference exactly when a
// difference is told.
//
// The caller chooses the family. What a comparison was made for, such as the rate, may be left out
// of it and be tested at alpha, when it was named before the measurement.
void CorrectByHolm(std::span<Answer> answers);

// Corrects the answers about many cells, so that of the differences told a share alpha is wrong at
// most, and likewise of "the same" (Benjamini, Hochberg, "Controlling the false discovery rate",
// Journal of the Royal Statistical Society B 57, 1995). The intervals of the R of m cells that
// differ are at alpha R / m, and so hold for cells selected in this way (Benjamini, Yekutieli,
// "False discovery rate-adjusted multiple confidence intervals for selected parameters", Journal of
// the American Statistical Association 100, 2005).
void ControlFalseDiscoveries(std::span<Answer> answers);

// Return the adjusted p-values of both procedures, in the order given. A hypothesis is rejected at
// any level that is not below its adjusted p-value.
std::vector<double> HolmAdjusted(std::span<const double> p);
std::vector<double> BenjaminiHochbergAdjusted(std::span<const double> p);

}  // namespace testbed

#endif  // TESTBED_TOOLS_STATISTICS_CORRECTIONS_H_
