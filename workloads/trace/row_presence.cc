#include "workloads/trace/row_presence.h"

#include <bit>

#include "workloads/random.h"

namespace testbed {

RowPresence::RowPresence(const Population& population, bool ordered)
    : ordered_(ordered),
      loaded_(population.dataset().rows()),
      there_(loaded_ / 64 + 1),
      stripes_(kStripes) {
  for (const RangeSet::Range& range : population.there().Ranges()) {
    for (uint64_t place = range.begin; place < range.end; ++place) {
      (void)Insert(population.RowOf(place));
    }
  }
}

bool RowPresence::Insert(uint64_t row) {
  const uint64_t word = row / 64, bit = uint64_t{1} << (row % 64);
  if (row < loaded_) return (there_[word].fetch_or(bit) & bit) == 0;
  Stripe& stripe = stripes_[StripeOf(word)];
  const LockGuard lock(stripe.mutex);
  uint64_t& rows = stripe.added[word];
  const bool is_new = (rows & bit) == 0;
  rows |= bit;
  return is_new;
}

bool RowPresence::Erase(uint64_t row) {
  const uint64_t word = row / 64, bit = uint64_t{1} << (row % 64);
  if (row < loaded_) return (there_[word].fetch_and(~bit) & bit) != 0;
  Stripe& stripe = stripes_[StripeOf(word)];
  const LockGuard lock(stripe.mutex);
  const auto rows = stripe.added.find(word);
  if (rows == stripe.added.end() || (rows->second & bit) == 0) return false;
  rows->second &= ~bit;
  if (rows->second == 0) stripe.added.erase(rows);
  return true;
}

size_t RowPresence::AddedWords() {
  size_t words = 0;
  for (Stripe& stripe : stripes_) {
    const LockGuard lock(stripe.mutex);
    words += stripe.added.size();
  }
  return words;
}

RowPresence::Hold::Hold(RowPresence& presence, const std::vector<uint64_t>& rows)
    : presence_(presence) {
  if (!presence.ordered_) return;
  for (const uint64_t row : rows) {
    const size_t stripe = StripeOf(row);
    held_[stripe / 64] |= uint64_t{1} << (stripe % 64);
  }
  // The stripes are locked in ascending order, the same in all threads, so that none deadlock.
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
