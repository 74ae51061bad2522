// Computes how sure a statement is about figures that were measured in a few rounds.
//
// A round is the unit of repetition: each figure (a metric of a cell) has the values x_1 .. x_n in
// n rounds. Its true mean, over all rounds that could have been measured, is not known. With the
// usual reference prior for the mean and variance of normal values, the true mean has a t
// distribution with n - 1 degrees of freedom around the mean of the values (Box, Tiao, "Bayesian
// inference in statistical analysis", 1973, sec. 2.4). A draw of it is
//
//   x* = mean + sqrt((n - 1) / chi2) * sum_i z_i (x_i - mean) / sqrt(n (n - 1))
//
// where the z_i are standard normal and chi2 has n - 1 degrees of freedom. A figure whose values
// are all positive is drawn by its logarithm, so that it stays positive and ratios are as natural
// as differences. The statement is evaluated on many sets of drawn figures; the share of sets in
// which it is true tells how sure it is. How the cells of a round depend on each other is not
// known, so the figures are drawn in two ways, and the less certain result counts:
//
//   common    all cells have the same z and chi2. This is exact for comparisons of cells that share
//             a load, a seed or a disturbance of the machine, as a paired t test is.
//   by cell   each cell has a z and chi2 of its own, which its metrics share: the cells of a round
//             are independent.
//
// A figure may have a grain: an error that is the same in each round, so that the rounds do not
// show it, such as what reading a clock adds to the time of a few instructions. A drawn value is
// then moved to any place within the grain, each as likely as another, but not below 0 when no
// value of the figure is below 0. So 10 and 10 with a grain of 10 leave open which one is larger,
// and how many times.
//
// A statement is sure when it is true in nearly all, or in nearly none, of the draws of both ways:
// in all but 5 % at most (added_rounds.h). That bounds false alarms: "A > B" of equal cells is
// called true in at most 5 of 100 experiments, because the common way alone is a one-sided paired t
// test at that level, and requiring both ways can only make it rarer.
#ifndef TESTBED_TOOLS_EXPERIMENT_VERDICT_RESAMPLE_H_
#define TESTBED_TOOLS_EXPERIMENT_VERDICT_RESAMPLE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "tools/statistics/normal.h"
#include "workloads/random.h"

namespace testbed {

// The values of a figure, one for each round. All figures of a statement have equally many rounds.
struct Measured {
  size_t cell;
  std::vector<double> rounds;
  double grain = 0;
};

// Draws sets of figures. Not thread-safe.
class Resampler {
 public:
  enum Way { kCommon, kByCell };
  // Two cells are the same when Measured::cell is equal.
  Resampler(const std::vector<Measured>& figures, uint64_t seed);
  // Returns a drawn value for each figure; valid until the next call. A figure whose values are all
  // equal, as that of a single round is, keeps that value but for its grain.
  const std::vector<double>& Draw(Way way);

 private:
  struct Figure {
    size_t cell;  // index into noise_
    bool logarithm, varies;
    double mean;
    double grain, least;             // `least` is that of all values that may be drawn
    std::vector<double> deviations;  // (x_i - mean) / sqrt(n (n - 1))
  };
  struct Noise {
    std::vector<double> z;
    double scale;  // sqrt((n - 1) / chi2)
  };
  void Make(Noise* noise);
  // Returns any value within the figure's grain of this one.
  double WithinGrain(const Figure& figure, double value);

  size_t rounds_ = 0;
  std::vector<Figure> figures_;
  std::vector<Noise> noise_;  // by cell
  std::vector<double> drawn_;
  Normal normal_;
  Random of_grain_;
};

constexpr int kResamples = 2000;
constexpr double kSure = 0.95;  // level of all looks together

// Returns the share of the draws in which a statement must be true to hold at the `look`-th look,
// counted from 1 (added_rounds.h). It does not hold when it is true in at most the rest.
double SureAtLook(size_t look = 1);

struct Certainty {
  double common = 0, by_cell = 0;  // shares of the draws in which the statement was true
  bool TrueAt(double level) const { return common >= level && by_cell >= level; }
  bool FalseAt(double level) const { return common <= 1 - level && by_cell <= 1 - level; }
  // Returns the less certain share of the two: the one closer to a half.
  double share() const;
};

// Returns how certain each of several statements about the same figures is. `statements` is given a
// value for each figure, and returns one for each statement: not 0 when it is true; a value that is
// not finite counts half. A figure of a single round tells nothing of the next one: of such figures
// the shares say what their grains leave open.
std::vector<Certainty> CertaintiesOf(
    const std::vector<Measured>& figures,
    const std::function<std::vector<double>(const std::vector<double>&)>& statements,
    uint64_t seed = 1, int draws = kResamples);

// Returns, for each way, the least difference at which its mean is not that of the way `from` for
// sure, when any two of the ways may be compared after looking at the values. `values` is indexed
// by way and round. The rounds are blocks. The difference is the wider of two:
//
//   of all ways  Tukey's honestly significant difference ("Comparing individual means in the
//                analysis of variance", Biometrics 5, 1949), which has one variance for all ways.
//   of the pair  the same with the variance that the pair's own differences have in the rounds, as
//                if there were no other. A quiet way does not lend its variance to a noisy one.
//
// When all ways are equal, two of them that have all rounds differ by more in at most a share
// `level` of experiments, also when some vary ten times as much as others: of 5 %, simulations
// find 0.5 to 4 %. A way with fewer rounds was left out after them: it was there to choose from,
// and its rounds tell of the variance. The difference is infinite from a way with another number of
// rounds, of a single way or round, and of values that are not finite.
std::vector<double> HonestlySignificantDifferences(const std::vector<std::vector<double>>& values,
                                                   size_t from, double level = 1 - kSure);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_VERDICT_RESAMPLE_H_
