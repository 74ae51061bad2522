// Estimates the working set of a stream of keys, in bounded memory: how many different keys there
// are, how unevenly they are asked for, and which share of the accesses a cache of the most
// recently used keys would answer.
//
// It measures the reuse distances of a sample of the keys, chosen by their hashes, after
// Waldspurger and others, "Efficient MRC construction with SHARDS", FAST 2015 (fixed size: the
// threshold of the hashes falls so that the sample keeps at most kMostKeys keys). The accesses to
// keys that are not in the sample are counted, too, because a single popular key in or out of it
// changes its share of the accesses: SHARDS-adj of the same paper takes the difference for hits of
// the smallest cache, and the most popular keys are counted one by one (heavy_keys.h). Up to
// kMostKeys different keys the figures are exact.
//
//   KeySketch sketch;
//   for (const uint64_t hash : hashes_of_keys) sketch.Touch(hash);
//   sketch.HitShare(1000);      // of an LRU cache of 1000 keys
//
// Not thread-safe.
#ifndef TESTBED_TOOLS_TRACE_KEY_SKETCH_H_
#define TESTBED_TOOLS_TRACE_KEY_SKETCH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace testbed {

class HeavyKeys;

class KeySketch {
 public:
  static constexpr size_t kMostKeys = 32768;
  KeySketch();
  ~KeySketch();

  // Counts an access to the key with this hash, whose 64 bits must be spread evenly.
  void Touch(uint64_t hash);

  bool exact() const;             // all keys are in the sample
  double keys() const;            // number of different keys
  double first_accesses() const;  // accesses that no cache can answer: the first to each key
  // Returns the share of the accesses that a cache of the `keys` most recently used keys answers.
  double HitShare(double keys) const;
  // Returns the share of the accesses that go to the most popular `share` of the keys.
  double PopularShare(double share) const;

 private:
  struct Sample;
  double Weight() const;  // keys for which a key of the sample stands
  void CountHeavy();
  void Forget();

  const std::unique_ptr<Sample> sample_;
  std::unique_ptr<HeavyKeys> heavy_;  // null while all keys are in the sample
  uint64_t accesses_ = 0;
  uint64_t threshold_ = UINT64_MAX;  // keys of greater hashes are not in the sample
  uint64_t now_ = 0;
  // Accesses by reuse distance, in buckets of a power of two cut into eighths; the weight of an
  // access is one over the share of the keys that were in the sample at that time.
  std::vector<double> reuse_;
  std::vector<uint64_t> exact_reuse_;  // by the distance itself, while all keys are in the sample
  double weight_ = 0;                  // sum over all accesses to keys of the sample
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_TRACE_KEY_SKETCH_H_
