#include "tools/cache/cache_tuning.h"

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

// Adds another measurement of the same share to the means of *trial.
void Merge(CacheTrial* trial, const CacheTrial& again) {
  const double old = trial->times, all = old + 1;
  const auto mean = [&](double a, double b) { return (a * old + b) / all; };
  ReadTrial& m = trial->measured;
  const ReadTrial& n = again.measured;
  // Where no operation ended in one of the two measurements, the mean time of one is not known.
  m.rate = m.rate > 0 && n.rate > 0 ? mean(m.rate, n.rate) : 0;
  m.engine_misses = mean(m.engine_misses, n.engine_misses);
  m.device_reads = mean(m.device_reads, n.device_reads);
  m.cpu_seconds = mean(m.cpu_seconds, n.cpu_seconds);
  m.device_seconds = mean(m.device_seconds, n.device_seconds);
  trial->other_bytes = mean(trial->other_bytes, again.other_bytes);
  // A measurement without reads has no block size (0).
  if (trial->block_bytes == 0 || again.block_bytes == 0) {
    trial->block_bytes = std::max(trial->block_bytes, again.block_bytes);
  } else {
    trial->block_bytes = mean(trial->block_bytes, again.block_bytes);
  }
  ++trial->times;
}

// Returns whether a prediction tells anything of a trial with this share and rate. The model
// describes neither a cache that is too small to work in nor a trial in which no operation ended.
bool Describes(const SharePrediction& prediction, double cache_pct, double rate) {
  return cache_pct > prediction.starved() && rate > 0;
}

// Returns whether the predicted curve has the shape of the rates that it was fitted to. Where the
// model misses an effect it can be wrong tenfold, and then it must not overrule the trials.
bool Explains(const SharePrediction& prediction, const std::vector<CacheTrial>& trials,
              const std::vector<double>& rates) {
  constexpr double kMostError = 0.25;  // standard deviation of the logarithm, about a quarter
  double n = 0, sum = 0, squares = 0;
  for (size_t i = 0; i < trials.size(); ++i) {
    if (!Describes(prediction, trials[i].cache_pct, rates[i])) continue;
    const double error = std::log(prediction.Rate(trials[i].cache_pct) / rates[i]);
    ++n, sum += error, squares += error * error;
  }
  return n == 0 || std::sqrt(std::max(0.0, squares / n - sum / n * sum / n)) <= kMostError;
}

// Returns a score for the share of each trial: its rate or, when the prediction explains the
// trials, the geometric mean of its rate and the predicted rate.
std::vector<double> Scores(const ShareSearch& search, const std::vector<CacheTrial>& trials) {
  std::vector<double> scores = SteadyRates(Measured(trials));
  if (!search.predict) return scores;
  const SharePrediction prediction = search.predict(trials);
  if (!Explains(prediction, trials, scores)) return scores;
  for (size_t i = 0; i < trials.size(); ++i) {
    const double share = trials[i].cache_pct;
    if (!Describes(prediction, share, scores[i])) continue;
    scores[i] = std::sqrt(scores[i] * prediction.Rate(share));
  }
  return scores;
}

// Returns the index of the trial at a share, after measuring the share unless it was tried before.
size_t TryAt(const ShareSearch& search, double share, std::vector<CacheTrial>* trials) {
  const double fits = std::min(search.most, LargestShare(*trials, search.ram_bytes));
  const double pct = std::clamp(share, search.least, std::max(search.least, fits));
  for (size_t i = 0; i < trials->size(); ++i) {
    if (std::abs((*trials)[i].cache_pct - pct) < 0.5) return i;
  }
  trials->push_back(search.measure(pct));
  return trials->size() - 1;
}

// Measures the best few shares twice more, in turn, so that a good moment of the machine does not
// decide between them. Returns the index of the best.
size_t RunOff(const ShareSearch& search, std::vector<CacheTrial>* trials) {
  constexpr size_t kFew = 3;
  constexpr double kNear = 0.85;  // share of the best score that makes a trial one of the few
  if (search.predict) TryAt(search, search.predict(*trials).best(), trials);
  std::vector<double> scores = Scores(search, *trials);
  std::vector<size_t> order(trials->size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  size_t few = 1;
  while (few < std::min(kFew, order.size()) && scores[order[few]] > kNear * scores[order[0]]) ++few;
  order.resize(few);
  for (int round = 0; few > 1 && round < 2; ++round) {
    for (const size_t i : order) Merge(&(*trials)[i], search.measure((*trials)[i].cache_pct));
  }
  scores = Scores(search, *trials);
  return *std::max_element(order.begin(), order.end(),
                           [&](size_t a, size_t b) { return scores[a] < scores[b]; });
}

}  // namespace

