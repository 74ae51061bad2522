// Predicts how the rate of reads depends on the engine's share of the memory. The engine's cache
// holds pages uncompressed and ready to use. The OS page cache holds blocks as they are stored on
// the device, so it holds more pages the better they compress.
//
//   CacheModel model(sizes, PagePopularity(draw, rows, rows_per_page));
//   CacheModel::Hits hits = model.At(cache_bytes);
//   ReadCosts costs = FitReadCosts(trials);      // from a few measured points
//   double rate = costs.Rate(hits.engine_misses, hits.device_reads);
//
// The model takes both caches as LRU caches under independent references and uses Che's
// approximation (Che, Tung, Wang, "Hierarchical web caching systems", IEEE JSAC 20(7), 2002): a
// cache of C pages keeps a page for a characteristic time T with sum(1 - exp(-p_i T)) = C. The page
// cache sees only the misses of the engine's cache, and also holds many pages that the engine's
// cache holds; the correction for that follows Martina, Garetto, Leonardi, "A unified approach to
// the performance analysis of caching systems" (INFOCOM 2014). Only leaf pages count: pages of
// upper levels are taken as always cached.
#ifndef TESTBED_TOOLS_CACHE_CACHE_MODEL_H_
#define TESTBED_TOOLS_CACHE_CACHE_MODEL_H_

#include <cstdint>
#include <functional>
#include <vector>

namespace testbed {

// The distribution of the accesses over the pages. Pages with equal shares form one class, so that
// millions of pages stay cheap.
class PagePopularity {
 public:
  struct Class {
    double share;  // share of all accesses that goes to each page of the class
    double pages;  // number of pages in the class
  };
  // Estimates the distribution from 400,000 calls of draw(), which returns the number of an
  // accessed row. Each page holds `rows_per_page` neighbouring rows. The pages that were never
  // drawn share the probability that the Good-Turing estimate leaves for them.
  PagePopularity(const std::function<uint64_t()>& draw, uint64_t rows, double rows_per_page);
  // Returns a distribution in which `hot_pages` of the pages get the share `hot_share` of all
  // accesses, and the other pages get the rest; within both parts all pages are alike.
  static PagePopularity Even(double pages, double hot_pages, double hot_share);
  const std::vector<Class>& classes() const { return classes_; }

 private:
  PagePopularity() = default;
  std::vector<Class> classes_;
};

struct CacheSizes {
  double ram_bytes = 0;     // the whole budget
  double other_bytes = 0;   // bytes of the budget that neither cache gets: the process
  double overhead = 0;      // further such bytes per byte of the engine's cache (allocator)
  double page_bytes = 0;    // size of a page in the engine's cache
  double stored_bytes = 0;  // size of a page on the device, and so in the page cache
  bool page_cache = true;   // false with direct IO
};

class CacheModel {
 public:
  CacheModel(const CacheSizes& sizes, PagePopularity popularity)
      : sizes_(sizes), popularity_(std::move(popularity)) {}
  struct Hits {
    double engine_misses = 0;  // per operation
    double device_reads = 0;   // per operation; neither cache held the page
  };
  // Returns the predicted misses for an engine's cache of `cache_bytes`.
  Hits At(double cache_bytes) const;

  double page_bytes() const { return sizes_.page_bytes; }
  // Returns a copy of this model with another size of a page in the engine's cache.
  CacheModel WithPageBytes(double bytes) const {
    CacheSizes sizes = sizes_;
    sizes.page_bytes = bytes;
    return {sizes, popularity_};
  }

 private:
  const CacheSizes sizes_;
  const PagePopularity popularity_;
};

// The costs that bound the rate, in seconds per operation, per engine miss and per device read:
// 1/rate = base + miss x engine misses + device x device reads.
struct ReadCosts {
  double base = 0, miss = 0, device = 0;
  // Returns operations per second for these misses per operation; 0 when no cost is known.
  double Rate(double engine_misses, double device_reads) const {
    const double seconds = base + miss * engine_misses + device * device_reads;
    return seconds > 0 ? 1 / seconds : 0;
  }
};
// The measurements of a trial, per operation except for rate and clients. A device's speed changes
// from one second to the next, but the number of device reads and the processor time of an
// operation hardly change. So processor time and device time are fitted separately when a trial has
// them. A trial in which no operation ended has the rate 0, and its other figures tell nothing.
struct ReadTrial {
  double rate, engine_misses, device_reads;
  double cpu_seconds = 0;     // processor time; 0: it is unknown, and device_seconds too
  double device_seconds = 0;  // time that the device took for its reads
  double clients = 1;         // clients that issued operations at the same time
};
// Returns the costs that fit the trials by least squares of the relative error, none below 0. All
// are 0 when no trial has a rate above 0.
ReadCosts FitReadCosts(const std::vector<ReadTrial>& all);

// Returns the rates that the trials would have had on a device of constant speed, the mean speed
// over all trials. Returns the measured rates when the processor time of some trial is unknown, and
// 0 for a trial in which no operation ended.
std::vector<double> SteadyRates(const std::vector<ReadTrial>& trials);

}  // namespace testbed

#endif  // TESTBED_TOOLS_CACHE_CACHE_MODEL_H_
