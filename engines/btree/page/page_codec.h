// These functions compress pages that are written to the data file.
//
// A page keeps its place, at number * page size. A compressed page takes the first bytes of its
// place, in units of 4096; the rest is a hole, which takes no space on the device and is not read.
// So no map of places is needed, and a changed page is written to its old place. This is the scheme
// of InnoDB's transparent page compression (MySQL manual, "InnoDB Page Compression"). A page that
// would not save a unit is stored uncompressed. Each page's header says how it is stored, so that
// the codec can change at each open of the database.
//
// Format of a compressed page:
//
//   u64 checksum of the bytes after it, to the end of the payload; u64 LSN; u32 page; u32 table;
//   u8 type = kCompressed; u8 codec; u16 0; u32 length; then the payload: from the page's type
//   (byte 24) to its end, compressed
//
// Thread-safe.
#ifndef TESTBED_ENGINES_BTREE_PAGE_PAGE_CODEC_H_
#define TESTBED_ENGINES_BTREE_PAGE_PAGE_CODEC_H_

#include <cstdint>
#include <string_view>

#include "engines/btree/page/page.h"

namespace testbed::btree {

enum class PageCodec : uint8_t { kNone = 0, kLz4 = 1, kZstd = 2 };
const char* PageCodecName(PageCodec codec);  // "none", "lz4", "zstd"
// Returns the codec of this name. Throws Error (kUsage) for any other name.
PageCodec PageCodecByName(std::string_view name);

inline constexpr uint32_t kStoredUnit = 4096;  // bytes

inline bool IsCompressed(const char* page) { return Header(page)->type == PageType::kCompressed; }
// Returns the length in bytes of a compressed page's header and payload, which is at most the page
// size.
uint32_t CompressedBytes(const char* page, uint32_t page_size);
// Returns the bytes that a page takes in the file: a multiple of kStoredUnit, or the page size.
uint32_t StoredBytes(const char* page, uint32_t page_size);

// Compresses the page in place, stamps it and sets the rest of its last unit to zero. Returns the
// bytes that it takes in the file. If it would save no unit, leaves the page unchanged and returns
// page_size.
uint32_t CompressPage(PageCodec codec, char* page, uint32_t page_size);
// Expands a compressed page in place; its checksum must have been checked. Does not set the
// checksum of the expanded page. Returns false when the payload cannot be expanded to a page.
bool ExpandPage(char* page, uint32_t page_size);

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_PAGE_PAGE_CODEC_H_
