// A node image is a node as it is in the file: one extent, a multiple of 4096 bytes.
//
//   header   u64 checksum of what follows up to the header's end, seeded with the block number;
//            u32 magic; u32 header bytes; u64 block; u64 greatest message number; u32 height;
//            u32 n; n x {u32 start, u32 stored bytes, u32 raw bytes, u8 codec, u64 checksum};
//            inner nodes: n x u64 child; (n - 1) x {u16 size, pivot}
//   parts    one after the other without alignment, each stored as its codec has it: a leaf's are
//            basements, an inner node's message buffers
//   zeros    to the end of the extent
//
// An image is made from a Snapshot. A snapshot shares a leaf's basements, so taking one is cheap
// and needs the latch only for a moment.
#ifndef TESTBED_ENGINES_FRACTAL_NODE_NODE_IMAGE_H_
#define TESTBED_ENGINES_FRACTAL_NODE_NODE_IMAGE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "device/file/file.h"
#include "engines/fractal/node/node.h"

namespace testbed::fractal {

inline constexpr uint32_t kExtentUnit = 4096;
inline uint64_t RoundUpToUnit(uint64_t n) {
  return (n + kExtentUnit - 1) / kExtentUnit * kExtentUnit;
}

struct Snapshot {
  BlockId block = kNoBlock;
  uint32_t height = 0;
  uint64_t max_number = 0;
  std::vector<std::string> pivots;
  std::vector<BlockId> children;
  std::vector<BasementRef> rows;     // rows of a leaf
  std::vector<std::string> buffers;  // serialized buffers of an inner node
  uint64_t changes = 0;              // Node::changes when the snapshot was taken
  size_t bytes() const;
};
// Takes a snapshot. The caller holds the latch, and all parts of the node are in memory.
Snapshot TakeSnapshot(const Node& node);

struct NodeImage {
  AlignedBuffer bytes;  // at least `extent` long
  uint64_t extent = 0;  // bytes
  uint32_t header_bytes = 0;
  uint64_t header_checksum = 0;
  uint64_t raw_bytes = 0;  // uncompressed size of the parts
  std::vector<PartPlace> places;
};
// Makes the image of a snapshot. It reuses the memory of `buffer` if that is large enough.
NodeImage MakeImage(const Snapshot& snapshot, Codec codec, AlignedBuffer buffer = {});

// Returns the checksum of a header, which is its first eight bytes.
inline uint64_t ChecksumOf(std::string_view header) { return Load<uint64_t>(header.data()); }
// Fills an empty node from its header. Returns false, and sets *why, when the bytes are not the
// header of this block, or when the parts do not lie in an extent of that size.
bool ParseHeader(std::string_view header, uint64_t extent_bytes, Node* node, std::string* why);
// Fills part i of a node from its stored bytes.
bool ParsePart(std::string_view stored, const PartPlace& place, BlockId block, bool leaf,
               Part* part, std::string* why);

}  // namespace testbed::fractal

#endif  // TESTBED_ENGINES_FRACTAL_NODE_NODE_IMAGE_H_
