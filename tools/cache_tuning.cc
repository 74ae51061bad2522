#include "tools/cache_tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace testbed {

using nlohmann::json;

std::vector<ReadTrial> Measured(const std::vector<CacheTrial>& trials) {
  std::vector<ReadTrial> measured;
  for (const CacheTrial& trial : trials) measured.push_back(trial.measured);
  return measured;
}

std::vector<CacheTrial> ClimbShare(double start, double most, const TryShare& measure,
                                   double* best) {
  constexpr double kNoise = 1.01;  // a better rate is better by this factor
  std::vector<CacheTrial> trials;
  const auto try_at = [&](double pct) {
    for (size_t i = 0; i < trials.size(); ++i) {
      if (std::abs(trials[i].cache_pct - pct) < 0.5) return i;
    }
    trials.push_back(measure(pct));
    return trials.size() - 1;
  };
  // The best of these, `here` unless another is better. With each trial the device's speed is known
  // better, so all are compared anew.
  const auto best_of = [&](size_t here, std::initializer_list<double> shares) {
    std::vector<size_t> others;
    for (const double pct : shares) {
      others.push_back(try_at(std::clamp(pct, kLeastShare, most)));
    }
    const std::vector<double> rates = SteadyRates(Measured(trials));
    size_t next = here;
    for (const size_t other : others) {
      if (rates[other] > rates[next] * (next == here ? kNoise : 1)) next = other;
    }
    return next;
  };
  // The curve often has a top at each end, where one cache or the other holds what is hot; and at
  // the low end a cliff, where the engine's cache is too small to work in.
  size_t here = best_of(try_at(std::clamp(start, kLeastShare, most)), {kLeastShare, 20, most});
  for (double step = 20; step > 4;) {
    const double at = trials[here].cache_pct;
    const size_t next = best_of(here, {at - step, at + step});
    if (next == here) step /= 2;
    here = next;
  }
  *best = trials[here].cache_pct;
  return trials;
}

// A straight line by least squares, with neither part below 0.
OtherMemory FitOtherMemory(const std::vector<CacheTrial>& trials, double ram_bytes) {
  if (trials.empty()) return {};
  double x = 0, y = 0, xx = 0, xy = 0;
  for (const CacheTrial& trial : trials) {
    const double cache = ram_bytes * trial.cache_pct / 100;
    x += cache, y += trial.other_bytes;
    xx += cache * cache, xy += cache * trial.other_bytes;
  }
  const auto n = static_cast<double>(trials.size());
  const double spread = n * xx - x * x;
  double slope = spread > 0 ? std::max(0.0, (n * xy - x * y) / spread) : 0;
  if (y < slope * x) slope = x > 0 ? y / x : 0;
  return {std::max(0.0, (y - slope * x) / n), slope};
}

// Takes trials away in which the engine's cache was too small to work in, so that an operation cost
// more than its misses and reads explain (upper levels missing, eviction without end): the model
// knows nothing of that. Returns the largest such share; below every share when there is none.
double TakeStarved(std::vector<CacheTrial>* trials) {
  constexpr double kUnexplained = 1.15;
  std::sort(trials->begin(), trials->end(),
            [](const CacheTrial& a, const CacheTrial& b) { return a.cache_pct < b.cache_pct; });
  double starved = 0;
  while (trials->size() > 3) {
    const std::vector<ReadTrial> all = Measured(*trials);
    const ReadCosts costs = FitReadCosts({all.begin() + 1, all.end()});
    const double explained = costs.Rate(all[0].engine_misses, all[0].device_reads);
    if (explained < kUnexplained * SteadyRates(all)[0]) break;
    starved = trials->front().cache_pct;
    trials->erase(trials->begin());
  }
  return starved;
}

json PredictionJson(const CacheModel& model, double ram_bytes,
                    const std::vector<CacheTrial>& trials) {
  std::vector<CacheTrial> sound = trials;
  const double starved = TakeStarved(&sound);
  const ReadCosts costs = FitReadCosts(Measured(sound));
  json curve = json::array();
  double best = 0, best_rate = 0;
  for (double pct = kLeastShare; pct <= kMostShare; pct += 5) {
    const CacheModel::Hits hits = model.At(ram_bytes * pct / 100);
    const double rate = costs.Rate(hits.engine_misses, hits.device_reads);
    curve.push_back({{"name", fmt::format("{:.0f}", pct)},
                     {"cache_pct", pct},
                     {"rate", rate},
                     {"engine_misses_per_operation", hits.engine_misses},
                     {"device_reads_per_operation", hits.device_reads}});
    if (pct > starved && rate > best_rate) {
      best_rate = rate;
      best = pct;
    }
  }
  return {{"best_pct", best},
          {"starved_pct", starved},
          {"base_us", costs.base * 1e6},
          {"engine_miss_us", costs.miss * 1e6},
          {"device_read_us", costs.device * 1e6},
          {"curve", curve}};
}

}  // namespace testbed
