#include "workloads/range_set.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace testbed {

// Returns the spot of the first range whose end is greater than n.
RangeSet::Spot RangeSet::FindEndAfter(uint64_t n) const {
  const auto block =
      std::lower_bound(blocks_.begin(), blocks_.end(), n,
                       [](const Block& b, uint64_t x) { return b.ranges.back().end <= x; });
  if (block == blocks_.end()) return {blocks_.size(), 0};
  const auto range = std::lower_bound(block->ranges.begin(), block->ranges.end(), n,
                                      [](const Range& r, uint64_t x) { return r.end <= x; });
  return {static_cast<size_t>(block - blocks_.begin()),
          static_cast<size_t>(range - block->ranges.begin())};
}

// Returns the spot behind a spot that is not the end.
RangeSet::Spot RangeSet::Next(Spot spot) const {
  if (spot.index + 1 < blocks_[spot.block].ranges.size()) return {spot.block, spot.index + 1};
  return {spot.block + 1, 0};
}

void RangeSet::ChangeCount(size_t block, uint64_t more, uint64_t less) {
  // The numbers are unsigned, so a difference below 0 wraps around, and so do the sums with it.
  const uint64_t change = more - less;
  count_ += change;
  blocks_[block].count += change;
  for (size_t b = block; b < sums_.size(); b |= b + 1) sums_[b] += change;
}

// Returns how many numbers the blocks before this one have.
uint64_t RangeSet::SumBefore(size_t block) const {
  uint64_t sum = 0;
  for (size_t b = block; b > 0; b &= b - 1) sum += sums_[b - 1];
  return sum;
}

void RangeSet::ComputeSums() {
  sums_.resize(blocks_.size());
  for (size_t b = 0; b < sums_.size(); ++b) sums_[b] = blocks_[b].count;
  for (size_t b = 0; b < sums_.size(); ++b) {
    if (const size_t above = b | (b + 1); above < sums_.size()) sums_[above] += sums_[b];
  }
}

// Replaces the range at a spot.
void RangeSet::Set(Spot spot, Range range) {
  Range& at = blocks_[spot.block].ranges[spot.index];
  const Range old = std::exchange(at, range);
  ChangeCount(spot.block, range.end - range.begin, old.end - old.begin);
}

// Inserts a range before that of a spot.
void RangeSet::Insert(Spot spot, Range range) {
  if (IsEnd(spot)) return Append(range);
  if (blocks_[spot.block].ranges.size() == kMostInBlock) {
    Split(spot.block);
    const size_t half = blocks_[spot.block].ranges.size();
    if (spot.index > half) spot = {spot.block + 1, spot.index - half};
  }
  std::vector<Range>& ranges = blocks_[spot.block].ranges;
  ranges.insert(ranges.begin() + static_cast<std::ptrdiff_t>(spot.index), range);
  ChangeCount(spot.block, range.end - range.begin, 0);
}

// Inserts a range behind all others. Full blocks stay full, and no other sum changes.
void RangeSet::Append(Range range) {
  if (blocks_.empty() || blocks_.back().ranges.size() == kMostInBlock) {
    const size_t block = blocks_.size();
    blocks_.emplace_back();
    sums_.push_back(SumBefore(block) - SumBefore(block & (block + 1)));
  }
  blocks_.back().ranges.push_back(range);
  ChangeCount(blocks_.size() - 1, range.end - range.begin, 0);
}

// Moves the second half of a block's ranges to a block of their own.
void RangeSet::Split(size_t block) {
  Block behind;
  std::vector<Range>& ranges = blocks_[block].ranges;
  const auto middle = ranges.begin() + static_cast<std::ptrdiff_t>(ranges.size() / 2);
  behind.ranges.assign(middle, ranges.end());
  ranges.erase(middle, ranges.end());
  for (const Range& range : behind.ranges) behind.count += range.end - range.begin;
  blocks_[block].count -= behind.count;
  blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(block) + 1, std::move(behind));
  ComputeSums();
}

void RangeSet::Erase(Spot spot) {
  std::vector<Range>& ranges = blocks_[spot.block].ranges;
  const Range range = ranges[spot.index];
  ranges.erase(ranges.begin() + static_cast<std::ptrdiff_t>(spot.index));
  ChangeCount(spot.block, 0, range.end - range.begin);
  if (!ranges.empty()) return;
  blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(spot.block));
  ComputeSums();
}

void RangeSet::Add(uint64_t begin, uint64_t end) {
  if (begin >= end) return;
  const Spot at = FindEndAfter(begin == 0 ? 0 : begin - 1);
  if (IsEnd(at) || RangeAt(at).begin > end) return Insert(at, {begin, end});
  // The range at this spot overlaps the new range or is adjacent to it. The ranges behind it may
  // overlap it, too.
  Range all = {std::min(begin, RangeAt(at).begin), std::max(end, RangeAt(at).end)};
  for (Spot next = Next(at); !IsEnd(next) && RangeAt(next).begin <= all.end; next = Next(at)) {
    all.end = std::max(all.end, RangeAt(next).end);
    Erase(next);
  }
  Set(at, all);
}

void RangeSet::Remove(uint64_t n) {
  const Spot at = FindEndAfter(n);
  if (IsEnd(at) || RangeAt(at).begin > n) return;
  const Range range = RangeAt(at);
  const Range before{range.begin, n}, behind{n + 1, range.end};
  if (before.begin == before.end && behind.begin == behind.end) return Erase(at);
  Set(at, before.begin == before.end ? behind : before);
  if (before.begin != before.end && behind.begin != behind.end) Insert(Next(at), behind);
}

bool RangeSet::Contains(uint64_t n) const {
  const Spot at = FindEndAfter(n);
  return !IsEnd(at) && RangeAt(at).begin <= n;
}

uint64_t RangeSet::At(uint64_t k, size_t* steps) const {
  // The descent of the Fenwick tree: `block` is the number of blocks that lie before the number.
  size_t block = 0, index = 0, looks = 0;
  for (size_t wide = std::bit_floor(sums_.size()); wide != 0; wide /= 2) {
    ++looks;
    if (block + wide > sums_.size() || sums_[block + wide - 1] > k) continue;
    block += wide;
    k -= sums_[block - 1];
  }
  const std::vector<Range>& ranges = blocks_[block].ranges;
  for (; k >= ranges[index].end - ranges[index].begin; ++index) {
    k -= ranges[index].end - ranges[index].begin;
  }
  if (steps != nullptr) *steps += looks + index + 1;
  return ranges[index].begin + k;
}

uint64_t RangeSet::CountFrom(uint64_t n) const {
  const Spot from = FindEndAfter(n);
  if (IsEnd(from)) return 0;
  uint64_t before = SumBefore(from.block);
  const std::vector<Range>& ranges = blocks_[from.block].ranges;
  for (size_t i = 0; i < from.index; ++i) before += ranges[i].end - ranges[i].begin;
  before += std::max(ranges[from.index].begin, n) - ranges[from.index].begin;
  return count_ - before;
}

std::vector<RangeSet::Range> RangeSet::Ranges() const {
  std::vector<Range> all;
  for (const Block& block : blocks_) {
    all.insert(all.end(), block.ranges.begin(), block.ranges.end());
  }
  return all;
}

}  // namespace testbed
