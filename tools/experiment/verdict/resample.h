// How sure is a statement about figures that were measured in a few rounds?
//
// A round is the unit of repetition: each figure (a metric of a cell) has one value x_1 .. x_n for
// each. What its mean over all rounds that could have been is follows, with the usual reference
// prior for mean and variance of normal values, a t distribution with n - 1 degrees of freedom
// around their mean (Box, Tiao, "Bayesian inference in statistical analysis", 1973, sec. 2.4). A
// draw of it is
//
//   x* = mean + sqrt((n - 1) / chi2) * sum_i z_i (x_i - mean) / sqrt(n (n - 1))
//
// with z_i standard normal and chi2 of n - 1 degrees. A figure whose values are all positive is
// drawn by its logarithm, so that it stays positive and ratios are as natural as differences. The
// statement is evaluated on many sets of drawn figures; the share in which it is true says how sure
// it is. What the cells of a round have to do with each other is not known, so it is done in two
// ways, and the less certain of them counts:
//
//   common    z and chi2 are the same for all cells: exact for comparisons of cells that share a
//             load, a seed or the machine's weather, as a paired t test is
//   by cell   z and chi2 are drawn for each cell, the same for its metrics: the cells of a round
//             have nothing in common
//
// Sure is what is true in at least 95 %, or at most 5 %, of both. That bounds false alarms: "A > B"
// of equal cells is called true in at most 5 of 100 experiments, as the common way alone is a
// one-sided paired t test at that level, and asking for both can only make it rarer.
#ifndef TESTBED_TOOLS_EXPERIMENT_VERDICT_RESAMPLE_H_
#define TESTBED_TOOLS_EXPERIMENT_VERDICT_RESAMPLE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "workloads/random.h"

namespace testbed {

// Standard normal numbers (Box, Muller, "A note on the generation of random normal deviates",
// Annals of Mathematical Statistics, 1958).
class Normal {
 public:
  explicit Normal(uint64_t seed) : random_(seed) {}
  double operator()();

 private:
  Random random_;
  double spare_ = 0;
  bool has_spare_ = false;
};

// A figure over the rounds; all figures of a statement have the same number of them.
struct Measured {
  size_t cell;
  std::vector<double> rounds;
};

class Resampler {
 public:
  enum Way { kCommon, kByCell };
  Resampler(const std::vector<Measured>& figures, uint64_t seed);
  // One drawn value for each figure. Figures that never vary keep their value.
  const std::vector<double>& Draw(Way way);

 private:
  struct Figure {
    size_t cell;  // numbered from 0
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
  // The less certain of the two.
  double share() const;
};

// `statement` tells, of one value for each figure, whether it is true (not 0); a value that is not
// finite is neither true nor false and counts half. At least two rounds.
Certainty CertaintyOf(const std::vector<Measured>& figures,
                      const std::function<double(const std::vector<double>&)>& statement,
                      uint64_t seed = 1, int draws = kResamples);
// The same of several statements about the same drawn figures, of which `statements` gives the values.
std::vector<Certainty> CertaintiesOf(
    const std::vector<Measured>& figures,
    const std::function<std::vector<double>(const std::vector<double>&)>& statements,
    uint64_t seed = 1, int draws = kResamples);

// Of several ways that were measured in the same rounds, values[way][round]: by how much the means of
// two must differ at least to be different for sure, when any two of them may be compared after
// looking (Tukey, "Comparing individual means in the analysis of variance", Biometrics 5, 1949; rounds
// are blocks, with one variance for all ways). Of equal ways at most 5 in 100 experiments have two
// that differ by more. Infinite for one way, one round, or values that are not finite.
double HonestlySignificantDifference(const std::vector<std::vector<double>>& values);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_VERDICT_RESAMPLE_H_
