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
// A statement is sure when it is true in at least 95 %, or in at most 5 %, of the draws of both
// ways. That bounds false alarms: "A > B" of equal cells is called true in at most 5 of 100
// experiments, because the common way alone is a one-sided paired t test at that level, and
// requiring both ways can only make it rarer.
#ifndef TESTBED_TOOLS_EXPERIMENT_VERDICT_RESAMPLE_H_
#define TESTBED_TOOLS_EXPERIMENT_VERDICT_RESAMPLE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "tools/statistics/normal.h"

namespace testbed {

// The values of a figure, one for each round. All figures of a statement have equally many rounds.
struct Measured {
  size_t cell;
  std::vector<double> rounds;
};

// Draws sets of figures. Not thread-safe.
class Resampler {
 public:
  enum Way { kCommon, kByCell };
  // Two cells are the same when Measured::cell is equal.
  Resampler(const std::vector<Measured>& figures, uint64_t seed);
  // Returns a drawn value for each figure; valid until the next call. A figure whose values are all
  // equal keeps that value.
  const std::vector<double>& Draw(Way way);

 private:
  struct Figure {
    size_t cell;  // index into noise_
    bool logarithm, varies;
    double mean;
    std::vector<double> deviations;  // (x_i - mean) / sqrt(n (n - 1))
  };
  struct Noise {
    std::vector<double> z;
    double scale;  // sqrt((n - 1) / chi2)
  };
  void Make(Noise* noise);

  size_t rounds_ = 0;
  std::vector<Figure> figures_;
  std::vector<Noise> noise_;  // by cell
  std::vector<double> drawn_;
  Normal normal_;
};

constexpr int kResamples = 2000;
constexpr double kSure = 0.95;

struct Certainty {
  double common = 0, by_cell = 0;  // shares of the draws in which the statement was true
  bool TrueAt(double level) const { return common >= level && by_cell >= level; }
  bool FalseAt(double level) const { return common <= 1 - level && by_cell <= 1 - level; }
  bool holds() const { return TrueAt(kSure); }
  bool fails() const { return FalseAt(kSure); }
  // Returns the less certain share of the two: the one closer to a half.
  double share() const;
};

// Returns how certain a statement is. `statement` is given a value for each figure, and returns not
// 0 when it is true; a result that is not finite counts half. `figures` must have at least two
// rounds.
Certainty CertaintyOf(const std::vector<Measured>& figures,
                      const std::function<double(const std::vector<double>&)>& statement,
                      uint64_t seed = 1, int draws = kResamples);
// Returns how certain each of several statements about the same figures is. `statements` returns
// the value of each of them.
std::vector<Certainty> CertaintiesOf(
    const std::vector<Measured>& figures,
    const std::function<std::vector<double>(const std::vector<double>&)>& statements,
    uint64_t seed = 1, int draws = kResamples);

// Returns the least difference at which the means of two ways are different for sure, when any two
// of the ways may be compared after looking at the values (Tukey, "Comparing individual means in
// the analysis of variance", Biometrics 5, 1949; rounds are blocks, with one variance for all
// ways). `values` is indexed by way and round. When all ways are equal, two of them that have all
// rounds differ by more in at most a share `level` of experiments. A way with fewer rounds was left
// out after them: it was there to choose from, and its rounds tell of the variance. Returns
// infinity for a single way or round, and for values that are not finite.
double HonestlySignificantDifference(const std::vector<std::vector<double>>& values,
                                     double level = 1 - kSure);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_VERDICT_RESAMPLE_H_
