// Pages compressed on their way to the data file.
//
// A page keeps its place, at number * page size: what is compressed takes the first bytes of it, in
// units of 4096, and the rest is a hole, which takes no space on the device and is not read from
// it. So pages need no map of where they are, and a page that is changed goes to where it was (the
// scheme of InnoDB's transparent page compression; MySQL manual, "InnoDB Page Compression"). A page
// that would save no unit is stored as it is; each page says how it is stored, so the codec can
// change whenever the database is opened.
//
//   u64 checksum of what follows, to the end of the payload; u64 LSN; u32 page; u32 table;
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
const char* PageCodecName(PageCodec codec);        // "none", "lz4", "zstd"
PageCodec PageCodecByName(std::string_view name);  // throws kUsage for another

inline constexpr uint32_t kStoredUnit = 4096;

inline bool IsCompressed(const char* page) { return Header(page)->type == PageType::kCompressed; }
// What a compressed page really has, at most the page size.
uint32_t CompressedBytes(const char* page, uint32_t page_size);
// What a page takes in the file: whole units.
uint32_t StoredBytes(const char* page, uint32_t page_size);

// Compresses the page in place, stamps it and makes the rest of its last unit zeros. Returns what
// it takes in the file: the page size when it stays as it is.
uint32_t CompressPage(PageCodec codec, char* page, uint32_t page_size);
// Of a page that passed its checksum: undoes it in place. The checksum of the outcome is not set.
// False when the payload is not what the header says.
bool ExpandPage(char* page, uint32_t page_size);

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_PAGE_PAGE_CODEC_H_