std::vector<CacheTrial> ClimbShare(const ShareSearch& search, double* best) {
  constexpr double kNoise = 1.01;  // a rate counts as better when it is larger by this factor
  std::vector<CacheTrial> trials;
  // Returns the best trial among `here` and the given shares. Each new trial improves the estimate
  // of the device's speed, so the rates of all trials are computed again.
  const auto best_of = [&](size_t here, std::initializer_list<double> shares) {
    std::vector<size_t> others;
    for (const double pct : shares) others.push_back(TryAt(search, pct, &trials));
    const std::vector<double> rates = SteadyRates(Measured(trials));
    size_t next = here;
    for (const size_t other : others) {
      if (rates[other] > rates[next] * (next == here ? kNoise : 1)) next = other;
    }
    return next;
  };
  // The curve often has a maximum near each end, where one of the two caches holds the hot pages.
  // At the low end it may have a cliff, where the engine's cache is too small to work in. So the
  // search begins with shares near both ends, one of them above the cliff.
  trials.push_back(search.measure(std::clamp(search.start, search.least, search.most)));
  size_t here = best_of(0, {search.least, 20, search.most});
  for (double step = 20; step > 4;) {
    const double at = trials[here].cache_pct;
    const size_t next = best_of(here, {at - step, at + step});
    if (next == here) step /= 2;
    here = next;
  }
  *best = trials[RunOff(search, &trials)].cache_pct;
  return trials;
}

double StoredBytes(const std::vector<CacheTrial>& trials, double otherwise) {
  double sum = 0, said = 0;
  for (const CacheTrial& trial : trials) {
    if (trial.block_bytes == 0) continue;
    sum += trial.block_bytes;
    ++said;
  }
  return said > 0 ? sum / said : otherwise;
}

// The fit is a straight line by least squares, with neither part below 0.
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
  const double cache = (ram_bytes * 5 / 6 - other.bytes) / (1 + other.per_cache_byte);
  return std::max(kLeastShare, 100 * cache / ram_bytes);
}

// Removes the trials whose engine's cache was too small to work in. In such a trial an operation
// cost more than its misses and reads explain (upper levels were missing, eviction never stopped),
// which the model does not describe. Returns the largest such share; 0 when there is none.
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
      if (trial.measured.rate <= 0) continue;
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

SharePrediction::SharePrediction(const CacheModel& unfitted, double ram_bytes,
                                 std::vector<CacheTrial> trials)
    : ram_bytes_(ram_bytes), model_(FitPageBytes(unfitted, ram_bytes, trials)) {
  starved_ = TakeStarved(&trials);
  costs_ = FitReadCosts(Measured(trials));
}

double SharePrediction::Rate(double cache_pct) const {
  const CacheModel::Hits hits = At(cache_pct);
  return costs_.Rate(hits.engine_misses, hits.device_reads);
}

double SharePrediction::best() const {
  double best = 0, best_rate = 0;
  for (double pct = kLeastShare; pct <= kMostShare; pct += 5) {
    const double rate = Rate(pct);
    if (pct > starved_ && rate > best_rate) {
      best_rate = rate;
      best = pct;
    }
  }
  return best;
}

json SharePrediction::ToJson() const {
  json curve = json::array();
  for (double pct = kLeastShare; pct <= kMostShare; pct += 5) {
    const CacheModel::Hits hits = At(pct);
    curve.push_back({{"name", fmt::format("{:.0f}", pct)},
                     {"cache_pct", pct},
                     {"rate", costs_.Rate(hits.engine_misses, hits.device_reads)},
                     {"engine_misses_per_operation", hits.engine_misses},
                     {"device_reads_per_operation", hits.device_reads}});
  }
  return {{"best_pct", best()},
          {"starved_pct", starved_},
          {"cached_block_bytes", model_.page_bytes()},
          {"base_us", costs_.base * 1e6},
          {"engine_miss_us", costs_.miss * 1e6},
          {"device_read_us", costs_.device * 1e6},
          {"curve", curve}};
}

}  // namespace testbed
