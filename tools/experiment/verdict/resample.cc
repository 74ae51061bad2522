#include "tools/experiment/verdict/resample.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "tools/statistics/estimate.h"

namespace testbed {

Resampler::Resampler(const std::vector<Measured>& figures, uint64_t seed)
    : drawn_(figures.size()), normal_(seed), of_grain_(~seed) {
  std::map<size_t, size_t> cells;
  for (const Measured& measured : figures) {
    const std::vector<double>& rounds = measured.rounds;
    rounds_ = rounds.size();
    const auto n = static_cast<double>(rounds.size());
    Figure figure;
    figure.cell = cells.emplace(measured.cell, cells.size()).first->second;
    figure.varies =
        std::any_of(rounds.begin(), rounds.end(), [&](double v) { return v != rounds[0]; });
    figure.logarithm = std::all_of(rounds.begin(), rounds.end(), [](double v) { return v > 0; });
    figure.grain = measured.grain;
    figure.least = std::all_of(rounds.begin(), rounds.end(), [](double v) { return v >= 0; })
                       ? 0
                       : -std::numeric_limits<double>::infinity();
    std::vector<double> values = rounds;
    if (figure.logarithm) {
      for (double& value : values) value = std::log(value);
    }
    figure.mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
    for (double value : values) {
      figure.deviations.push_back((value - figure.mean) / std::sqrt(n * (n - 1)));
    }
    if (!figure.varies) figure.mean = rounds[0];
    figures_.push_back(std::move(figure));
  }
  noise_.resize(cells.size());
}

void Resampler::Make(Noise* noise) {
  noise->z.resize(rounds_);
  for (double& z : noise->z) z = normal_();
  double chi2 = 0;
  for (size_t i = 1; i < rounds_; ++i) {
    const double z = normal_();
    chi2 += z * z;
  }
  noise->scale = std::sqrt(static_cast<double>(rounds_ - 1) / chi2);
}

double Resampler::WithinGrain(const Figure& figure, double value) {
  if (!(figure.grain > 0)) return value;
  const double from = std::max(figure.least, value - figure.grain);
  const double to = std::max(from, value + figure.grain);
  return from + (to - from) * of_grain_.Unit();
}

const std::vector<double>& Resampler::Draw(Way way) {
  for (size_t cell = 0; cell < noise_.size(); ++cell) {
    if (rounds_ > 1 && (way == kByCell || cell == 0)) Make(&noise_[cell]);
  }
  for (size_t i = 0; i < figures_.size(); ++i) {
    const Figure& figure = figures_[i];
    if (!figure.varies) {
      drawn_[i] = WithinGrain(figure, figure.mean);
      continue;
    }
    const Noise& noise = noise_[way == kCommon ? 0 : figure.cell];
    const double sum =
        std::inner_product(noise.z.begin(), noise.z.end(), figure.deviations.begin(), 0.0);
    const double value = figure.mean + noise.scale * sum;
    drawn_[i] = WithinGrain(figure, figure.logarithm ? std::exp(value) : value);
  }
  return drawn_;
}

double Certainty::share() const {
  return std::abs(common - 0.5) < std::abs(by_cell - 0.5) ? common : by_cell;
}

double SureAtLook(size_t look) {
  constexpr double kAll = 1 - kSure, kFirst = 0.9 * kAll;
  if (look <= 1) return 1 - kFirst;
  return 1 - (kAll - kFirst) * std::exp2(-static_cast<double>(look - 1));
}

std::vector<Certainty> CertaintiesOf(
    const std::vector<Measured>& figures,
    const std::function<std::vector<double>(const std::vector<double>&)>& statements, uint64_t seed,
    int draws) {
  Resampler resampler(figures, seed);
  std::vector<Certainty> certainties;
  for (const auto& [way, share] : {std::pair{Resampler::kCommon, &Certainty::common},
                                   std::pair{Resampler::kByCell, &Certainty::by_cell}}) {
    for (int i = 0; i < draws; ++i) {
      const std::vector<double> values = statements(resampler.Draw(way));
      certainties.resize(values.size());
      for (size_t k = 0; k < values.size(); ++k) {
        certainties[k].*share += !std::isfinite(values[k]) ? 0.5 : values[k] != 0 ? 1 : 0;
      }
    }
    for (Certainty& certainty : certainties) certainty.*share /= draws;
  }
  return certainties;
}

namespace {

// Returns the value that the studentized range of `ways` equal means, with `freedom` degrees of
// freedom, exceeds in a share `level` of experiments. It is found by simulation and kept for later
// calls.
double StudentizedRange(size_t ways, size_t freedom, double level) {
  // Many degrees of freedom are rounded down: that makes the result larger, which is safe, and
  // fewer values are simulated.
  constexpr size_t kMany = 24, kStep = 8;
  if (freedom > kMany) freedom -= freedom % kStep;
  thread_local std::map<std::tuple<size_t, size_t, double>, double> known;
  const auto found = known.find({ways, freedom, level});
  if (found != known.end()) return found->second;
  constexpr size_t kDraws = 40000;
  Normal normal(1);
  std::vector<double> ranges(kDraws);
  for (double& range : ranges) {
    double least = normal(), most = least, chi2 = 0;
    for (size_t i = 1; i < ways; ++i) {
      const double z = normal();
      least = std::min(least, z);
      most = std::max(most, z);
    }
    for (size_t i = 0; i < freedom; ++i) {
      const double z = normal();
      chi2 += z * z;
    }
    range = (most - least) / std::sqrt(chi2 / static_cast<double>(freedom));
  }
  const auto at = ranges.begin() + static_cast<ptrdiff_t>((1 - level) * kDraws);
  std::nth_element(ranges.begin(), at, ranges.end());
  return known[{ways, freedom, level}] = *at;
}

// Returns the sum of squared residuals of values that are the sum of an effect of the way and one
// of the round, fitted by least squares. When all ways have all rounds the first pass is exact.
double SquaredResiduals(const std::vector<std::vector<double>>& values, size_t rounds) {
  constexpr int kMostPasses = 500;
  std::vector<double> of_way(values.size()), of_round(rounds);
  double squares = std::numeric_limits<double>::infinity();
  for (int pass = 0; pass < kMostPasses; ++pass) {
    for (size_t i = 0; i < values.size(); ++i) {
      double sum = 0;
      for (size_t j = 0; j < values[i].size(); ++j) sum += values[i][j] - of_round[j];
      of_way[i] = values[i].empty() ? 0 : sum / static_cast<double>(values[i].size());
    }
    std::vector<double> sums(rounds), counts(rounds);
    for (size_t i = 0; i < values.size(); ++i) {
      for (size_t j = 0; j < values[i].size(); ++j) {
        sums[j] += values[i][j] - of_way[i];
        ++counts[j];
      }
    }
    for (size_t j = 0; j < rounds; ++j) of_round[j] = sums[j] / counts[j];
    double now = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      for (size_t j = 0; j < values[i].size(); ++j) {
        const double rest = values[i][j] - of_way[i] - of_round[j];
        now += rest * rest;
      }
    }
    if (!(now < squares * (1 - 1e-9))) return now;
    squares = now;
  }
  return squares;
}

// Returns Tukey's honestly significant difference of all ways, with one variance for all; infinity
// when it is not known.
double DifferenceOfAll(const std::vector<std::vector<double>>& values, double level) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const size_t ways = values.size();
  size_t rounds = 0, n = 0;
  for (const std::vector<double>& of_way : values) {
    if (!std::all_of(of_way.begin(), of_way.end(), [](double v) { return std::isfinite(v); })) {
      return kInfinity;
    }
    rounds = std::max(rounds, of_way.size());
    n += of_way.size();
  }
  if (ways < 2 || rounds < 2 || n + 1 <= ways + rounds) return kInfinity;
  const size_t freedom = n + 1 - ways - rounds;
  const double variance = SquaredResiduals(values, rounds) / static_cast<double>(freedom);
  return StudentizedRange(ways, freedom, level) * std::sqrt(variance / static_cast<double>(rounds));
}

// Returns the difference of two among `ways` with the variance of their own differences; infinity
// when it is not known.
double DifferenceOfPair(const std::vector<double>& a, const std::vector<double>& b, size_t ways,
                        double level) {
  const size_t rounds = a.size();
  if (rounds < 2 || b.size() != rounds) return std::numeric_limits<double>::infinity();
  std::vector<double> differences(rounds);
  for (size_t j = 0; j < rounds; ++j) differences[j] = a[j] - b[j];
  const double variance = VarianceOf(differences) / 2;  // variance of a single way
  return StudentizedRange(ways, rounds - 1, level) *
         std::sqrt(variance / static_cast<double>(rounds));
}

}  // namespace

std::vector<double> HonestlySignificantDifferences(const std::vector<std::vector<double>>& values,
                                                   size_t from, double level) {
  const double of_all = DifferenceOfAll(values, level);
  std::vector<double> differences(values.size(), of_all);
  if (!std::isfinite(of_all)) return differences;
  for (size_t i = 0; i < values.size(); ++i) {
    const double of_pair = DifferenceOfPair(values[i], values[from], values.size(), level);
    differences[i] = std::max(of_all, of_pair);
  }
  return differences;
}

}  // namespace testbed
