#include "workloads/trace/row_presence.h"

#include <bit>

#include "workloads/random.h"

namespace testbed {

RowPresence::RowPresence(const Population& population, bool ordered)
    : ordered_(ordered),
      loaded_(population.dataset().rows()),
      there_(loaded_ / 64 + 1),
      stripes_(kStripes) {
  for (const RangeSet::Range& range : population.there().ranges()) {
    for (uint64_t place = range.begin; place < range.end; ++place) {
      (void)Insert(population.RowOf(place));
    }
  }
}

bool RowPresence::Insert(uint64_t row) {
  if (row < loaded_) {
    const uint64_t bit = uint64_t{1} << (row % 64);
    return (there_[row / 64].fetch_or(bit) & bit) == 0;
  }
  Stripe& stripe = stripes_[StripeOf(row)];
  const LockGuard lock(stripe.mutex);
  return stripe.added.insert(row).second;
}

bool RowPresence::Erase(uint64_t row) {
  if (row < loaded_) {
    const uint64_t bit = uint64_t{1} << (row % 64);
    return (there_[row / 64].fetch_and(~bit) & bit) != 0;
  }
  Stripe& stripe = stripes_[StripeOf(row)];
  const LockGuard lock(stripe.mutex);
  return stripe.added.erase(row) != 0;
}

RowPresence::Hold::Hold(RowPresence& presence, const std::vector<uint64_t>& rows)
    : presence_(presence) {
  if (!presence.ordered_) return;
  for (const uint64_t row : rows) {
    const size_t stripe = StripeOf(row);
    held_[stripe / 64] |= uint64_t{1} << (stripe % 64);
  }
  // All threads take stripes in the same order.
  for (size_t i = 0; i < held_.size(); ++i) {
    for (uint64_t left = held_[i]; left != 0; left &= left - 1) {
      presence_.stripes_[i * 64 + static_cast<size_t>(std::countr_zero(left))].held.lock();
    }
  }
}

RowPresence::Hold::~Hold() {
  for (size_t i = 0; i < held_.size(); ++i) {
    for (uint64_t left = held_[i]; left != 0; left &= left - 1) {
      presence_.stripes_[i * 64 + static_cast<size_t>(std::countr_zero(left))].held.unlock();
    }
  }
}

}  // namespace testbed
