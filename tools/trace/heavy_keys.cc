#include "tools/trace/heavy_keys.h"

#include <algorithm>
#include <utility>

namespace testbed {

std::vector<HeavyKeys::Counter> HeavyKeys::Counted() const {
  std::vector<Counter> counted;
  for (const Counter& slot : slots_) {
    if (slot.count != 0 && slot.before <= slot.count / 16) counted.push_back(slot);
  }
  return counted;
}

// Keys with as many accesses as the median go, too, so at least half of the keys do.
void HeavyKeys::Evict() {
  std::vector<uint64_t> most;
  most.reserve(keys_);
  for (const Counter& slot : slots_) {
    if (slot.count != 0) most.push_back(slot.count + slot.before);
  }
  const auto median = most.begin() + static_cast<std::ptrdiff_t>(most.size() / 2);
  std::nth_element(most.begin(), median, most.end());
  most_evicted_ = *median;
  const std::vector<Counter> all = std::exchange(slots_, std::vector<Counter>(kSlots));
  keys_ = 0;
  for (const Counter& slot : all) {
    if (slot.count == 0 || slot.count + slot.before <= most_evicted_) continue;
    SlotOf(slot.hash) = slot;
    ++keys_;
  }
}

}  // namespace testbed
