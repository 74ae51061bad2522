// Predicts how the rate of reads depends on the engine's share of the memory. The engine's cache
// holds blocks uncompressed and ready to use. The OS page cache holds the same files as they are on
// the device, so the better they compress, the more blocks it holds.
//
//   CacheModel model(sizes, PagePopularity(draw, rows, rows_per_page));
//   CacheModel::Hits hits = model.At(cache_bytes);
//   ReadCosts costs = FitReadCosts(trials);      // from a few measured points
//   double rate = costs.Rate(hits.engine_misses, hits.device_reads);
//
// Both caches are modelled as LRU under independent references, by Che's approximation (Che, Tung,
// Wang, "Hierarchical web caching systems", IEEE JSAC 20(7), 2002): a cache of C pages keeps a page
// for a characteristic time T with sum(1 - exp(-p_i T)) = C. The page cache sees the misses of the
// engine's cache and holds many of the same pages; the correction for that follows Martina,
// Garetto, Leonardi, "A unified approach to the performance analysis of caching systems" (INFOCOM
// 2014). Only leaf pages count: upper levels are assumed to be cached. All classes are immutable
// and thread-safe.
#ifndef TESTBED_TOOLS_CACHE_CACHE_MODEL_H_
#define TESTBED_TOOLS_CACHE_CACHE_MODEL_H_

#include <cstdint>
#include <functional>
#include <vector>

namespace testbed {

// The pages' shares of the accesses, estimated from drawn rows. Pages with equal shares form one
// class, so that millions of pages stay cheap.
class PagePopularity {
 public:
  struct Class {
    double share;  // share of all accesses of each page in the class
    double pages;  // number of pages in the class
  };
  // Draws `samples` rows with draw(); each page holds `rows_per_page` adjacent rows. The pages that
  // were never drawn share the remaining probability by the Good-Turing estimate.
  PagePopularity(const std::function<uint64_t()>& draw, uint64_t rows, double rows_per_page,
                 uint64_t samples = 400000);
  // Returns a popularity in which `hot_pages` pages share `hot_share` of the accesses evenly and
  // the other pages share the rest evenly.
  static PagePopularity Even(double pages, double hot_pages, double hot_share);
  const std::vector<Class>& classes() const { return classes_; }

 private:
  PagePopularity() = default;
  std::vector<Class> classes_;
};

struct CacheSizes {
  double ram_bytes = 0;     // the whole budget
  double other_bytes = 0;   // part of ram_bytes that the process takes beside the caches
  double overhead = 0;      // further bytes for each byte of the engine's cache
  double page_bytes = 0;    // bytes of a block in the engine's cache
  double stored_bytes = 0;  // bytes of a block on the device and in the page cache
  bool page_cache = true;   // false with direct reads
};

class CacheModel {
 public:
  CacheModel(const CacheSizes& sizes, PagePopularity popularity)
      : sizes_(sizes), popularity_(std::move(popularity)) {}
  struct Hits {
    double engine_misses = 0;  // per operation
    double device_reads = 0;   // per operation; neither cache had the page
  };
  // Returns the predicted misses for an engine's cache of `cache_bytes` bytes.
  Hits At(double cache_bytes) const;

  double page_bytes() const { return sizes_.page_bytes; }
  // Returns the same model with another size of a block in the engine's cache.
  CacheModel WithPageBytes(double bytes) const {
    CacheSizes sizes = sizes_;
    sizes.page_bytes = bytes;
    return {sizes, popularity_};
  }

 private:
  const CacheSizes sizes_;
  const PagePopularity popularity_;
};

// The costs of an operation, in seconds: 1 / rate = base + miss x engine misses + device x device
// reads.
struct ReadCosts {
  double base = 0, miss = 0, device = 0;
  // Returns operations per second for these misses per operation.
  double Rate(double engine_misses, double device_reads) const {
    return 1 / (base + miss * engine_misses + device * device_reads);
  }
};
// The figures of one trial, per operation. A device's speed changes from one second to the next,
// while the work that an operation needs from the device and the processor hardly changes. So where
// a trial knows both times, the processor's and the device's are treated separately.
struct ReadTrial {
  double rate, engine_misses, device_reads;
  double cpu_seconds = 0;     // processor time; 0: both times are unknown
  double device_seconds = 0;  // time of its device reads
  double clients = 1;         // clients that waited for the reads
};
// Fits the costs by least squares of the relative error, with no cost below 0. Requires at least
// one trial.
ReadCosts FitReadCosts(const std::vector<ReadTrial>& trials);

// Returns the rates that the trials would have had on a device of constant speed, the average over
// all trials. Returns the measured rates when any trial does not know its times.
std::vector<double> SteadyRates(const std::vector<ReadTrial>& trials);

}  // namespace testbed

#endif  // TESTBED_TOOLS_CACHE_CACHE_MODEL_H_
