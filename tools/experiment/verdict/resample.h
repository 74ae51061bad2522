// Computes how sure a statement is about figures that were measured in a few rounds.
//
// A round is the unit of repetition: each figure (a metric of a cell) has one value x_1 .. x_n per
// round. With the usual reference prior for the mean and variance of normal values, the mean over
// all possible rounds has a t distribution with n - 1 degrees of freedom around the mean of the
// values (Box, Tiao, "Bayesian inference in statistical analysis", 1973, sec. 2.4). A draw from it
// is
//
//   x* = mean + sqrt((n - 1) / chi2) * sum_i z_i (x_i - mean) / sqrt(n (n - 1))
//
// with z_i standard normal and chi2 of n - 1 degrees of freedom. A figure whose values are all
// positive is drawn on a logarithmic scale, so that it stays positive and ratios are as natural as
// differences. The statement is evaluated on many sets of drawn figures; the share of sets in which
// it is true says how sure it is. How the cells of a round depend on each other is unknown, so the
// figures are drawn in two ways, and the less certain result counts:
//
//   common    z and chi2 are the same for all cells: exact for comparisons of cells that share a
//             load, a seed or the machine's weather, like a paired t test
//   by cell   z and chi2 are drawn for each cell and shared by its metrics: the cells of a round
//             are independent
//
// A statement is sure when it is true in at least 95 %, or at most 5 %, of the draws in both ways.
// That bounds false alarms: for equal cells, "A > B" is called true in at most 5 of 100
// experiments. The common way alone is a one-sided paired t test at that level, and requiring both
// ways can only make a false alarm rarer.
// one-sided paired t test at that level, and asking for both can only make it rarer.
#ifndef TESTBED_TOOLS_EXPERIMENT_VERDICT_RESAMPLE_H_
#define TESTBED_TOOLS_EXPERIMENT_VERDICT_RESAMPLE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "workloads/random.h"

namespace testbed {

// Generates standard normal numbers (Box, Muller, "A note on the generation of random normal
// deviates", Annals of Mathematical Statistics, 1958). Not thread-safe.
class Normal {
 public:
  explicit Normal(uint64_t seed) : random_(seed) {}
  double operator()();

 private:
  Random random_;
  double spare_ = 0;
  bool has_spare_ = false;
};

// The values of a figure in each round. All figures of a statement have the same number of rounds.
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
  // Returns one drawn value for each figure; valid until the next call. A figure that never varies
  // keeps its value.
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
  // Returns the less certain of the two shares.
  double share() const;
};

// Returns how sure a statement is. `statement` returns, for one value of each figure, whether it is
// true (not 0); a result that is not finite counts as half true. Requires at least two rounds.
Certainty CertaintyOf(const std::vector<Measured>& figures,
                      const std::function<double(const std::vector<double>&)>& statement,
                      uint64_t seed = 1, int draws = kResamples);
// Returns how sure each of several statements about the same drawn figures is; `statements` returns
// their values.
std::vector<Certainty> CertaintiesOf(
    const std::vector<Measured>& figures,
    const std::function<std::vector<double>(const std::vector<double>&)>& statements,
    uint64_t seed = 1, int draws = kResamples);

// Returns the least difference at which the means of two ways surely differ, when any two of
// several ways may be compared after looking at the results (Tukey, "Comparing individual means in
// the analysis of variance", Biometrics 5, 1949). values[way][round] are the measurements; rounds
// are blocks, and all ways have the same variance. For equal ways, at most 5 of 100 experiments
// have two ways that differ by more. Returns infinity for one way, one round, or values that are
// not finite.
double HonestlySignificantDifference(const std::vector<std::vector<double>>& values);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_VERDICT_RESAMPLE_H_
