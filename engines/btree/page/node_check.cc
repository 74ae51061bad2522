// This file has Node::FindFault, which checks whether a page with any bytes is a well-formed node.
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "engines/btree/page/node.h"

namespace testbed::btree {
namespace {

NodeFault Fault(const char* what, size_t at, std::string expected = {}, std::string found = {}) {
  return {what, static_cast<uint32_t>(at), std::move(expected), std::move(found)};
}

NodeFault Fault(const char* what, size_t at, uint64_t expected, uint64_t found) {
  return Fault(what, at, std::to_string(expected), std::to_string(found));
}

}  // namespace

std::optional<NodeFault> Node::FindHeaderFault() const {
  const NodeHeader* h = header();
  if (h->type != PageType::kLeaf && h->type != PageType::kInner) {
    return Fault("its type is no node's", offsetof(NodeHeader, type), "1 or 2",
                 std::to_string(static_cast<int>(h->type)));
  }
  if (leaf() != (h->level == 0)) {
    return Fault("its level does not fit its type", offsetof(NodeHeader, level),
                 leaf() ? "0" : "at least 1", std::to_string(h->level));
  }
  const size_t slots_end = sizeof(NodeHeader) + kSlotSize * h->count;
  if (h->heap > size_ || slots_end > h->heap) {
    return Fault("its slots overlap its cells", offsetof(NodeHeader, heap),
                 std::to_string(slots_end) + " to " + std::to_string(size_),
                 std::to_string(h->heap));
  }
  if (!leaf() && h->count == 0) {
    return Fault("an inner node has no children", offsetof(NodeHeader, count));
  }
  return std::nullopt;
}

std::optional<NodeFault> Node::FindFenceFault() const {
  const NodeHeader* h = header();
  if (!Inside(h->low_at, h->low_size) || !Inside(h->high_at, h->high_size)) {
    const bool low = !Inside(h->low_at, h->low_size);
    return Fault("a fence lies outside the page",
                 low ? offsetof(NodeHeader, low_at) : offsetof(NodeHeader, high_at));
  }
  const size_t longest = MaxKeySize(size_);
  if (h->low_size > longest || h->high_size > longest) {
    const bool low = h->low_size > longest;
    return Fault("a fence is longer than a key can be",
                 low ? offsetof(NodeHeader, low_size) : offsetof(NodeHeader, high_size), longest,
                 low ? h->low_size : h->high_size);
  }
  if (h->unbounded > 1 || (h->unbounded == 1 && h->high_size > 0)) {
    return Fault("it has a high fence and says that it has none", offsetof(NodeHeader, unbounded));
  }
  if (!unbounded() && LowFence() >= HighFence()) {
    return Fault("its fences are out of order", offsetof(NodeHeader, low_at));
  }
  const size_t prefix = unbounded() ? 0 : CommonPrefix(LowFence(), HighFence());
  if (h->prefix != prefix) {
    return Fault("its prefix is not what its fences have in common", offsetof(NodeHeader, prefix),
                 prefix, h->prefix);
  }
  return std::nullopt;
}

std::optional<NodeFault> Node::FindCellFault() const {
  const NodeHeader* h = header();
  const size_t payload = leaf() ? 2 : sizeof(PageId);
  size_t used = h->low_size + h->high_size;
  for (uint32_t i = 0; i < h->count; ++i) {
    const Slot& s = slots()[i];
    if (s.at < h->heap || !Inside(s.at, s.size + payload)) {
      return Fault("a cell lies outside the page", SlotAt(i));
    }
    if (s.at + CellSize(i) > size_) return Fault("a value reaches outside the page", s.at + s.size);
    if (h->prefix + s.size > MaxKeySize(size_)) {
      return Fault("a key is longer than a key can be", SlotAt(i), MaxKeySize(size_),
                   h->prefix + s.size);
    }
    if (leaf() && Value(i).overflow && Value(i).bytes.size() != kOverflowRefSize) {
      return Fault("an overflow reference has the wrong size", s.at + s.size, kOverflowRefSize,
                   Value(i).bytes.size());
    }
    used += CellSize(i);
  }
  if (static_cast<uint64_t>(h->heap) + h->garbage + used != size_) {
    return Fault("its free space is miscounted", offsetof(NodeHeader, garbage),
                 size_ - std::min<size_t>(size_, h->heap + used), h->garbage);
  }
  return std::nullopt;
}

// Finds cells and fences that overlap: a change of one would also change the other.
std::optional<NodeFault> Node::FindOverlapFault() const {
  const NodeHeader* h = header();
  std::vector<std::pair<size_t, size_t>> taken;  // [from, to) of each cell and fence
  taken.reserve(h->count + 2u);
  if (h->low_size > 0) taken.emplace_back(h->low_at, h->low_at + h->low_size);
  if (h->high_size > 0) taken.emplace_back(h->high_at, h->high_at + h->high_size);
  for (uint32_t i = 0; i < h->count; ++i) taken.emplace_back(CellAt(i), CellAt(i) + CellSize(i));
  std::sort(taken.begin(), taken.end());
  size_t end = h->heap;
  for (const auto& [from, to] : taken) {
    if (from < end) return Fault("two of its cells or fences overlap", static_cast<uint32_t>(from));
    end = to;
  }
  return std::nullopt;
}

std::optional<NodeFault> Node::FindOrderFault() const {
  for (uint32_t i = 0; i < count(); ++i) {
    if (slots()[i].head != KeyHead(Suffix(i))) {
      return Fault("a key head differs from its key", SlotAt(i) + 4, KeyHead(Suffix(i)),
                   slots()[i].head);
    }
    if (i > 0 && Suffix(i - 1) >= Suffix(i)) return Fault("its keys are out of order", SlotAt(i));
  }
  if (count() == 0) return std::nullopt;
  // The key of an inner node's first entry counts as the low fence.
  if (leaf() ? Key(0) < LowFence() : count() > 1 && Key(1) <= LowFence()) {
    return Fault("a key lies below the low fence", SlotAt(leaf() ? 0 : 1));
  }
  if (!unbounded() && Key(count() - 1) >= HighFence()) {
    return Fault("a key lies above the high fence", SlotAt(count() - 1));
  }
  return std::nullopt;
}

std::optional<NodeFault> Node::FindFault() const {
  if (auto fault = FindHeaderFault()) return fault;
  if (auto fault = FindFenceFault()) return fault;
  if (auto fault = FindCellFault()) return fault;
  if (auto fault = FindOverlapFault()) return fault;
  return FindOrderFault();
}

std::string Node::Validate() const {
  const std::optional<NodeFault> fault = FindFault();
  return fault ? fault->what : std::string();
}

}  // namespace testbed::btree
