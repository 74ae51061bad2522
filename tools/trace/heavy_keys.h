// Counts the accesses to the most popular keys of a stream, in bounded memory.
//
// It is Space-Saving (Metwally and others, "Efficient computation of frequent and top-k elements in
// data streams", ICDT 2005), with many keys evicted at once: when all counters are taken, the half
// of the keys with the fewest accesses goes. A key that comes after that may have had as many
// accesses as any of the evicted ones. A key that has more accesses than any evicted one was never
// evicted since, so popular keys are counted exactly from their first access on.
//
//   HeavyKeys heavy;
//   for (const uint64_t hash : hashes_of_keys) heavy.Add(hash, 1);
//   for (const HeavyKeys::Counter& key : heavy.Counted()) Use(key.hash, key.count);
//
// Not thread-safe.
#ifndef TESTBED_TOOLS_TRACE_HEAVY_KEYS_H_
#define TESTBED_TOOLS_TRACE_HEAVY_KEYS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace testbed {

class HeavyKeys {
 public:
  static constexpr size_t kMostKeys = 16384;

  struct Counter {
    uint64_t hash = 0;
    uint64_t count = 0;   // accesses since the key was inserted; 0: the slot is free
    uint64_t before = 0;  // most accesses that the key may have had before
  };

  HeavyKeys() : slots_(kSlots) {}

  // Counts `count` accesses, at least one, to the key with this hash, whose low bits must be spread
  // evenly.
  void Add(uint64_t hash, uint64_t count) {
    Counter& slot = SlotOf(hash);
    slot.count += count;
    if (slot.count != count) return;
    slot.hash = hash;
    slot.before = most_evicted_;
    if (++keys_ > kMostKeys) Evict();
  }

  // Returns the keys whose accesses are known to a sixteenth of them.
  std::vector<Counter> Counted() const;

 private:
  static constexpr size_t kSlots = 2 * kMostKeys;  // a power of two

  // Returns the slot of the key, or the free one where it belongs.
  Counter& SlotOf(uint64_t hash) {
    size_t at = hash % kSlots;
    while (slots_[at].count != 0 && slots_[at].hash != hash) at = (at + 1) % kSlots;
    return slots_[at];
  }
  void Evict();

  std::vector<Counter> slots_;  // a hash table with linear probing
  size_t keys_ = 0;
  uint64_t most_evicted_ = 0;  // no evicted key had more accesses
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_TRACE_HEAVY_KEYS_H_
