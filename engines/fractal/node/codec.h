// How a partition is stored in the file: as it is, or compressed by one of three codecs; and the
// checksum of everything that is stored.
//
//   const Codec used = Compress(Codec::kLz4, raw, buffer, &n);  // kNone when that saves nothing
//   if (!Expand(used, {buffer, n}, raw.size(), out)) ...        // not what was compressed
//
// Thread-safe: what the codecs need in memory is kept once for each thread.
#ifndef TESTBED_ENGINES_FRACTAL_NODE_CODEC_H_
#define TESTBED_ENGINES_FRACTAL_NODE_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace testbed::fractal {

enum class Codec : uint8_t { kNone = 0, kLz4 = 1, kZlib = 2, kZstd = 3 };
inline constexpr Codec kLastCodec = Codec::kZstd;
const char* CodecName(Codec codec);        // "none", "lz4", "zlib", "zstd"
Codec CodecByName(std::string_view name);  // throws kUsage for another

// Writes `raw` to `out`, which has room for it, compressed if that makes it smaller. Sets *stored
// to the bytes written; returns how it was stored.
Codec Compress(Codec codec, std::string_view raw, char* out, size_t* stored);
// Fills out[0, raw_size). False when `stored` does not expand to exactly that.
bool Expand(Codec codec, std::string_view stored, size_t raw_size, char* out);

// XXH3-64, with the number of the block as seed: bytes in the wrong place fail too.
uint64_t Checksum(std::string_view bytes, uint64_t block);

}  // namespace testbed::fractal

#endif  // TESTBED_ENGINES_FRACTAL_NODE_CODEC_H_
