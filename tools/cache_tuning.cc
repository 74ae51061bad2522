#include "tools/cache_tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace testbed {

using nlohmann::json;

std::vector<ReadTrial> Measured(const std::vector<CacheTrial>& trials) {
  std::vector<ReadTrial> measured;
  for (const CacheTrial& trial : trials) measured.push_back(trial.measured);
  return measured;
}

namespace {

// Puts what was measured again to what was measured before.
void Merge(CacheTrial* trial, const CacheTrial& again) {
  const double old = trial->times, all = old + 1;
  const auto mean = [&](double a, double b) { return (a * old + b) / all; };
  ReadTrial& m = trial->measured;
  const ReadTrial& n = again.measured;
  m.rate = mean(m.rate, n.rate);
  m.engine_misses = mean(m.engine_misses, n.engine_misses);
  m.device_reads = mean(m.device_reads, n.device_reads);
  m.cpu_seconds = mean(m.cpu_seconds, n.cpu_seconds);
  m.device_seconds = mean(m.device_seconds, n.device_seconds);
  trial->other_bytes = mean(trial->other_bytes, again.other_bytes);
  ++trial->times;
}

// Measures the best few again, in turn, so that it is not the machine's better moment that decides.
size_t RunOff(std::vector<CacheTrial>* trials, const TryShare& measure) {
  constexpr size_t kFew = 3;
  constexpr double kNear = 0.85;  // of the best rate
  std::vector<double> rates = SteadyRates(Measured(*trials));
  std::vector<size_t> order(trials->size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return rates[a] > rates[b]; });
  size_t few = 1;
  while (few < std::min(kFew, order.size()) && rates[order[few]] > kNear * rates[order[0]]) ++few;
  order.resize(few);
  for (int round = 0; few > 1 && round < 2; ++round) {
    for (const size_t i : order) Merge(&(*trials)[i], measure((*trials)[i].cache_pct));
  }
  rates = SteadyRates(Measured(*trials));
  return *std::max_element(order.begin(), order.end(),
                           [&](size_t a, size_t b) { return rates[a] < rates[b]; });
}

}  // namespace

std::vector<CacheTrial> ClimbShare(double start, double most, double ram_bytes,
                                   const TryShare& measure, double* best) {
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
      const double fits = std::min(most, LargestShare(trials, ram_bytes));
      others.push_back(try_at(std::clamp(pct, kLeastShare, fits)));
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
  *best = trials[RunOff(&trials, measure)].cache_pct;
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

double LargestShare(const std::vector<CacheTrial>& trials, double ram_bytes) {
  const OtherMemory other = FitOtherMemory(trials, ram_bytes);
  const double cache = (ram_bytes * 15 / 16 - other.bytes) / (1 + other.per_cache_byte);
  return std::max(kLeastShare, 100 * cache / ram_bytes);
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

CacheModel FitPageBytes(const CacheModel& model, double ram_bytes,
                        const std::vector<CacheTrial>& trials) {
  double best_factor = 1, best_error = INFINITY;
  for (double factor = 0.8; factor < 2.5; factor += 0.05) {
    const CacheModel scaled = model.WithPageBytes(model.page_bytes() * factor);
    double error = 0;
    for (const CacheTrial& trial : trials) {
      const double off =
          scaled.At(ram_bytes * trial.cache_pct / 100).engine_misses - trial.measured.engine_misses;
      error += off * off;
    }
    if (error < best_error) {
      best_error = error;
      best_factor = factor;
    }
  }
  return model.WithPageBytes(model.page_bytes() * best_factor);
}

json PredictionJson(const CacheModel& unfitted, double ram_bytes,
                    const std::vector<CacheTrial>& trials) {
  const CacheModel model = FitPageBytes(unfitted, ram_bytes, trials);
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
          {"cached_block_bytes", model.page_bytes()},
          {"base_us", costs.base * 1e6},
          {"engine_miss_us", costs.miss * 1e6},
          {"device_read_us", costs.device * 1e6},
          {"curve", curve}};
}

}  // namespace testbed
