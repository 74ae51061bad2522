#include "engines/btree/page/node.h"

#include <algorithm>

namespace testbed::btree {
namespace {

uint16_t LoadU16(const char* at) {
  uint16_t v;
  std::memcpy(&v, at, 2);
  return v;
}

}  // namespace

size_t CommonPrefix(std::string_view a, std::string_view b) {
  const size_t n = std::min(a.size(), b.size());
  size_t i = 0;
  while (i < n && a[i] == b[i]) ++i;
  return i;
}

std::string ShortestSeparator(std::string_view a, std::string_view b) {
  return std::string(b.substr(0, CommonPrefix(a, b) + 1));
}

std::string_view Node::Suffix(uint32_t i) const {
  const Slot s = slots()[i];
  return Bytes(s.at, s.size);
}

void Node::CopyKey(uint32_t i, std::string* key) const {
  key->assign(Prefix());
  key->append(Suffix(i));
}

std::string Node::Key(uint32_t i) const {
  std::string key;
  CopyKey(i, &key);
  return key;
}

LeafValue Node::Value(uint32_t i) const {
  const Slot s = slots()[i];
  const size_t at = std::min<size_t>(static_cast<size_t>(s.at) + s.size, size_ - 2);
  const uint16_t size = LoadU16(p_ + at);
  return {Bytes(at + 2, size & ~kOverflowBit), (size & kOverflowBit) != 0};
}

OverflowRef Node::Overflow(uint32_t i) const {
  const LeafValue value = Value(i);
  OverflowRef ref;
  std::memcpy(&ref, value.bytes.data(), kOverflowRefSize);
  return ref;
}

std::string Node::EncodeOverflow(const OverflowRef& ref) {
  static_assert(sizeof(OverflowRef) == kOverflowRefSize);
  return std::string(reinterpret_cast<const char*>(&ref), kOverflowRefSize);
}

PageId Node::Child(uint32_t i) const {
  PageId child;
  const Slot s = slots()[i];
  const size_t at = static_cast<size_t>(s.at) + s.size;
  std::memcpy(&child, p_ + std::min<size_t>(at, size_ - sizeof child), sizeof child);
  return std::min(child, kMaxPages - 1);
}

uint32_t Node::LowerBound(std::string_view key, bool* found) const {
  const std::string_view prefix = Prefix();
  const int order = key.substr(0, prefix.size()).compare(prefix);
  if (order == 0) return Search(key.substr(prefix.size()), found);
  *found = false;
  return order < 0 ? 0 : count();
}

uint32_t Node::LowerBoundInside(std::string_view key, bool* found) const {
  return Search(key.substr(std::min<size_t>(header()->prefix, key.size())), found);
}

uint32_t Node::PlaceOf(std::string_view key, bool* found) const {
  const uint32_t n = count();
  // An optimistic read may ask a page that does not cover the key. Then the key may be shorter than
  // the prefix.
  const std::string_view suffix = key.substr(std::min<size_t>(header()->prefix, key.size()));
  if (header()->run > 0 && n > 0 && Suffix(n - 1) < suffix) {
    *found = false;
    return n;
  }
  return LowerBoundInside(key, found);
}

void Node::PrefetchRow(std::string_view key) const {
  constexpr size_t kLine = 64, kLines = 8;  // a walk through a longer row fetches the rest
  const std::string_view suffix = key.substr(std::min<size_t>(header()->prefix, key.size()));
  const uint32_t i = FirstOfHead(KeyHead(suffix));
  if (i >= count()) return;
  const size_t cell = slots()[i].at;
  for (size_t at = cell; at < std::min<size_t>(cell + kLines * kLine, size_); at += kLine) {
    __builtin_prefetch(p_ + at);
  }
}

uint32_t Node::Search(std::string_view suffix, bool* found) const {
  *found = false;
  const uint32_t head = KeyHead(suffix);
  const Slot* slot = slots();
  uint32_t low = FirstOfHead(head);
  // The entries whose heads equal the key's head begin at `low`. This loop finds where they end.
  uint32_t high = low;
  const uint32_t end = count();
  for (uint32_t step = 1; high < end && slot[high].head == head; step *= 2) {
    high = std::min(high + step, end);
  }
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    const Slot s = slot[middle];
    const int compared = s.head != head ? 1 : Bytes(s.at, s.size).compare(suffix);
    if (compared == 0) {
      *found = true;
      return middle;
    }
    if (compared < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

uint32_t Node::ChildIndex(std::string_view key) const {
  bool found;
  const uint32_t i = LowerBoundInside(key, &found);
  if (found) return i;
  return i == 0 ? 0 : i - 1;
}

uint32_t Node::ChildIndexBelow(std::string_view key) const {
  bool found;
  const uint32_t i = LowerBound(key, &found);
  return i == 0 ? 0 : i - 1;
}

size_t Node::InnerEntrySize(size_t key_size) const {
  const size_t prefix = header()->prefix;
  return (key_size > prefix ? key_size - prefix : 0) + sizeof(PageId) + kSlotSize;
}

size_t Node::ContiguousBytes() const {
  return header()->heap - sizeof(NodeHeader) - kSlotSize * count();
}

size_t Node::FreeBytes() const {
  const size_t free = ContiguousBytes() + header()->garbage;
  const size_t kept = FenceRoom(header()->high_size) - header()->high_size;
  return free > kept ? free - kept : 0;
}

size_t Node::CellSize(uint32_t i) const {
  const Slot& s = slots()[i];
  if (!leaf()) return s.size + sizeof(PageId);
  return s.size + 2u + (LoadU16(p_ + s.at + s.size) & ~kOverflowBit);
}

}  // namespace testbed::btree
