#include "tools/cache/cache_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>

namespace testbed {
namespace {

// Returns Che's characteristic time of a cache of `capacity` pages, in accesses.
double CharacteristicTime(const std::vector<PagePopularity::Class>& classes, double capacity) {
  const auto held = [&](double t) {
    double pages = 0;
    for (const auto& c : classes) pages += c.pages * -std::expm1(-c.share * t);
    return pages;
  };
  double high = 1;
  while (held(high) < capacity && high < 1e18) high *= 2;
  double low = 0;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (held(middle) < capacity ? low : high) = middle;
  }
  return high;
}

double Pages(const std::vector<PagePopularity::Class>& classes) {
  double pages = 0;
  for (const auto& c : classes) pages += c.pages;
  return pages;
}

double Total(const std::vector<PagePopularity::Class>& classes) {
  double share = 0;
  for (const auto& c : classes) share += c.share * c.pages;
  return share;
}

// Solves the normal equations for the columns in use; the other unknowns are 0. Returns false when
// the equations are singular.
bool Solve(std::array<std::array<double, 4>, 3> m, const std::array<bool, 3>& used,
           std::array<double, 3>* x) {
  for (size_t i = 0; i < 3; ++i) {
    if (used[i]) continue;
    for (size_t j = 0; j < 4; ++j) m[i][j] = i == j ? 1 : 0;
    for (size_t r = 0; r < 3; ++r) {
      if (r != i) m[r][i] = 0;
    }
  }
  for (size_t i = 0; i < 3; ++i) {
    size_t pivot = i;
    for (size_t r = i + 1; r < 3; ++r) {
      if (std::abs(m[r][i]) > std::abs(m[pivot][i])) pivot = r;
    }
    if (std::abs(m[pivot][i]) < 1e-12) return false;
    std::swap(m[i], m[pivot]);
    for (size_t r = 0; r < 3; ++r) {
      if (r == i) continue;
      const double factor = m[r][i] / m[i][i];
      for (size_t j = i; j < 4; ++j) m[r][j] -= factor * m[i][j];
    }
  }
  for (size_t i = 0; i < 3; ++i) (*x)[i] = m[i][3] / m[i][i];
  return true;
}

struct Sample {
  double seconds, misses, reads;  // per operation
};

// Fits seconds = base + miss x misses + device x reads to the samples by least squares. It tries
// each subset of the three costs and keeps the best fit without a negative cost.
ReadCosts FitSamples(const std::vector<Sample>& samples) {
  std::array<std::array<double, 4>, 3> normal{};
  for (const Sample& s : samples) {
    // Each equation is divided by the measured time, so that relative errors count equally.
    const std::array<double, 4> row = {1 / s.seconds, s.misses / s.seconds, s.reads / s.seconds, 1};
    for (size_t i = 0; i < 3; ++i) {
      for (size_t j = 0; j < 4; ++j) normal[i][j] += row[i] * row[j];
    }
  }
  ReadCosts best;
  double best_error = std::numeric_limits<double>::infinity();
  for (int mask = 1; mask < 8; ++mask) {
    std::array<double, 3> x{};
    const std::array<bool, 3> used = {(mask & 1) != 0, (mask & 2) != 0, (mask & 4) != 0};
    if (!Solve(normal, used, &x)) continue;
    if (*std::min_element(x.begin(), x.end()) < 0) continue;
    const ReadCosts costs = {x[0], x[1], x[2]};
    double error = 0;
    for (const Sample& s : samples) {
      const double off = 1 / (s.seconds * costs.Rate(s.misses, s.reads)) - 1;
      error += off * off;
    }
    if (error < best_error) {
      best_error = error;
      best = costs;
    }
  }
  return best;
}

struct Times {
  double device_read;   // seconds of one device read, the mean over all trials
  double wall_per_cpu;  // seconds that a client spends outside the device per second of processor
                        // time: above 1 when clients wait for a processor
};

// Returns the trials in which operations ended. The others have no figures per operation.
std::vector<ReadTrial> WithOperations(const std::vector<ReadTrial>& trials) {
  std::vector<ReadTrial> with;
  std::copy_if(trials.begin(), trials.end(), std::back_inserter(with),
               [](const ReadTrial& t) { return t.rate > 0; });
  return with;
}

// Returns the times over all trials, in each of which operations ended; nothing when the processor
// time of some trial is unknown.
std::optional<Times> TimesOf(const std::vector<ReadTrial>& trials) {
  double device = 0, reads = 0, cpu = 0, wall = 0;
  for (const ReadTrial& t : trials) {
    if (t.cpu_seconds <= 0) return std::nullopt;
    device += t.device_seconds;
    reads += t.device_reads;
    cpu += t.cpu_seconds;
    wall += t.clients / t.rate;
  }
  return Times{reads > 0 ? device / reads : 0, std::max(1.0, (wall - device) / cpu)};
}

}  // namespace

