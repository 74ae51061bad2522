// Finds the engine's share of the memory by trying: --cache-pct auto.
//
// A trial resizes the engine's cache while it runs, lets both caches settle, and measures what an
// operation costs. The search tries where it starts and both ends, and climbs from the best of them
// with halving steps, and measures the best few again: about twelve trials. Trials are compared by
// the rates they would have had on a device of one speed (SteadyRates in workloads/cache_model.h),
// since a device that others use too changes more from one trial to the next than neighbouring
// shares differ; rates within the noise count as alike. From the same trials the costs of a miss
// and of a device read are fitted, and the whole curve is predicted and printed beside the trials.
#ifndef TESTBED_TOOLS_CACHE_TUNING_H_
#define TESTBED_TOOLS_CACHE_TUNING_H_

#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "workloads/cache_model.h"

namespace testbed {

struct CacheTrial {
  double cache_pct = 0;
  ReadTrial measured{};
  double other_bytes = 0;  // of the memory, neither cache
  int times = 1;           // that it was measured; the figures are means
};
using TryShare = std::function<CacheTrial(double cache_pct)>;

constexpr double kLeastShare = 5, kMostShare = 90;

// Tries shares up to `most`, and up to what fits into the memory (LargestShare), until the steps
// are small; *best is the one to use.
std::vector<CacheTrial> ClimbShare(double start, double most, double ram_bytes,
                                   const TryShare& measure, double* best);

// What is neither cache: a part that is always there, and one that grows with the engine's cache.
struct OtherMemory {
  double bytes = 0, per_cache_byte = 0;
};
OtherMemory FitOtherMemory(const std::vector<CacheTrial>& trials, double ram_bytes);

// The largest share that leaves room for what the process has beside its cache, as the trials show
// it, and for a sixteenth of the memory; at least kLeastShare. Beyond it the kernel ends the run.
double LargestShare(const std::vector<CacheTrial>& trials, double ram_bytes);

// The model with what a block takes of the engine's cache as the trials' misses show it: its own
// overhead, and what the engine keeps free (WiredTiger evicts from 80 % on).
CacheModel FitPageBytes(const CacheModel& model, double ram_bytes,
                        const std::vector<CacheTrial>& trials);

// The curve from kLeastShare to kMostShare as the model gives it with costs fitted to the trials.
// "best_pct" is above "starved_pct": up to there the engine's cache was too small to work in.
nlohmann::json PredictionJson(const CacheModel& unfitted, double ram_bytes,
                              const std::vector<CacheTrial>& trials);

}  // namespace testbed

#endif  // TESTBED_TOOLS_CACHE_TUNING_H_
