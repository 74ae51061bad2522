// Finds the engine's best share of the memory by trials: --cache-pct auto.
//
// A trial resizes the engine's cache while the engine runs, lets both caches settle, and measures
// the cost of an operation. The search tries its starting point and both ends, climbs from the best
// of them with halving steps, and measures the best few again: about twelve trials. Trials are
// compared by the rates that they would have had on a device of constant speed (SteadyRates in
// tools/cache/cache_model.h), since a shared device varies more between trials than neighbouring
// shares differ. Rates that differ by less than the noise count as equal.
//
// The same trials yield the costs of a miss and of a device read, from which the whole curve is
// predicted and printed next to the trials. The prediction takes part in the choice: all trials
// together say more about a share than the one trial that measured it. In the end the engine is
// opened again with the chosen share.
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
  double other_bytes = 0;  // memory that belongs to neither cache
  double block_bytes = 0;  // bytes of a block as the engine read it; 0: unknown
  int times = 1;           // measurements; the figures are their means
};
using TryShare = std::function<CacheTrial(double cache_pct)>;

constexpr double kLeastShare = 5, kMostShare = 90;

// The memory that belongs to neither cache: a constant part, and a part that grows with the
// engine's cache. FitOtherMemory fits both to the trials.
struct OtherMemory {
  double bytes = 0, per_cache_byte = 0;
};
OtherMemory FitOtherMemory(const std::vector<CacheTrial>& trials, double ram_bytes);

// Returns the bytes of a block on the device and in the page cache, as the trials' reads show them.
// Returns `otherwise`, the files' size divided by the number of blocks, when the engine does not
// count the bytes of its reads. That is less exact, since files also contain a log and free space
// (half of WiredTiger's after a load with checkpoints).
double StoredBytes(const std::vector<CacheTrial>& trials, double otherwise);

// Returns the largest share that leaves room for the process's other memory, as the trials show it,
// and for a sixth of the memory; at least kLeastShare. With a larger share the kernel could end the
// run: a cache at its limit leaves gaps that the allocator cannot use (33 MB of 256 seen beside
// RocksDB's cache, and 6 beside a small cache).
double LargestShare(const std::vector<CacheTrial>& trials, double ram_bytes);

// Returns the model with the size of a block in the engine's cache that fits the trials' misses
// best. It includes the cache's own overhead and the part that the engine keeps free (WiredTiger
// evicts from 80 % on).
CacheModel FitPageBytes(const CacheModel& model, double ram_bytes,
                        const std::vector<CacheTrial>& trials);

// The curve of rates by share that the model predicts, with parameters fitted to trials.
class SharePrediction {
 public:
  // Fits the model to the trials, of which there must be at least one.
  SharePrediction(const CacheModel& unfitted, double ram_bytes, std::vector<CacheTrial> trials);
  // Returns the predicted operations per second.
  double Rate(double cache_pct) const;
  double best() const;  // share with the best rate, in steps of 5 %
  // The largest share at which the engine's cache was too small to work in, which the model does
  // not describe; 0 when no trial showed that.
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
  double start = 50;         // the engine's current share
  double most = kMostShare;  // upper limit; shares above LargestShare are not tried either
  double ram_bytes = 0;
  TryShare measure;
  // Optional; predicts from the trials so far.
  std::function<SharePrediction(const std::vector<CacheTrial>&)> predict = {};
};
// Tries shares until the steps are small. Returns the trials and sets *best to the share to use.
std::vector<CacheTrial> ClimbShare(const ShareSearch& search, double* best);

}  // namespace testbed

#endif  // TESTBED_TOOLS_CACHE_CACHE_TUNING_H_
