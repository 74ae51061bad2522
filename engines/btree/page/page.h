// What every page of the data file has in common: its header, its checksum, its limits.
//
// Page n lies at byte n * page_size of the data file. Page 0 is the superblock; it is never a child
// or a root, so 0 also means "no page". All numbers are little-endian. docs/btree.md describes the
// format so that a reader can be written from it.
#ifndef TESTBED_ENGINES_BTREE_PAGE_PAGE_H_
#define TESTBED_ENGINES_BTREE_PAGE_PAGE_H_

#include <cstddef>
#include <cstdint>

#include "device/log/log.h"

namespace testbed::btree {

using PageId = uint32_t;
inline constexpr PageId kNoPage = 0;
inline constexpr uint32_t kMaxPages = 1u << 30;  // of a data file

inline constexpr uint32_t kMinPageSize = 4096;
inline constexpr uint32_t kMaxPageSize = 65536;
constexpr bool IsPageSize(uint32_t bytes) {
  return bytes >= kMinPageSize && bytes <= kMaxPageSize && (bytes & (bytes - 1)) == 0;
}

// A page can hold at least four of the longest keys beside its two fences. A row longer than
// MaxInlineRow has its value in overflow pages; with these limits a split always yields two pages
// that both have room for a row (proof: docs/btree.md, "Limits").
constexpr size_t MaxKeySize(uint32_t page_size) { return page_size / 8; }
constexpr size_t MaxInlineRow(uint32_t page_size) { return page_size / 4 - page_size / 64 - 64; }
// Bytes that a leaf keeps free for a longer high fence. A split logs of its left page only where it
// was cut; replay may cut an older state of the page, which has other rows, and this room is then
// all that is sure to be there for the new fence. Where the fence is longer, the split logs the
// page.
constexpr size_t FenceSlack(uint32_t page_size) { return page_size / 128; }
inline constexpr uint64_t kMaxValueSize = 1ull << 30;

enum class PageCodec : uint8_t;  // page_codec.h
enum class PageType : uint8_t {
  kFree = 0,
  kLeaf = 1,
  kInner = 2,
  kOverflow = 3,
  kSuper = 4,
  kCompressed = 5,  // in the file only
};

struct PageHeader {
  uint64_t checksum;  // of all that follows, seeded with the page's number
  Lsn lsn;            // end of the newest log record whose change is in the page
  PageId id;
  uint32_t table;
  PageType type;
  uint8_t level;  // 0 = leaf
  // What follows belongs to the type: node.h, overflow.h.
};
static_assert(sizeof(PageHeader) == 32);
inline constexpr size_t kCommonHeader = 26;  // bytes of PageHeader that are in use

// How a compressed page begins (page_codec.h).
struct CompressedHeader {
  uint64_t checksum;  // of what follows, to the end of the payload
  Lsn lsn;
  PageId id;
  uint32_t table;
  PageType type;  // kCompressed
  PageCodec codec;
  uint16_t unused;
  uint32_t length;  // of the payload
};
static_assert(sizeof(CompressedHeader) == 32);

// How a page of a long value begins; a piece of the value follows (tree/overflow.h).
struct OverflowHeader {
  uint64_t checksum;
  Lsn lsn;  // where the log ended when the page was filled
  PageId id;
  uint32_t table;
  PageType type;
  uint8_t level;  // 0
  uint16_t unused;
  uint32_t size;  // bytes of the value in this page
  Lsn begin;      // the log from here on holds the value again
};
static_assert(sizeof(OverflowHeader) == 40);

inline PageHeader* Header(char* page) { return reinterpret_cast<PageHeader*>(page); }
inline const PageHeader* Header(const char* page) {
  return reinterpret_cast<const PageHeader*>(page);
}

uint64_t PageChecksum(const char* page, uint32_t page_size, PageId id);
// Puts the checksum in.
void StampPage(char* page, uint32_t page_size);

enum class PageState : uint8_t {
  kValid,
  kBlank,   // all zeros: space that was never written
  kBroken,  // the checksum does not match
};
PageState InspectPage(const char* page, uint32_t page_size, PageId id);

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_PAGE_PAGE_H_
