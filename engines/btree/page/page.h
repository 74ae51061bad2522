// This header has what all pages of the data file have in common: header, checksum and limits.
//
// Page n lies at byte n * page_size of the data file. Page 0 is the superblock; it is never a child
// or a root, so 0 also means "no page". All numbers are little-endian. docs/engines/btree.md
// describes the format so that a reader can be written from it.
#ifndef TESTBED_ENGINES_BTREE_PAGE_PAGE_H_
#define TESTBED_ENGINES_BTREE_PAGE_PAGE_H_

#include <cstddef>
#include <cstdint>

#include "device/log/log.h"

namespace testbed::btree {

using PageId = uint32_t;
inline constexpr PageId kNoPage = 0;
inline constexpr uint32_t kMaxPages = 1u << 30;  // most pages of a data file

inline constexpr uint32_t kMinPageSize = 4096;
inline constexpr uint32_t kMaxPageSize = 65536;
constexpr bool IsPageSize(uint32_t bytes) {
  return bytes >= kMinPageSize && bytes <= kMaxPageSize && (bytes & (bytes - 1)) == 0;
}

// These functions return the limits in bytes of a key, and of a row whose value is in the leaf. A
// page holds at least four of the longest keys in addition to its two fences. A row longer than
// MaxInlineRow has its value in overflow pages. With these limits both pages after a split have
// room for any row (proof: docs/engines/btree.md, "Limits").
constexpr size_t MaxKeySize(uint32_t page_size) { return page_size / 8; }
constexpr size_t MaxInlineRow(uint32_t page_size) { return page_size / 4 - page_size / 64 - 64; }
// Returns the bytes that a leaf keeps free for a longer high fence. The log record of a split has
// only the separator of the left page, not the page. Replay may truncate an older state of the
// page, with other rows, and then only these bytes are sure to be free for the new fence. If the
// fence is longer, the record has the page's image.
constexpr size_t FenceSlack(uint32_t page_size) { return page_size / 128; }
inline constexpr uint64_t kMaxValueSize = 1ull << 30;

enum class PageCodec : uint8_t;  // page_codec.h
enum class PageType : uint8_t {
  kFree = 0,
  kLeaf = 1,
  kInner = 2,
  kOverflow = 3,
  kSuper = 4,
  kCompressed = 5,  // only in the file, never in the pool
};

struct PageHeader {
  uint64_t checksum;  // XXH3-64 of the bytes after it, with the page's number as seed
  Lsn lsn;            // end of the newest log record whose change is in the page
  PageId id;
  uint32_t table;
  PageType type;
  uint8_t level;  // 0 = leaf
  // The bytes after this depend on the type: see NodeHeader and OverflowHeader.
};
static_assert(sizeof(PageHeader) == 32);

// This is the header of a compressed page (page_codec.h).
struct CompressedHeader {
  uint64_t checksum;  // checksum of the bytes after it, up to the end of the payload
  Lsn lsn;
  PageId id;
  uint32_t table;
  PageType type;  // kCompressed
  PageCodec codec;
  uint16_t unused;
  uint32_t length;  // bytes of the payload
};
static_assert(sizeof(CompressedHeader) == 32);

// This is the header of an overflow page. A piece of the value follows it (tree/overflow.h).
struct OverflowHeader {
  uint64_t checksum;
  Lsn lsn;  // end of the log when the page was filled
  PageId id;
  uint32_t table;
  PageType type;
  uint8_t level;  // 0
  uint16_t unused;
  uint32_t size;  // bytes of the value in this page
  Lsn begin;      // a log position at or before the record that has the value
};
static_assert(sizeof(OverflowHeader) == 40);

inline PageHeader* Header(char* page) { return reinterpret_cast<PageHeader*>(page); }
inline const PageHeader* Header(const char* page) {
  return reinterpret_cast<const PageHeader*>(page);
}

// Returns the checksum that the page must have as page `id`.
uint64_t PageChecksum(const char* page, uint32_t page_size, PageId id);
// Sets the checksum in the page's header. The header must have the page's number.
void StampPage(char* page, uint32_t page_size);

enum class PageState : uint8_t {
  kValid,
  kBlank,   // all zeros: space that was never written
  kBroken,  // the checksum or the number does not match
};
// Returns the state of a page that was read as page `id`.
PageState InspectPage(const char* page, uint32_t page_size, PageId id);

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_PAGE_PAGE_H_
