#include "engines/fractal/node/codec.h"

#include <lz4.h>
#include <xxhash.h>
#include <zlib.h>
#include <zstd.h>

#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "device/error.h"
#include "device/os/thread.h"

namespace testbed::fractal {
namespace {

constexpr int kZstdLevel = 3, kZlibLevel = 6;  // the defaults of the two libraries

struct FreeZstd {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

// Returns `made`, an object that zstd has created. Throws std::bad_alloc when it is null, as zstd
// found no memory then.
template <typename Made>
Made* Checked(Made* made) {
  if (made == nullptr) throw std::bad_alloc();
  return made;
}

// Returns the number of bytes written to `to`; 0 when they would be more than `most`.
size_t CompressTo(Codec codec, std::string_view raw, char* to, size_t most) {
  switch (codec) {
    case Codec::kNone:
      return 0;
    case Codec::kLz4: {
      const int got = LZ4_compress_default(raw.data(), to, static_cast<int>(raw.size()),
                                           static_cast<int>(most));
      return got > 0 ? static_cast<size_t>(got) : 0;
    }
    case Codec::kZlib: {
      uLongf length = most;
      const int code =
          ::compress2(reinterpret_cast<Bytef*>(to), &length,
                      reinterpret_cast<const Bytef*>(raw.data()), raw.size(), kZlibLevel);
      return code == Z_OK ? length : 0;
    }
    case Codec::kZstd: {
      ZSTD_CCtx* const context =
          OfThread([] { return std::unique_ptr<ZSTD_CCtx, FreeZstd>(Checked(ZSTD_createCCtx())); });
      const size_t got = ZSTD_compressCCtx(context, to, most, raw.data(), raw.size(), kZstdLevel);
      return ZSTD_isError(got) != 0 ? 0 : got;
    }
  }
  return 0;
}

}  // namespace

const char* CodecName(Codec codec) {
  static constexpr const char* kNames[] = {"none", "lz4", "zlib", "zstd"};
  return kNames[static_cast<size_t>(codec)];
}

Codec CodecByName(std::string_view name) {
  for (const Codec codec : {Codec::kNone, Codec::kLz4, Codec::kZlib, Codec::kZstd}) {
    if (name == CodecName(codec)) return codec;
  }
  throw Error(Error::kUsage, "fractal has no --compression " + std::string(name) +
                                 "; it takes none, lz4, zlib or zstd");
}

Codec Compress(Codec codec, std::string_view raw, char* out, size_t* stored) {
  *stored = raw.size() < 2 ? 0 : CompressTo(codec, raw, out, raw.size() - 1);
  if (*stored > 0) return codec;
  if (!raw.empty()) std::memcpy(out, raw.data(), raw.size());
  *stored = raw.size();
  return Codec::kNone;
}

bool Expand(Codec codec, std::string_view stored, size_t raw_size, char* out) {
  switch (codec) {
    case Codec::kNone:
      if (stored.size() != raw_size) return false;
      if (raw_size > 0) std::memcpy(out, stored.data(), raw_size);
      return true;
    case Codec::kLz4: {
      const int got = LZ4_decompress_safe(stored.data(), out, static_cast<int>(stored.size()),
                                          static_cast<int>(raw_size));
      return got >= 0 && static_cast<size_t>(got) == raw_size;
    }
    case Codec::kZlib: {
      uLongf length = raw_size;
      const int code = ::uncompress(reinterpret_cast<Bytef*>(out), &length,
                                    reinterpret_cast<const Bytef*>(stored.data()), stored.size());
      if (code == Z_MEM_ERROR) throw std::bad_alloc();
      return code == Z_OK && length == raw_size;
    }
    case Codec::kZstd: {
      ZSTD_DCtx* const context =
          OfThread([] { return std::unique_ptr<ZSTD_DCtx, FreeZstd>(Checked(ZSTD_createDCtx())); });
      return ZSTD_decompressDCtx(context, out, raw_size, stored.data(), stored.size()) == raw_size;
    }
  }
  return false;
}

uint64_t Checksum(std::string_view bytes, uint64_t block) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), block);
}

}  // namespace testbed::fractal
