// These functions store a part of a node in the file: as it is, or compressed by one of three
// codecs. Checksum sums up everything that is stored.
//
//   const Codec used = Compress(Codec::kLz4, raw, buffer, &n);  // kNone when that saves nothing
//   if (!Expand(used, {buffer, n}, raw.size(), out)) ...        // not what was compressed
//
// Thread-safe: what the codecs need in memory is kept once for each thread. Compress and Expand
// throw std::bad_alloc when a codec finds no memory, which is no damage.
#ifndef TESTBED_ENGINES_FRACTAL_NODE_CODEC_H_
#define TESTBED_ENGINES_FRACTAL_NODE_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace testbed::fractal {

enum class Codec : uint8_t { kNone = 0, kLz4 = 1, kZlib = 2, kZstd = 3 };
inline constexpr Codec kLastCodec = Codec::kZstd;
const char* CodecName(Codec codec);        // "none", "lz4", "zlib", "zstd"
Codec CodecByName(std::string_view name);  // throws Error (kUsage) for any other name

// Writes `raw` to `out`, compressed if that makes it smaller. `out` has room for raw.size() bytes.
// Sets *stored to the number of bytes written, and returns the codec that was used.
Codec Compress(Codec codec, std::string_view raw, char* out, size_t* stored);
// Expands `stored` to out[0, raw_size). Returns false when `stored` does not expand to exactly
// raw_size bytes.
bool Expand(Codec codec, std::string_view stored, size_t raw_size, char* out);

// Returns the XXH3-64 of the bytes, seeded with the block's number. So the checksum does not match
// when intact bytes lie in the wrong place.
uint64_t Checksum(std::string_view bytes, uint64_t block);

}  // namespace testbed::fractal

#endif  // TESTBED_ENGINES_FRACTAL_NODE_CODEC_H_
