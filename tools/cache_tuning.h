// Finds the engine's share of the memory by trying: --cache-pct auto.
//
// A trial resizes the engine's cache while it runs, lets both caches settle, and measures the rate
// of the workload. The search climbs from where it starts with halving steps, so it needs about ten
// trials and ends at a top of the curve; shares whose rates differ by less than the noise count as
// alike. From the same trials the costs of a miss and of a device read are fitted, and the whole
// curve is predicted (workloads/cache_model.h) and printed beside the trials.
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
};
using TryShare = std::function<ReadTrial(double cache_pct)>;

constexpr double kLeastShare = 5, kMostShare = 90;

// Tries shares from `start` on until the steps are small; *best is the one to use.
std::vector<CacheTrial> ClimbShare(double start, const TryShare& measure, double* best);

// The curve from kLeastShare to kMostShare as the model gives it with costs fitted to the trials.
nlohmann::json PredictionJson(const CacheModel& model, double ram_bytes,
                              const std::vector<CacheTrial>& trials);

}  // namespace testbed

#endif  // TESTBED_TOOLS_CACHE_TUNING_H_
