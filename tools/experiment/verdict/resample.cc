#include "tools/experiment/verdict/resample.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

namespace testbed {

Resampler::Resampler(const std::vector<Measured>& figures, uint64_t seed)
    : drawn_(figures.size()), normal_(seed) {
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

const std::vector<double>& Resampler::Draw(Way way) {
  for (size_t cell = 0; cell < noise_.size(); ++cell) {
    if (way == kByCell || cell == 0) Make(&noise_[cell]);
  }
  for (size_t i = 0; i < figures_.size(); ++i) {
    const Figure& figure = figures_[i];
    if (!figure.varies) {
      drawn_[i] = figure.mean;
      continue;
    }
    const Noise& noise = noise_[way == kCommon ? 0 : figure.cell];
    const double sum =
        std::inner_product(noise.z.begin(), noise.z.end(), figure.deviations.begin(), 0.0);
    const double value = figure.mean + noise.scale * sum;
    drawn_[i] = figure.logarithm ? std::exp(value) : value;
  }
  return drawn_;
}

double Certainty::share() const {
  return std::abs(common - 0.5) < std::abs(by_cell - 0.5) ? common : by_cell;
}

Certainty CertaintyOf(const std::vector<Measured>& figures,
                      const std::function<double(const std::vector<double>&)>& statement,
                      uint64_t seed, int draws) {
  return CertaintiesOf(
             figures, [&](const auto& drawn) { return std::vector<double>{statement(drawn)}; },
             seed, draws)
      .front();
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
// freedom, exceeds in 5 % of experiments. It is found by simulation and kept for later calls.
double StudentizedRange(size_t ways, size_t freedom) {
  thread_local std::map<std::pair<size_t, size_t>, double> known;
  const auto found = known.find({ways, freedom});
  if (found != known.end()) return found->second;
  constexpr size_t kDraws = 20000;
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
  const auto at = ranges.begin() + static_cast<ptrdiff_t>(kSure * kDraws);
  std::nth_element(ranges.begin(), at, ranges.end());
  return known[{ways, freedom}] = *at;
}

}  // namespace

double HonestlySignificantDifference(const std::vector<std::vector<double>>& values) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const size_t ways = values.size(), rounds = values.empty() ? 0 : values[0].size();
  if (ways < 2 || rounds < 2) return kInfinity;
  std::vector<double> of_way(ways), of_round(rounds);
  double mean = 0;
  for (size_t i = 0; i < ways; ++i) {
    if (values[i].size() != rounds) return kInfinity;
    for (size_t j = 0; j < rounds; ++j) {
      if (!std::isfinite(values[i][j])) return kInfinity;
      of_way[i] += values[i][j] / static_cast<double>(rounds);
      of_round[j] += values[i][j] / static_cast<double>(ways);
      mean += values[i][j] / static_cast<double>(ways * rounds);
    }
  }
  double squares = 0;
  for (size_t i = 0; i < ways; ++i) {
    for (size_t j = 0; j < rounds; ++j) {
      const double rest = values[i][j] - of_way[i] - of_round[j] + mean;
      squares += rest * rest;
    }
  }
  const size_t freedom = (ways - 1) * (rounds - 1);
  const double variance = squares / static_cast<double>(freedom);
  return StudentizedRange(ways, freedom) * std::sqrt(variance / static_cast<double>(rounds));
}

}  // namespace testbed
