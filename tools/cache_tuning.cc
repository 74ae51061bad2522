#include "tools/cache_tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace testbed {

using nlohmann::json;

std::vector<CacheTrial> ClimbShare(double start, const TryShare& measure, double* best) {
  constexpr double kNoise = 1.01;  // a better rate is better by this factor
  std::vector<CacheTrial> trials;
  const auto rate_at = [&](double pct) {
    for (const CacheTrial& trial : trials) {
      if (std::abs(trial.cache_pct - pct) < 0.5) return trial.measured.rate;
    }
    trials.push_back({pct, measure(pct)});
    return trials.back().measured.rate;
  };
  double at = std::clamp(start, kLeastShare, kMostShare);
  for (double step = 25; step > 4;) {
    double next = at, rate = rate_at(at) * kNoise;
    for (const double direction : {-step, step}) {
      const double pct = std::clamp(at + direction, kLeastShare, kMostShare);
      const double there = rate_at(pct);
      if (there > rate) {
        rate = there;
        next = pct;
      }
    }
    if (next == at) step /= 2;
    at = next;
  }
  *best = at;
  return trials;
}

json PredictionJson(const CacheModel& model, double ram_bytes,
                    const std::vector<CacheTrial>& trials) {
  std::vector<ReadTrial> measured;
  for (const CacheTrial& trial : trials) measured.push_back(trial.measured);
  const ReadCosts costs = FitReadCosts(measured);
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
    if (rate > best_rate) {
      best_rate = rate;
      best = pct;
    }
  }
  return {{"best_pct", best},
          {"base_us", costs.base * 1e6},
          {"engine_miss_us", costs.miss * 1e6},
          {"device_read_us", costs.device * 1e6},
          {"curve", curve}};
}

}  // namespace testbed