PagePopularity::PagePopularity(const std::function<uint64_t()>& draw, uint64_t rows,
                               double rows_per_page) {
  constexpr uint64_t kSamples = 400000;
  std::unordered_map<uint64_t, uint64_t> drawn;
  for (uint64_t i = 0; i < kSamples; ++i) {
    ++drawn[static_cast<uint64_t>(static_cast<double>(draw()) / rows_per_page)];
  }
  std::map<uint64_t, uint64_t> pages_by_count;
  for (const auto& [page, count] : drawn) ++pages_by_count[count];
  const double n = static_cast<double>(kSamples);
  const double pages = std::max(1.0, static_cast<double>(rows) / rows_per_page);
  const double unseen_pages = std::max(0.0, pages - static_cast<double>(drawn.size()));
  const auto once = pages_by_count.find(1);
  // Good-Turing estimate: all pages that were never drawn have, together, about the share of the
  // draws that hit a page which was drawn only once.
  const double unseen =
      unseen_pages == 0 || once == pages_by_count.end() ? 0 : static_cast<double>(once->second) / n;
  for (const auto& [count, these] : pages_by_count) {
    classes_.push_back({static_cast<double>(count) / n * (1 - unseen), static_cast<double>(these)});
  }
  if (unseen_pages > 0) classes_.push_back({unseen / unseen_pages, unseen_pages});
}

PagePopularity PagePopularity::Even(double pages, double hot_pages, double hot_share) {
  PagePopularity even;
  if (hot_pages > 0) even.classes_.push_back({hot_share / hot_pages, hot_pages});
  if (pages > hot_pages) {
    even.classes_.push_back({(1 - hot_share) / (pages - hot_pages), pages - hot_pages});
  }
  return even;
}

CacheModel::Hits CacheModel::At(double cache_bytes) const {
  std::vector<PagePopularity::Class> classes = popularity_.classes();
  Hits hits;
  double kept = 0;  // characteristic time of the engine's cache, in operations
  const double frames = cache_bytes / sizes_.page_bytes;
  if (frames >= Pages(classes)) return hits;
  if (frames > 0) kept = CharacteristicTime(classes, frames);
  for (auto& c : classes) c.share *= std::exp(-c.share * kept);
  hits.engine_misses = hits.device_reads = Total(classes);
  const double left = sizes_.ram_bytes - sizes_.other_bytes - cache_bytes * (1 + sizes_.overhead);
  const double second = sizes_.page_cache ? left / sizes_.stored_bytes : 0;
  if (second <= 0) return hits;
  // A page that the engine has just read is in both caches. The engine asks the page cache for it
  // only after its own cache has evicted it, so only the time that the page cache keeps it longer
  // can give a hit.
  const double longer =
      second >= Pages(classes) ? INFINITY : CharacteristicTime(classes, second) - kept;
  hits.device_reads = 0;
  for (const auto& c : classes) {
    if (c.share == 0) continue;
    hits.device_reads += c.share * c.pages * std::exp(-c.share * std::max(0.0, longer));
  }
  return hits;
}

std::vector<double> SteadyRates(const std::vector<ReadTrial>& trials) {
  std::vector<double> rates;
  const std::optional<Times> times = TimesOf(WithOperations(trials));
  for (const ReadTrial& t : trials) {
    rates.push_back(times && t.rate > 0 ? t.clients / (times->wall_per_cpu * t.cpu_seconds +
                                                       times->device_read * t.device_reads)
                                        : t.rate);
  }
  return rates;
}

ReadCosts FitReadCosts(const std::vector<ReadTrial>& all) {
  const std::vector<ReadTrial> trials = WithOperations(all);
  if (trials.empty()) return {};
  std::vector<Sample> samples;
  const std::optional<Times> times = TimesOf(trials);
  for (const ReadTrial& t : trials) {
    samples.push_back({times ? t.cpu_seconds : 1 / t.rate, t.engine_misses, t.device_reads});
  }
  ReadCosts costs = FitSamples(samples);
  if (!times) return costs;
  const double scale = times->wall_per_cpu / trials[0].clients;
  costs.base *= scale;
  costs.miss *= scale;
  costs.device = costs.device * scale + times->device_read / trials[0].clients;
  return costs;
}

}  // namespace testbed
