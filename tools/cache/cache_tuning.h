// Finds the engine's share of the memory by trying: --cache-pct auto.
//
// A trial resizes the engine's cache while it runs, lets both caches settle, and measures what an
// operation costs. The search tries where it starts and both ends, and climbs from the best of them
// with halving steps, and measures the best few again: about twelve trials. Trials are compared by
// the rates they would have had on a device of one speed (SteadyRates in tools/cache/cache_model.h),
// since a device that others use too changes more from one trial to the next than neighbouring
// shares differ; rates within the noise count as alike. From the same trials the costs of a miss
// and of a device read are fitted, and the whole curve is predicted and printed beside the trials.
// The prediction has a part in the choice: what all trials say together of a share is surer than
// the one that measured it. At the end the engine is opened anew with the share that was chosen.
#ifndef TESTBED_TOOLS_CACHE_CACHE_TUNING_H_
#define TESTBED_TOOLS_CACHE_CACHE_TUNING_H_

#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "tools/cache/cache_model.h"

namespace testbed {

struct CacheTrial {
  double cache_pct = 0;
  ReadTrial measured{};
  double other_bytes = 0;  // of the memory, neither cache
  double block_bytes = 0;  // of a block as the engine read it; 0: it does not say
  int times = 1;           // that it was measured; the figures are means
};
using TryShare = std::function<CacheTrial(double cache_pct)>;

constexpr double kLeastShare = 5, kMostShare = 90;

// What is neither cache: a part that is always there, and one that grows with the engine's cache.
struct OtherMemory {
  double bytes = 0, per_cache_byte = 0;
};
OtherMemory FitOtherMemory(const std::vector<CacheTrial>& trials, double ram_bytes);

// What a block takes on the device and in the page cache, as the trials' reads show it; what the
// files would give to each block, `otherwise`, where the engine does not count its bytes. Files
// have more than blocks: a log, space that is free (half of WiredTiger's after a load with
// checkpoints).
double StoredBytes(const std::vector<CacheTrial>& trials, double otherwise);

// The largest share that leaves room for what the process has beside its cache, as the trials show
// it, and for a sixth of the memory; at least kLeastShare. Beyond it the kernel ends the run: a
// cache that works at its limit leaves gaps that the allocator cannot use (33 MB of 256 seen beside
// RocksDB's, and 6 beside a small one).
double LargestShare(const std::vector<CacheTrial>& trials, double ram_bytes);

// The model with what a block takes of the engine's cache as the trials' misses show it: its own
// overhead, and what the engine keeps free (WiredTiger evicts from 80 % on).
CacheModel FitPageBytes(const CacheModel& model, double ram_bytes,
                        const std::vector<CacheTrial>& trials);

// The curve as the model gives it with what was fitted to trials.
class SharePrediction {
 public:
  SharePrediction(const CacheModel& unfitted, double ram_bytes, std::vector<CacheTrial> trials);
  double Rate(double cache_pct) const;
  double best() const;  // of kLeastShare, 5 more, ... kMostShare
  // Up to this share the engine's cache was too small to work in, which the model knows nothing of;
  // 0 when no trial was.
  double starved() const { return starved_; }
  nlohmann::json ToJson() const;

 private:
  CacheModel::Hits At(double cache_pct) const { return model_.At(ram_bytes_ * cache_pct / 100); }
  const double ram_bytes_;
  const CacheModel model_;
  double starved_ = 0;
  ReadCosts costs_;
};

struct ShareSearch {
  double start = 50;         // the share that is there
  double most = kMostShare;  // that the engine may have; more than fits (LargestShare) is not tried
  double ram_bytes = 0;
  TryShare measure;
  std::function<SharePrediction(const std::vector<CacheTrial>&)> predict =
      {};  // where there is one
};
// Tries shares until the steps are small; *best is the one to use.
std::vector<CacheTrial> ClimbShare(const ShareSearch& search, double* best);

}  // namespace testbed

#endif  // TESTBED_TOOLS_CACHE_CACHE_TUNING_H_
