// This file has Node's changes: entries that come and go, splits, and pages that are rebuilt.
#include <algorithm>
#include <cstring>
#include <memory>

#include "device/os/thread.h"
#include "engines/btree/page/node.h"

namespace testbed::btree {
namespace {

// Returns a buffer in which a page is rebuilt. Each thread has one, which is made at its first use.
char* RebuildBuffer() {
  return OfThread([] { return std::make_unique_for_overwrite<char[]>(kMaxPageSize); });
}

}  // namespace

void Node::PrepareThread() { RebuildBuffer(); }

uint16_t Node::AddBytes(std::string_view bytes) {
  if (bytes.empty()) return 0;
  NodeHeader* h = header();
  h->heap -= static_cast<uint32_t>(bytes.size());
  std::memcpy(p_ + h->heap, bytes.data(), bytes.size());
  return static_cast<uint16_t>(h->heap);
}

void Node::Init(PageId id, uint32_t table, PageType type, uint8_t level, std::string_view low,
                std::string_view high, bool unbounded) {
  // `low` and `high` may point into this very page, so they are copied first.
  char fences[2 * kMaxPageSize / 8];
  if (!low.empty()) std::memcpy(fences, low.data(), low.size());
  if (!high.empty()) std::memcpy(fences + low.size(), high.data(), high.size());
  low = {fences, low.size()};
  high = {fences + low.size(), unbounded ? 0 : high.size()};
  std::memset(p_, 0, size_);
  NodeHeader* h = header();
  h->id = id;
  h->table = table;
  h->type = type;
  h->level = level;
  h->heap = size_;
  h->unbounded = unbounded;
  h->low_size = static_cast<uint16_t>(low.size());
  h->low_at = AddBytes(low);
  h->high_size = static_cast<uint16_t>(high.size());
  h->high_at = AddBytes(high);
  h->prefix = unbounded ? 0 : static_cast<uint16_t>(CommonPrefix(low, high));
}

bool Node::MakeRoom(size_t bytes) {
  if (FreeBytes() < bytes) return false;
  if (ContiguousBytes() < bytes) Compact();
  return true;
}

// Makes a slot at `at` and a cell with the suffix. Returns where the payload goes.
char* Node::NewCell(uint32_t at, std::string_view suffix, size_t payload) {
  NodeHeader* h = header();
  Slot* s = slots();
  std::memmove(s + at + 1, s + at, (h->count - at) * kSlotSize);
  ++h->count;
  h->heap -= static_cast<uint32_t>(suffix.size() + payload);
  s[at] = {static_cast<uint16_t>(h->heap), static_cast<uint16_t>(suffix.size()), KeyHead(suffix)};
  if (!suffix.empty()) std::memcpy(p_ + h->heap, suffix.data(), suffix.size());
  return p_ + h->heap + suffix.size();
}

// Returns whether an insert at `at` would come right after the last insert, whose cell is the
// lowest.
bool Node::ContinuesRun(uint32_t at) const {
  return count() == 0 || (at > 0 && slots()[at - 1].at == header()->heap);
}

void Node::NoteInsert(bool continues) {
  NodeHeader* h = header();
  if (!continues) {
    h->run = 0;
  } else if (h->run < 255) {
    ++h->run;
  }
}

bool Node::InsertLeaf(uint32_t at, std::string_view key, LeafValue value) {
  const std::string_view suffix = SuffixOf(key);
  const size_t payload = 2 + value.bytes.size();
  if (!MakeRoom(suffix.size() + payload + kSlotSize)) return false;
  const bool continues = ContinuesRun(at);
  char* to = NewCell(at, suffix, payload);
  const auto size = static_cast<uint16_t>(value.bytes.size() | (value.overflow ? kOverflowBit : 0));
  std::memcpy(to, &size, 2);
  if (!value.bytes.empty()) std::memcpy(to + 2, value.bytes.data(), value.bytes.size());
  NoteInsert(continues);
  return true;
}

bool Node::UpdateLeaf(uint32_t at, LeafValue value) {
  Slot& s = slots()[at];
  char* cell = p_ + s.at;
  const LeafValue old = Value(at);
  const auto size = static_cast<uint16_t>(value.bytes.size() | (value.overflow ? kOverflowBit : 0));
  if (value.bytes.size() <= old.bytes.size()) {
    header()->garbage += static_cast<uint32_t>(old.bytes.size() - value.bytes.size());
    std::memcpy(cell + s.size, &size, 2);
    if (!value.bytes.empty()) {
      std::memcpy(cell + s.size + 2, value.bytes.data(), value.bytes.size());
    }
    return true;
  }
  const size_t grown = s.size + 2u + value.bytes.size();
  const size_t before = s.size + 2u + old.bytes.size();
  if (FreeBytes() + before < grown) return false;
  // Making room moves the suffix, so the suffix is copied first.
  char suffix[kMaxPageSize / 8];
  const size_t suffix_size = s.size;
  std::memcpy(suffix, cell, suffix_size);
  const uint8_t run = header()->run;
  Remove(at);
  MakeRoom(grown + kSlotSize);
  char* to = NewCell(at, {suffix, suffix_size}, 2 + value.bytes.size());
  std::memcpy(to, &size, 2);
  std::memcpy(to + 2, value.bytes.data(), value.bytes.size());
  header()->run = run;
  return true;
}

bool Node::InsertInner(uint32_t at, std::string_view key, PageId child) {
  const std::string_view suffix = SuffixOf(key);
  if (!MakeRoom(suffix.size() + sizeof child + kSlotSize)) return false;
  const bool continues = ContinuesRun(at);
  std::memcpy(NewCell(at, suffix, sizeof child), &child, sizeof child);
  NoteInsert(continues);
  return true;
}

void Node::Remove(uint32_t at) {
  NodeHeader* h = header();
  h->garbage += static_cast<uint32_t>(CellSize(at));
  Slot* s = slots();
  std::memmove(s + at, s + at + 1, (h->count - at - 1u) * kSlotSize);
  --h->count;
  h->run = 0;
}

void Node::Compact() {
  char* copy = RebuildBuffer();
  std::memcpy(copy, p_, size_);
  const Node old(copy, size_);
  const NodeHeader* o = old.header();
  NodeHeader* h = header();
  h->heap = size_;
  h->garbage = 0;
  h->low_at = AddBytes(old.LowFence());
  h->high_at = AddBytes(old.HighFence());
  for (uint32_t i = 0; i < o->count; ++i) {
    slots()[i].at = AddBytes({copy + old.slots()[i].at, old.CellSize(i)});
  }
}

void Node::CopyFrom(const Node& source, uint32_t from, uint32_t to) {
  const size_t theirs = source.header()->prefix;
  const size_t ours = header()->prefix;
  for (uint32_t i = from; i < to; ++i) {
    const Slot& s = source.slots()[i];
    const size_t payload = source.CellSize(i) - s.size;
    const char* cell = source.p_ + s.at;
    char* put;
    if (ours >= theirs) {
      // The key of an inner node's entry 0 may be shorter than the prefix.
      const size_t cut = std::min<size_t>(ours - theirs, s.size);
      put = NewCell(count(), {cell + cut, s.size - cut}, payload);
    } else {
      char key[kMaxPageSize / 8];
      const size_t more = theirs - ours;
      std::memcpy(key, source.p_ + source.header()->low_at + ours, more);
      std::memcpy(key + more, cell, s.size);
      put = NewCell(count(), {key, more + s.size}, payload);
    }
    std::memcpy(put, cell + s.size, payload);
  }
}

size_t Node::SizeWithPrefix(const Node& source, size_t prefix) {
  const size_t theirs = source.header()->prefix;
  size_t size = 0;
  for (uint32_t i = 0; i < source.count(); ++i) {
    const size_t key = theirs + source.slots()[i].size;
    size +=
        source.CellSize(i) - source.slots()[i].size + (key > prefix ? key - prefix : 0) + kSlotSize;
  }
  return size;
}

Node::SplitPoint Node::FindSplit(std::string_view new_key) const {
  const uint32_t n = count();
  SplitPoint split;
  if (header()->run >= kRun) {
    if (!leaf() && ContinuesRun(n)) return {n - 1, true, Key(n - 1)};
    bool found;
    const uint32_t at = leaf() ? LowerBound(new_key, &found) : 0;
    // The entries behind the run go right, and the run goes on before them.
    if (at >= n / 2 && ContinuesRun(at)) {
      split = {at, true, ShortestSeparator(Key(at - 1), new_key)};
      if (FenceRoom(split.separator.size()) <= FreeBytes() + FenceRoom(header()->high_size)) {
        return split;
      }
    }
  }
  split.in_run = false;
  size_t total = 0;
  for (uint32_t i = 0; i < n; ++i) total += CellSize(i) + kSlotSize;
  uint32_t middle = 0;
  for (size_t left = 0; middle < n - 1 && left < total / 2; ++middle) {
    left += CellSize(middle) + kSlotSize;
  }
  middle = std::clamp<uint32_t>(middle, 1, n - 1);
  split.at = middle;
  if (!leaf()) {
    split.separator = Key(middle);
    return split;
  }
  // Any place near the middle will do, so this takes the one with the shortest separator.
  split.separator = ShortestSeparator(Key(middle - 1), Key(middle));
  const uint32_t reach = n / 16;
  for (uint32_t i = middle - std::min(reach, middle - 1); i <= std::min(middle + reach, n - 1);
       ++i) {
    const size_t size = CommonPrefix(Suffix(i - 1), Suffix(i)) + 1 + header()->prefix;
    if (size < split.separator.size()) {
      split.at = i;
      split.separator = ShortestSeparator(Key(i - 1), Key(i));
    }
  }
  return split;
}

bool Node::TruncateAt(std::string_view separator) {
  bool found;
  const uint32_t at = LowerBound(separator, &found);
  // The new prefix is at least as long as the old one, so suffixes only get shorter.
  size_t room = LowFence().size() + separator.size();
  for (uint32_t i = 0; i < at; ++i) room += CellSize(i) + kSlotSize;
  if (room > Capacity() || separator.size() > MaxKeySize(size_) || separator <= LowFence() ||
      !separator.starts_with(Prefix()) || (at == 0 && !leaf())) {
    return false;
  }
  char* copy = RebuildBuffer();
  std::memcpy(copy, p_, size_);
  const Node old(copy, size_);
  const NodeHeader* o = old.header();
  Init(o->id, o->table, o->type, o->level, old.LowFence(), separator, false);
  header()->lsn = o->lsn;
  CopyFrom(old, 0, at);
  return true;
}

}  // namespace testbed::btree
