// Predicts how the rate of reads depends on the engine's share of the memory: what the engine's
// cache holds is uncompressed and ready, what the OS page cache holds of the same files is as it is
// on the device, so it holds more of them the better they compress.
//
//   CacheModel model(sizes, PagePopularity(draw, pages));
//   CacheModel::Hits hits = model.At(cache_bytes);
//   ReadCosts costs = FitReadCosts(trials);      // from a few measured points
//   double rate = costs.Rate(hits.engine_misses, hits.device_reads);
//
// Both caches are taken as LRU under independent references and solved by Che's approximation (Che,
// Tung, Wang, "Hierarchical web caching systems", IEEE JSAC 20(7), 2002): a cache of C pages keeps
// a page for a characteristic time T with sum(1 - exp(-p_i T)) = C. The page cache sees what the
// engine's cache misses, and holds much of what that has too; the correction for that is after
// Martina, Garetto, Leonardi, "A unified approach to the performance analysis of caching systems"
// (INFOCOM 2014). Only leaf pages count: upper levels are taken as cached.
#ifndef TESTBED_TOOLS_CACHE_CACHE_MODEL_H_
#define TESTBED_TOOLS_CACHE_CACHE_MODEL_H_

#include <cstdint>
#include <functional>
#include <vector>

namespace testbed {

// Shares of the accesses by page, from drawing rows: equal entries are merged, so that millions of
// pages stay cheap.
class PagePopularity {
 public:
  struct Class {
    double share;  // of all accesses, one page
    double pages;  // that have it
  };
  // draw() gives a row; rows lie `rows_per_page` together. Pages that were never drawn get what is
  // left by the estimate of Good and Turing.
  PagePopularity(const std::function<uint64_t()>& draw, uint64_t rows, double rows_per_page,
                 uint64_t samples = 400000);
  // Every page alike, or a hot part that gets a share of all accesses.
  static PagePopularity Even(double pages, double hot_pages, double hot_share);
  const std::vector<Class>& classes() const { return classes_; }

 private:
  PagePopularity() = default;
  std::vector<Class> classes_;
};

struct CacheSizes {
  double ram_bytes = 0;     // the whole budget
  double other_bytes = 0;   // of it, neither cache: the process
  double overhead = 0;      // and for each byte of the engine's cache: its allocator
  double page_bytes = 0;    // of a block in the engine's cache
  double stored_bytes = 0;  // of a block on the device, as the page cache holds it
  bool page_cache = true;   // false with direct reads
};

class CacheModel {
 public:
  CacheModel(const CacheSizes& sizes, PagePopularity popularity)
      : sizes_(sizes), popularity_(std::move(popularity)) {}
  struct Hits {
    double engine_misses = 0;  // per operation
    double device_reads = 0;   // per operation: neither cache had it
  };
  Hits At(double cache_bytes) const;

  double page_bytes() const { return sizes_.page_bytes; }
  // The same, but for what a block takes in the engine's cache.
  CacheModel WithPageBytes(double bytes) const {
    CacheSizes sizes = sizes_;
    sizes.page_bytes = bytes;
    return {sizes, popularity_};
  }

 private:
  const CacheSizes sizes_;
  const PagePopularity popularity_;
};

// Seconds an operation takes of what bounds the rate: 1/rate = base + miss x engine misses + device
// x device reads.
struct ReadCosts {
  double base = 0, miss = 0, device = 0;
  double Rate(double engine_misses, double device_reads) const {
    return 1 / (base + miss * engine_misses + device * device_reads);
  }
};
// What a trial measured, per operation. A device's speed changes from one second to the next, what
// an operation asks of it and of the processor hardly does; so where a trial knows them, the
// processor's time and the device's are looked at apart.
struct ReadTrial {
  double rate, engine_misses, device_reads;
  double cpu_seconds = 0;     // 0: not known, as the device's
  double device_seconds = 0;  // that its reads took
  double clients = 1;         // that waited for them
};
// Least squares of the relative error, with no cost below 0. Needs a trial.
ReadCosts FitReadCosts(const std::vector<ReadTrial>& trials);

// The rates that the trials would have had on a device of one speed, that of all trials together.
// Those measured where a trial does not know its times.
std::vector<double> SteadyRates(const std::vector<ReadTrial>& trials);

}  // namespace testbed

#endif  // TESTBED_TOOLS_CACHE_CACHE_MODEL_H_
