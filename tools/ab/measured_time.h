// For how long the sides are measured on a load of their databases, in slices.
//
// Ratios of slices differ, and so do those of loads. A load that is measured for longer has a more
// exact ratio, and another load makes the mean over loads more exact, but it must be loaded first.
// With a variance S of the ratio of one second, and V of that of loads beyond what their slices
// explain, a time T has T / (L + m) loads that take L seconds to be loaded and are measured for m,
// and the variance of their mean, (S / m + V) (L + m) / T, is least with m = sqrt(L S / V)
// (T. Kalibera and R. Jones, "Rigorous Benchmarking in Reasonable Time", ISMM 2013).
#ifndef TESTBED_TOOLS_AB_MEASURED_TIME_H_
#define TESTBED_TOOLS_AB_MEASURED_TIME_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "tools/ab/ab_options.h"

namespace testbed {

// The variances of the logarithm of the ratio of two sides' rates, the mean of all sides beside the
// first.
struct RatioSpread {
  double of_pairs = 0;  // of a pair of blocks that mirror each other, within a load
  double of_loads = 0;  // of loads, beyond what their pairs explain; 0 when these explain it all
};

// Returns the spread that the samples of a comparison in slices show (docs/results.md); nothing
// from fewer than three loads that have two pairs of blocks each.
std::optional<RatioSpread> SpreadOf(const nlohmann::json& samples);

// Returns the length of the warm-up, in seconds, before slices of `seconds` are kept.
double WarmUpSeconds(const AbOptions& options, double seconds);

// Returns the seconds for which slices are kept on a load that took `load_seconds` to be loaded.
// They are those of the header's comment, but from one to three times the loading, as long as the
// loading while no spread is known, and at least a few blocks. A warm-up that the user has set is
// part of the loading. They are not so long that --time
// allows too few loads, nor so short that it allows more than statistics/looks.h can use. With
// --loads they fill `turn_seconds`, what the load has from its begin.
double MeasuredSeconds(const AbOptions& options, double load_seconds, double turn_seconds,
                       const std::optional<RatioSpread>& spread);

// The times of the loads so far, in seconds, all together.
struct LoadTimes {
  double loads = 0;             // their number, at least 1
  double seconds = 0;           // from the begin of the first to the end of the last one
  double load_seconds = 0;      // until the sides of each were loaded; 0 in rounds
  double measured_seconds = 0;  // of the slices, those of the warm-ups included; 0 in rounds
  std::optional<RatioSpread> spread;
};

// Returns the seconds that another load takes: those of the loads so far, and in slices as long as
// it is planned to be measured. With --loads its slices fill the time that is left for it, and may
// be as few as they can be.
double NextLoadSeconds(const AbOptions& options, const LoadTimes& times);

// Returns a sentence that says how much --time an answer needs, when the loads so far tell that the
// time is over before there are enough loads for one (statistics/comparison.h). Returns "" when
// there is time enough, or already enough loads, and when it is not the time that ends the
// comparison or --loads asks for too few.
std::string ShortTimeText(const AbOptions& options, const LoadTimes& times);

}  // namespace testbed

#endif  // TESTBED_TOOLS_AB_MEASURED_TIME_H_
