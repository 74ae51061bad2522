// Compares one metric of two sides, A and B, that were measured in several loads: is B more, less,
// or the same, and how sure is that?
//
//   std::vector<Sample> samples;  // e.g. the rate of each slice, by side, load and slice
//   Answer answer = Compare(samples, {.margin = 0.02, .sequential = true});
//   if (answer.outcome == Outcome::kMore) ...
//
// Samples form a hierarchy: a load (a database that was filled anew), its runs, and the slices of
// a run. Slices and runs of a load share its database, so they tell how exactly that load was
// measured, and nothing about the next load. The values of a load are therefore averaged, and the
// loads are what is counted:
//
//   paired    Load i of A and load i of B were made for each other: beside each other in time, with
//             the same seed. The effect of pair i is d_i = log(B_i / A_i), where A_i and B_i are
//             the means over the slices that both sides have, by their weights. What slows the
//             machine for both cancels. The interval is Student's, of the mean of the d_i, with
//             n - 1 degrees of freedom ("Student", 1908).
//   unpaired  The loads of the two sides have nothing in common, as those of two stored results.
//             The interval is Welch's, of the difference of the means of the logarithms, with
//             Satterthwaite's degrees of freedom (Welch, "The generalization of Student's problem
//             when several different population variances are involved", Biometrika 34, 1947). It
//             takes the spread of a side from that side alone. Three loads that agree by chance
//             beside thirty that do not make it far too sure, so Student's interval, for which
//             both sides have one variance, is computed, too, and the wider of both counts. With
//             equally many loads that is Welch's.
//
// Both are exact for normal values and hold well for others, since the difference of two sides of
// the same shape is symmetric; bench/statistics_simulation.cc shows how well. Two loads that agree
// by chance look like certainty, whatever their distribution, so no difference is told from fewer
// than kLeastLoads loads of each side. Logarithms need positive values. When a load has the mean 0
// or less, the difference B - A takes the place of the ratio.
//
// Coarse values, such as percentiles of a histogram, are off by up to half a step, which is a share
// of the value or, where values are small, a fixed size. Where the loads of a side spread over
// several steps, these errors average out. Where they do not, all loads are off by the same, and no
// number of loads makes that less: the interval is then wider by half a step for each such side,
// and no difference within that is told (Answer::rounding).
//
// "The same" is told by two one-sided tests: the ratio is above 1 / (1 + margin), and below
// 1 + margin (Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15, 1987). A difference
// that is sure is told even when it is smaller than the margin.
//
// All functions are thread-safe. None throws.
#ifndef TESTBED_TOOLS_STATISTICS_COMPARISON_H_
#define TESTBED_TOOLS_STATISTICS_COMPARISON_H_

#include <array>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace testbed {

inline constexpr double kUnknownValue = std::numeric_limits<double>::quiet_NaN();
// The relative rounding error of a sum, which depends on the order of its terms. A smaller
// difference counts as none.
inline constexpr double kSumError = 1e-12;

enum Side { kA = 0, kB = 1 };

// One measured value of the metric.
struct Sample {
  int side = kA;
  int load = 0;    // numbers of any kind; those of a pair are equal
  int run = 0;     // number of the run on this load
  int block = -1;  // slice of a paired load, beside the other side's slice of this number in time;
                   // -1: the value is of a whole run
  double value = 0;  // not finite: missing
  // The weight of the value in the mean of its load, above 0. A rate has the seconds that it is
  // over, and what is counted per operation has the operations. So the mean is that of the load as
  // a whole: all its operations by all its seconds, however unequal its slices are.
  double weight = 1;
};

enum class Pairing { kNone, kLoads };

constexpr int kLeastLoads = 3;

struct CompareOptions {
  double alpha = 0.05;   // false alarms that are accepted; the interval is at 1 - alpha
  double margin = 0.02;  // sides whose ratio is within 1 + margin are the same
  Pairing pairing = Pairing::kLoads;
  // The answer is valid however often it is asked while loads come in (looks.h). Only whole loads
  // may be given: both sides with all their slices.
  bool sequential = false;
  // No load comes after these ones, so that the last look is at all of them (LastLook).
  bool ended = false;
  // The step between values: `resolution` is relative to the value, `grain` is absolute, and the
  // larger of both holds. A percentile of a histogram is one of few values, so equal values do not
  // mean that there is no variance. 0 means that values are exact.
  double resolution = 0, grain = 0;
  double seconds_per_load = 0;  // what one more load of both sides takes; 0: not known
};

enum class Outcome {
  kUnknown,  // cannot be told
  kSame,     // within the margin
  kLess,     // B is less than A
  kMore,     // B is more than A
};

enum class Reason {  // the reason why nothing can be told
  kNone,
  kNoValues,  // a side has no value
  kFewLoads,  // a side has fewer than kLeastLoads loads
  kTooWide,   // the interval holds both a difference and none
};

enum class Scale { kRatio, kDifference };

struct Answer {
  Outcome outcome = Outcome::kUnknown;
  Reason reason = Reason::kNoValues;
  Scale scale = Scale::kRatio;
  // The means over the loads: geometric with kRatio, else arithmetic. NaN when a side has no value.
  double a = kUnknownValue, b = kUnknownValue;
  // B / A with kRatio, else B - A, with the confidence interval. The interval is infinite (0 and
  // infinity for a ratio) with fewer than two loads, and at looks before the first.
  double effect = kUnknownValue, low = kUnknownValue, high = kUnknownValue;
  // The p-values of the statements that there is no difference (two-sided), and that the sides
  // differ by the margin or more; 1 with fewer than kLeastLoads loads.
  double p = 1, p_same = 1;
  double alpha = 0.05, margin = 0.02;
  int loads_a = 0, loads_b = 0;  // loads that the answer is from; pairs: equal
  int left_out = 0;  // samples that are missing, have no partner, or are later than the last look
  // The further loads that would answer the question, if they are like those seen. Nothing when the
  // question is answered, or when kMostForecastLoads loads (with `sequential`, the loads of the
  // last look) would not answer it. seconds is 0 when seconds_per_load is.
  struct More {
    int loads = 0;
    double seconds = 0;
  };
  std::optional<More> more;

  // The terms of the interval; with kRatio in logarithms.
  double center = kUnknownValue, standard_error = kUnknownValue, freedom = 0;
  double rounding = 0;  // bound of an error of the center that more loads do not lessen
  // When the loads are no pairs: the variance of each side's loads, and the terms of Student's
  // interval (0: there is none).
  std::optional<std::array<double, 2>> spreads;
  double pooled_error = 0, pooled_freedom = 0;
  bool sequential = false;
  double seconds_per_load = 0;

  bool told() const { return outcome != Outcome::kUnknown; }
};

constexpr int kMostForecastLoads = 1000;

// Compares B with A.
Answer Compare(std::span<const Sample> samples, const CompareOptions& options);

// The parts of Compare, for callers that correct p-values (corrections.h) or test another
// hypothesis than "no difference" (condition.h): Decide sets outcome and reason from p, p_same and
// alpha; AtLevel returns the answer with its interval at another level; ForecastPairs sets `more`
// from the outcome and the level of the interval. TailBeyond returns the one-sided p-value of a
// center that is `distance` away from the value that is tested; standard_error is above 0.
void Decide(Answer* answer);
Answer AtLevel(Answer answer, double alpha);
void ForecastPairs(Answer* answer);
double TailBeyond(const Answer& answer, double distance);

}  // namespace testbed

#endif  // TESTBED_TOOLS_STATISTICS_COMPARISON_H_
