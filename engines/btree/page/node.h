// A Node is a b-tree node, leaf or inner: a slotted page with prefix truncation.
//
//   byte 0    header (NodeHeader, 48 bytes)
//        48   slots, sorted by key: 8 bytes each, growing up
//        ...  free
//        heap cells in no order, growing down to the end of the page: keys, values, fences
//
// A node holds the keys k with low fence <= k < high fence; no fence means no bound. What the two
// fences have in common at their beginning, all keys between them have too: the node stores it once
// (in the low fence) and each cell only the rest of its key, the suffix. A slot holds the first
// four bytes of the suffix as a big-endian number, so that a search rarely touches a cell.
//
//   leaf cell   suffix, u16 value length (bit 15: overflow), value or OverflowRef
//   inner cell  suffix, u32 child
//
// An inner node's entry i leads to the child for keys from key i up to key i+1. The key of entry 0
// counts as the low fence, whatever it is.
//
// Node is a view: it owns nothing and does no latching. A page may change while its readers look at
// it (optimistic reads, pool.h): what they are told then is nonsense, but functions that change
// nothing stay inside the page and come to an end, whatever it holds. Functions that change the
// page keep it well-formed at every step. Sources: slotted pages as in Gray and Reuter,
// "Transaction Processing" (1993), ch. 14; prefix truncation and fences: Bayer and Unterauer,
// "Prefix B-trees", TODS 2(1), 1977, Graefe, "Modern B-tree techniques", 2011, sec. 3.5; key heads:
// Graefe and Larson, "B-tree indexes and CPU caches", ICDE 2001.
#ifndef TESTBED_ENGINES_BTREE_PAGE_NODE_H_
#define TESTBED_ENGINES_BTREE_PAGE_NODE_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "engines/btree/page/page.h"

