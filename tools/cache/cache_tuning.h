// Finds the share of the memory that the engine's cache should get by trying: --cache-pct auto.
//
// A trial resizes the engine's cache while the engine runs, lets both caches settle, and measures
// the cost of an operation. The search tries its start and shares near both ends, climbs from the
// best of them with halving steps, and measures the best few again: about twelve trials.
//
// Trials are compared by the rates that they would have had on a device of constant speed
// (SteadyRates in tools/cache/cache_model.h), since the speed of a shared device changes more
// between two trials than the rates of neighbouring shares differ. Rates within the noise count as
// equal. The same trials give the costs of a miss and of a device read, from which the whole curve
// is predicted and printed beside the trials. The prediction influences the choice, because all
// trials together tell more about a share than the single trial that measured it. At the end the
// engine is opened again with the chosen share.
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
  double other_bytes = 0;  // memory that neither cache holds
  double block_bytes = 0;  // size of a block as the engine read it; 0: unknown
  int times = 1;           // measurements of this share; the figures are their means
  // Whether the engine counts its reads, the device was read, and the memory was bounded. A figure
  // that is not known is 0. When the engine does not tell what its cache holds, the cache is taken
  // to be full, so that other_bytes is the rest of the process's memory.
  bool knows_misses = true, knows_device = true, knows_memory = true;
};
using TryShare = std::function<CacheTrial(double cache_pct)>;

constexpr double kLeastShare = 5, kMostShare = 90;

// The memory that neither cache holds: a constant part, and a part that grows with the engine's
// cache.
struct OtherMemory {
  double bytes = 0, per_cache_byte = 0;
};
// Returns the two parts that fit the trials best; both are 0 without trials.
OtherMemory FitOtherMemory(const std::vector<CacheTrial>& trials, double ram_bytes);

// Returns the size of a block on the device and in the page cache, in bytes: the mean over the
// trials' reads, or `otherwise` when the engine does not count the bytes that it reads. The size of
// the files does not tell it, because files hold more than blocks: a log, and free space (half of
// WiredTiger's files after a load with checkpoints).
double StoredBytes(const std::vector<CacheTrial>& trials, double otherwise);

// Returns the largest share, in percent, that leaves room for the process's other memory, as the
// trials show it, and for a sixth of the memory; at least kLeastShare. With a larger share the
// kernel could kill the run: a cache at its limit leaves gaps that the allocator cannot use (33 MB
// of 256 were seen with RocksDB, and 6 with a small cache).
double LargestShare(const std::vector<CacheTrial>& trials, double ram_bytes);

// Returns the model with the size of a page in the engine's cache fitted to the trials' misses. The
// fitted size includes the page's overhead, and the space that the engine keeps free (WiredTiger
// evicts from 80 % on).
CacheModel FitPageBytes(const CacheModel& model, double ram_bytes,
                        const std::vector<CacheTrial>& trials);

// The predicted rate for every share: the model with sizes and costs fitted to the trials.
class SharePrediction {
 public:
  // Fits the model to the trials, of which there must be at least one.
  SharePrediction(const CacheModel& unfitted, double ram_bytes, std::vector<CacheTrial> trials);
  // Returns the predicted rate at a share.
  double Rate(double cache_pct) const;
  // Returns the share with the best predicted rate of those above starved(), in steps of 5 from
  // kLeastShare to kMostShare; 0 when no rate is predicted.
  double best() const;
  // Returns the largest share of a trial whose engine's cache was too small to work in; 0 when no
  // trial's was. The model does not describe such shares.
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
  double start = 50;         // share at which the search starts
  double most = kMostShare;  // largest share that the engine allows; LargestShare may be less
  double ram_bytes = 0;
  TryShare measure;
  // Optional; predicts from the trials so far.
  std::function<SharePrediction(const std::vector<CacheTrial>&)> predict = {};
  double least = kLeastShare;  // smallest share that the engine accepts, at most `most`
};
// Tries shares until the steps are small. Returns all trials; *best becomes the share to use.
std::vector<CacheTrial> ClimbShare(const ShareSearch& search, double* best);

}  // namespace testbed

#endif  // TESTBED_TOOLS_CACHE_CACHE_TUNING_H_
