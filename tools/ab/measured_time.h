// Computes how long the sides are measured on each load of their databases, in slices.
//
// Ratios differ between the slices of a load, and between loads. Measuring a load for longer makes
// its ratio more exact. Another load makes the mean over the loads more exact, but takes the time
// of loading. Let S be the variance of the ratio of one second within a load, and V the variance
// between loads beyond what their slices explain. In a time T there are T / (L + m) loads, if each
// takes L seconds to be loaded and is measured for m. The variance of their mean,
// (S / m + V) (L + m) / T, is least with m = sqrt(L S / V) (T. Kalibera and R. Jones, "Rigorous
// Benchmarking in Reasonable Time", ISMM 2013).
#ifndef TESTBED_TOOLS_AB_MEASURED_TIME_H_
#define TESTBED_TOOLS_AB_MEASURED_TIME_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "tools/ab/ab_options.h"

namespace testbed {

// The variances of the logarithm of the ratio of a side's rate to the first side's. With several
// other sides they are means over those sides.
struct RatioSpread {
  double of_pairs = 0;  // between pairs of blocks that mirror each other, within a load
  double of_loads = 0;  // between loads, beyond what their pairs explain; 0 when these explain all
};

// Returns the spread of the samples of a comparison in slices (docs/results.md). Returns nothing
// when fewer than kLeastLoads loads (statistics/comparison.h) have two pairs of blocks each.
std::optional<RatioSpread> SpreadOf(const nlohmann::json& samples);

// Returns the length of the warm-up, in seconds, before slices of `seconds` are kept.
double WarmUpSeconds(const AbOptions& options, double seconds);

// Returns the seconds for which slices are kept on a load that took `load_seconds` to be loaded.
// They are m of the comment above, bounded to one to three times the loading, and at least a few
// blocks; while no spread is known, they are as long as the loading. A warm-up that the user has
// set counts as loading. They are not so long that --time allows too few loads, nor so short that
// it allows more than statistics/looks.h can use. With --loads they fill `turn_seconds`, the time
// that the load has from its begin.
double MeasuredSeconds(const AbOptions& options, double load_seconds, double turn_seconds,
                       const std::optional<RatioSpread>& spread);

// The sums over the loads so far, in seconds.
struct LoadTimes {
  double loads = 0;             // their number, at least 1
  double seconds = 0;           // from the begin of the first load to the end of the last one
  double load_seconds = 0;      // time of loading all sides; 0 in rounds
  double measured_seconds = 0;  // time of the slices, including warm-ups; 0 in rounds
  std::optional<RatioSpread> spread;
};

// Returns the --time in which loads fit that should take `seconds`: the next loads may take longer
// than the loads so far.
inline double WithSpareTime(double seconds) { return 1.25 * seconds; }

// Returns the seconds that another load will take. They are the mean of the loads so far; in
// slices, the measured part is replaced by the one that is planned. With --loads the slices fill
// the time that is left for the load, so this counts the least possible number of them.
double NextLoadSeconds(const AbOptions& options, const LoadTimes& times);

// Returns a sentence that says how much --time an answer needs, when the loads so far tell that the
// time is over before there are enough loads for one (statistics/comparison.h). Returns "" when
// there is time enough, or already enough loads, and when it is not the time that ends the
// comparison or --loads asks for too few.
std::string ShortTimeText(const AbOptions& options, const LoadTimes& times);

}  // namespace testbed

#endif  // TESTBED_TOOLS_AB_MEASURED_TIME_H_