namespace testbed::btree {

// Returns whether n bytes are equal. It calls memcmp only for more than 16 bytes: keys are short,
// and the call costs more than the comparison.
inline bool SameBytes(const char* a, const char* b, size_t n) {
  const auto same = [&](auto word, size_t at) {
    auto other = word;
    std::memcpy(&word, a + at, sizeof word);
    std::memcpy(&other, b + at, sizeof other);
    return word == other;
  };
  if (n > 16) return std::memcmp(a, b, n) == 0;
  if (n >= 8) return same(uint64_t{}, 0) && same(uint64_t{}, n - 8);
  if (n >= 4) return same(uint32_t{}, 0) && same(uint32_t{}, n - 4);
  for (size_t i = 0; i < n; ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

struct NodeHeader {
  uint64_t checksum;
  Lsn lsn;
  PageId id;
  uint32_t table;
  PageType type;
  uint8_t level;
  uint16_t count;      // number of entries
  uint32_t heap;       // lowest byte that a cell uses
  uint32_t garbage;    // bytes of the heap that no cell uses
  uint16_t prefix;     // length of the prefix that all keys have in common
  uint16_t low_at;     // offset of the low fence, a whole key
  uint16_t low_size;   // length of the low fence
  uint16_t high_at;    // offset of the high fence, a whole key
  uint16_t high_size;  // length of the high fence; 0 when unbounded
  uint8_t unbounded;   // 1 = no high fence
  uint8_t run;         // inserts that each came right after the one before; a hint for the split
};
static_assert(sizeof(NodeHeader) == 48);

// An OverflowRef says where a long value lies: in a run of consecutive pages.
struct OverflowRef {
  PageId first = kNoPage;
  uint32_t pages = 0;
  uint64_t size = 0;
};
inline constexpr size_t kOverflowRefSize = 16;

// A NodeFault says what is wrong with a node, and where.
struct NodeFault {
  std::string what;
  uint32_t at = 0;              // byte of the page
  std::string expected, found;  // may be empty
};

// A LeafValue is a row's value as a leaf stores it: its bytes, or an encoded OverflowRef.
struct LeafValue {
  std::string_view bytes;
  bool overflow = false;
};

class Node {
 public:
  // The second constructor makes a read-only view of a const page. Functions that are marked
  // "Changes" must not be called on it.
  Node(char* page, uint32_t page_size) : p_(page), size_(page_size) {}
  Node(const char* page, uint32_t page_size) : p_(const_cast<char*>(page)), size_(page_size) {}

  NodeHeader* header() { return reinterpret_cast<NodeHeader*>(p_); }
  const NodeHeader* header() const { return reinterpret_cast<const NodeHeader*>(p_); }
  bool leaf() const { return header()->type == PageType::kLeaf; }
  uint32_t count() const {
    return std::min<uint32_t>(header()->count, (size_ - sizeof(NodeHeader)) / kSlotSize);
  }

  std::string_view LowFence() const { return Bytes(header()->low_at, header()->low_size); }
  std::string_view HighFence() const { return Bytes(header()->high_at, header()->high_size); }
  bool unbounded() const { return header()->unbounded != 0; }
  std::string_view Prefix() const { return Bytes(header()->low_at, header()->prefix); }
  std::string_view Suffix(uint32_t i) const;
  void CopyKey(uint32_t i, std::string* key) const;
  std::string Key(uint32_t i) const;

  LeafValue Value(uint32_t i) const;
  OverflowRef Overflow(uint32_t i) const;  // for an entry whose value is in overflow pages
  static std::string EncodeOverflow(const OverflowRef& ref);
  PageId Child(uint32_t i) const;

  // Returns the first entry with a key >= `key`; *found says whether its key equals `key`.
  uint32_t LowerBound(std::string_view key, bool* found) const;
  // Returns what LowerBound returns, for a key that lies between the fences. Such a key has the
  // prefix, so the prefix is not compared.
  uint32_t LowerBoundInside(std::string_view key, bool* found) const;
  // Returns what LowerBoundInside returns, for a row that is to be written. If the last inserts
  // came in key order, PlaceOf compares the key with the last entry first.
  uint32_t PlaceOf(std::string_view key, bool* found) const;
  // Returns whether the key lies between the fences; `at` and `found` are what LowerBoundInside or
  // PlaceOf has returned for it. That search has not compared the prefix, so CoversAt does. If
  // there are entries on both sides of `at`, these lie between the fences, and so does the key.
  bool CoversAt(std::string_view key, uint32_t at, bool found) const {
    const std::string_view prefix = Prefix();
    return key.size() >= prefix.size() && SameBytes(key.data(), prefix.data(), prefix.size()) &&
           (found ||
            ((at > 0 || key >= LowFence()) && (at < count() || unbounded() || key < HighFence())));
  }
  // Returns whether the key lies between the fences.
  bool Covers(std::string_view key) const {
    return key >= LowFence() && (unbounded() || key < HighFence());
  }
  // Makes the processor fetch all cache lines that a search reads first, in parallel.
  static void PrefetchSearch(const char* page, uint32_t page_size);
  // For leaves: makes the processor fetch the first bytes of the row of the key, which must lie
  // between the fences. If later rows have the same head as the key, it may fetch one of these rows
  // instead.
  void PrefetchRow(std::string_view key) const;
  // For inner nodes: returns the entry whose child covers `key`, which must lie between the fences.
  uint32_t ChildIndex(std::string_view key) const;
  // For inner nodes: returns the entry whose child holds the greatest keys below `key`, which must
  // lie between the fences or be the high fence.
  uint32_t ChildIndexBelow(std::string_view key) const;

  // These functions return the bytes that an entry takes with its slot. `key_size` is the length of
  // the whole key, from which they take off the prefix.
  size_t LeafEntrySize(size_t key_size, size_t value_size) const {
    return key_size - header()->prefix + 2 + value_size + kSlotSize;
  }
  size_t InnerEntrySize(size_t key_size) const;
  size_t FreeBytes()
      const;  // bytes for entries after Compact, less those that a leaf reserves for a longer fence
  size_t UsedBytes() const { return Capacity() - FreeBytes(); }
  size_t Capacity() const { return size_ - sizeof(NodeHeader); }
  // Returns the bytes that a high fence of this size takes from the page.
  size_t FenceRoom(size_t fence) const {
    return leaf() ? std::max(fence, FenceSlack(size_)) : fence;
  }

  // Allocates what the thread's changes of nodes need, so that none of them fails for want of
  // memory. Throws std::bad_alloc.
  static void PrepareThread();
  // Changes: makes an empty node, and keeps nothing of the page.
  void Init(PageId id, uint32_t table, PageType type, uint8_t level, std::string_view low,
            std::string_view high, bool unbounded);
  // Changes: each returns false, with the page unchanged, when there is no room.
  bool InsertLeaf(uint32_t at, std::string_view key, LeafValue value);
  bool UpdateLeaf(uint32_t at, LeafValue value);
  bool InsertInner(uint32_t at, std::string_view key, PageId child);
  // Changes: Remove takes an entry out, and Compact makes all free bytes contiguous.
  void Remove(uint32_t at);
  void Compact();
  // Changes: appends entries [from, to) of a node of the same type. The caller makes sure that they
  // fit.
  void CopyFrom(const Node& source, uint32_t from, uint32_t to);
  // Returns the bytes that all entries of `source` would take in a node with a prefix of `prefix`
  // bytes.
  static size_t SizeWithPrefix(const Node& source, size_t prefix);

  // A SplitPoint says where a full node is to be split. Entries [0, at) stay, and the others go
  // right. `separator` is the shortest key between the two. A leaf that is filled in ascending
  // order is split behind the newest entry (`in_run`): it keeps everything below `new_key`, and the
  // new page will begin with that key. So loads in key order fill their pages, also when several
  // sessions load parts of the key range.
  struct SplitPoint {
    uint32_t at = 0;
    bool in_run = false;
    std::string separator;
  };
  SplitPoint FindSplit(std::string_view new_key) const;
  // Changes: removes all entries at or above `separator`, which becomes the high fence. A split
  // calls it, and so does the replay of its log record, on an older state of the page. Returns
  // false, with the page unchanged, when the separator cannot be the fence of the entries that
  // stay; no split logs such a separator.
  bool TruncateAt(std::string_view separator);

  // Returns what is wrong with the node's own structure, or nothing. Never reads outside the page,
  // whatever the page holds. No other function may be called on a page that has a fault.
  std::optional<NodeFault> FindFault() const;
  std::string Validate() const;  // the fault in words; empty: there is none
  // SlotAt and CellAt return the byte of the page where the entry's slot lies, and the one where
  // its cell lies.
  static uint32_t SlotAt(uint32_t i) {
    return static_cast<uint32_t>(sizeof(NodeHeader) + i * kSlotSize);
  }
  uint32_t CellAt(uint32_t i) const { return slots()[i].at; }

  static constexpr size_t kSlotSize = 8;
  static constexpr uint16_t kOverflowBit = 0x8000;
  // After this many inserts in ascending order a node is split behind the last of them.
  static constexpr uint8_t kRun = 8;

 private:
  struct Slot {
    uint16_t at;    // offset of the cell in the page
    uint16_t size;  // length of the suffix
    uint32_t head;
  };
  static_assert(sizeof(Slot) == kSlotSize);

  // Returns n bytes from `at` on, cut off at the end of the page.
  std::string_view Bytes(size_t at, size_t n) const {
    at = std::min<size_t>(at, size_);
    return {p_ + at, std::min(n, size_ - at)};
  }
  Slot* slots() { return reinterpret_cast<Slot*>(p_ + sizeof(NodeHeader)); }
  const Slot* slots() const { return reinterpret_cast<const Slot*>(p_ + sizeof(NodeHeader)); }
  uint32_t Search(std::string_view suffix, bool* found) const;
  // Returns the first entry with this head or a greater one.
  uint32_t FirstOfHead(uint32_t head) const;
  size_t ContiguousBytes() const;
  size_t CellSize(uint32_t i) const;
  char* NewCell(uint32_t at, std::string_view suffix, size_t payload);
  uint16_t AddBytes(std::string_view bytes);
  bool MakeRoom(size_t bytes);
  std::string_view SuffixOf(std::string_view key) const { return key.substr(header()->prefix); }
  bool ContinuesRun(uint32_t at) const;
  void NoteInsert(bool continues);
  // Returns whether the n bytes at `at` lie inside the page and behind the slots.
  bool Inside(size_t at, size_t n) const {
    return n == 0 || (at >= sizeof(NodeHeader) + kSlotSize * count() && at + n <= size_);
  }
  // Each of these functions relies on the checks of the functions before it.
  std::optional<NodeFault> FindHeaderFault() const;
  std::optional<NodeFault> FindFenceFault() const;
  std::optional<NodeFault> FindCellFault() const;
  std::optional<NodeFault> FindOverlapFault() const;
  std::optional<NodeFault> FindOrderFault() const;

  char* p_;
  uint32_t size_;
};

// Returns the first four bytes as a big-endian number, with zeros where the key ends. Heads that
// differ are ordered as their keys; equal heads decide nothing.
inline uint32_t KeyHead(std::string_view suffix) {
  if (suffix.size() >= 4) {
    uint32_t head;
    std::memcpy(&head, suffix.data(), 4);
    return __builtin_bswap32(head);
  }
  uint32_t head = 0;
  for (size_t i = 0; i < suffix.size(); ++i) {
    head |= static_cast<uint32_t>(static_cast<uint8_t>(suffix[i])) << (24 - 8 * i);
  }
  return head;
}

inline uint32_t Node::FirstOfHead(uint32_t head) const {
  const Slot* slot = slots();
  uint32_t low = 0, n = count();
  // Halves the range [low, low + n) without a branch that depends on the key.
  while (n > 1) {
    const uint32_t half = n / 2;
    low = slot[low + half - 1].head < head ? low + half : low;
    n -= half;
  }
  if (n == 1 && slot[low].head < head) ++low;
  return low;
}

inline void Node::PrefetchSearch(const char* page, uint32_t page_size) {
  for (size_t at = 0; at < 640; at += 64) __builtin_prefetch(page + at);
  // The fences lie at the end of the page (Init, Compact). The low one has the prefix, which
  // CoversAt reads.
  __builtin_prefetch(page + page_size - 64);
}

size_t CommonPrefix(std::string_view a, std::string_view b);
// Returns the shortest key s with a < s <= b.
std::string ShortestSeparator(std::string_view a, std::string_view b);

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_PAGE_NODE_H_
