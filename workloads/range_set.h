// A RangeSet is a set of numbers, stored as sorted ranges in blocks.
//
//   RangeSet set;
//   set.Add(0, 100);
//   set.Remove(50);
//   set.At(50);                       // 51
//   set.CountFrom(90);                // 10
//
// A block has up to 128 ranges that follow each other, and a Fenwick tree has the sums of the
// blocks' counts (Fenwick, "A new data structure for cumulative frequency tables", 1994). So a
// search visits a logarithm of the number of blocks, and one block. A change updates as many sums;
// only one that splits a block, or leaves it empty, computes all of them anew. Not thread-safe;
// several threads may call const methods at the same time.
#ifndef TESTBED_WORKLOADS_RANGE_SET_H_
#define TESTBED_WORKLOADS_RANGE_SET_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace testbed {

class RangeSet {
 public:
  struct Range {
    uint64_t begin, end;
    friend bool operator==(const Range&, const Range&) = default;
  };
  // Adds the numbers of a range that are not in the set yet.
  void Add(uint64_t begin, uint64_t end);
  void Add(uint64_t n) { Add(n, n + 1); }
  // Removes n, if it is in the set.
  void Remove(uint64_t n);
  bool Contains(uint64_t n) const;
  bool empty() const { return blocks_.empty(); }
  uint64_t count() const { return count_; }
  // Return the least and the greatest number. Require !empty().
  uint64_t first() const { return blocks_.front().ranges.front().begin; }
  uint64_t last() const { return blocks_.back().ranges.back().end - 1; }
  // Returns how many numbers of the set are `n` or greater.
  uint64_t CountFrom(uint64_t n) const;
  // Returns the k-th number of the set in ascending order, counted from 0. Requires k < count().
  // Adds the number of sums and ranges that it visits to `steps`, unless that is null.
  uint64_t At(uint64_t k, size_t* steps = nullptr) const;
  // Returns a copy of the ranges, in ascending order. No two of them are adjacent.
  std::vector<Range> Ranges() const;

 private:
  static constexpr size_t kMostInBlock = 128;  // ranges of a block
  struct Block {
    std::vector<Range> ranges;  // in ascending order, at least one; no two are adjacent
    uint64_t count = 0;         // numbers in the ranges
  };
  // The place of a range; block == blocks_.size() is the place behind the last one.
  struct Spot {
    size_t block, index;
  };
  bool IsEnd(Spot spot) const { return spot.block == blocks_.size(); }
  const Range& RangeAt(Spot spot) const { return blocks_[spot.block].ranges[spot.index]; }
  Spot FindEndAfter(uint64_t n) const;
  Spot Next(Spot spot) const;
  void Set(Spot spot, Range range);
  void Insert(Spot spot, Range range);
  void Erase(Spot spot);
  void Append(Range range);
  void Split(size_t block);
  void ChangeCount(size_t block, uint64_t more, uint64_t less);
  uint64_t SumBefore(size_t block) const;
  void ComputeSums();

  std::vector<Block> blocks_;   // in ascending order; no two ranges are adjacent
  std::vector<uint64_t> sums_;  // sums_[b] is the sum of the counts of blocks b & (b + 1) to b
  uint64_t count_ = 0;          // numbers in the set
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_RANGE_SET_H_
