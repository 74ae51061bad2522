#include "engines/btree/page/page_codec.h"

#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "device/error.h"
#include "device/os/thread.h"

namespace testbed::btree {
namespace {

constexpr size_t kBody = offsetof(PageHeader, type);  // the bytes before it are not compressed
constexpr int kZstdLevel = 3;                         // the default of the zstd library

struct FreeZstd {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

// Returns a buffer of the thread, as large as the largest page.
char* Scratch() {
  return OfThread([] { return std::make_unique_for_overwrite<char[]>(kMaxPageSize); });
}

// Returns `made`, which a compression library has made. Throws std::bad_alloc when it is null, as
// the library found no memory.
template <typename Made>
Made* Checked(Made* made) {
  if (made == nullptr) throw std::bad_alloc();
  return made;
}

// Returns the number of bytes written to `to`; 0 when the result would be longer than `most`.
size_t Compress(PageCodec codec, const char* from, size_t n, char* to, size_t most) {
  if (codec == PageCodec::kLz4) {
    const int got = LZ4_compress_default(from, to, static_cast<int>(n), static_cast<int>(most));
    return got > 0 ? static_cast<size_t>(got) : 0;
  }
  ZSTD_CCtx* const context =
      OfThread([] { return std::unique_ptr<ZSTD_CCtx, FreeZstd>(Checked(ZSTD_createCCtx())); });
  const size_t got = ZSTD_compressCCtx(context, to, most, from, n, kZstdLevel);
  return ZSTD_isError(got) != 0 ? 0 : got;
}

bool Expand(PageCodec codec, const char* from, size_t n, char* to, size_t exactly) {
  if (codec == PageCodec::kLz4) {
    const int got = LZ4_decompress_safe(from, to, static_cast<int>(n), static_cast<int>(exactly));
    return got >= 0 && static_cast<size_t>(got) == exactly;
  }
  if (codec != PageCodec::kZstd) return false;
  ZSTD_DCtx* const context =
      OfThread([] { return std::unique_ptr<ZSTD_DCtx, FreeZstd>(Checked(ZSTD_createDCtx())); });
  return ZSTD_decompressDCtx(context, to, exactly, from, n) == exactly;
}

uint32_t RoundUpToUnit(uint32_t bytes) {
  return (bytes + kStoredUnit - 1) / kStoredUnit * kStoredUnit;
}

}  // namespace

const char* PageCodecName(PageCodec codec) {
  static constexpr const char* kNames[] = {"none", "lz4", "zstd"};
  return kNames[static_cast<size_t>(codec)];
}

PageCodec PageCodecByName(std::string_view name) {
  for (const PageCodec codec : {PageCodec::kNone, PageCodec::kLz4, PageCodec::kZstd}) {
    if (name == PageCodecName(codec)) return codec;
  }
  throw Error(Error::kUsage,
              "btree has no compression " + std::string(name) + "; it takes none, lz4 or zstd");
}

uint32_t CompressedBytes(const char* page, uint32_t page_size) {
  const auto* header = reinterpret_cast<const CompressedHeader*>(page);
  return sizeof *header +
         std::min(header->length, page_size - static_cast<uint32_t>(sizeof *header));
}

uint32_t StoredBytes(const char* page, uint32_t page_size) {
  return IsCompressed(page) ? RoundUpToUnit(CompressedBytes(page, page_size)) : page_size;
}

uint32_t CompressPage(PageCodec codec, char* page, uint32_t page_size) {
  constexpr uint32_t kHeader = sizeof(CompressedHeader);
  if (codec == PageCodec::kNone || page_size <= kStoredUnit) return page_size;
  char* scratch = Scratch();
  const size_t length =
      Compress(codec, page + kBody, page_size - kBody, scratch, page_size - kStoredUnit - kHeader);
  if (length == 0) return page_size;
  auto* header = reinterpret_cast<CompressedHeader*>(page);
  header->type = PageType::kCompressed;
  header->codec = codec;
  header->unused = 0;
  header->length = static_cast<uint32_t>(length);
  std::memcpy(page + kHeader, scratch, length);
  const uint32_t stored = StoredBytes(page, page_size);
  std::memset(page + kHeader + length, 0, stored - kHeader - length);
  StampPage(page, page_size);
  return stored;
}

bool ExpandPage(char* page, uint32_t page_size) {
  const auto header = *reinterpret_cast<const CompressedHeader*>(page);
  if (header.length > page_size - sizeof header) return false;
  char* scratch = Scratch();
  std::memcpy(scratch, page + sizeof header, header.length);
  return Expand(header.codec, scratch, header.length, page + kBody, page_size - kBody) &&
         !IsCompressed(page);
}

}  // namespace testbed::btree
