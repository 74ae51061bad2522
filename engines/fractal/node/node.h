// A Node is a node of the tree in memory. An inner node has a message buffer for each child; a leaf
// has basements. Both are parts, and each part by itself is in memory or only in the file. Part i
// has the keys k with pivots[i - 1] <= k < pivots[i].
//
//   std::shared_lock latch(node->latch);
//   const Part& part = node->parts[node->PartOf(key)];
//   if (!part.there()) ...   // release the latch, have the cache fetch the part, begin again
//
// Rules. `latch` guards all fields that are not atomic. A node is dirty when it differs from the
// file; a dirty node has all its parts in memory. A shared_ptr to a node pins it: neither the node
// nor one of its parts is evicted while anyone but the cache has such a pointer.
#ifndef TESTBED_ENGINES_FRACTAL_NODE_NODE_H_
#define TESTBED_ENGINES_FRACTAL_NODE_NODE_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "device/os/mutex.h"
#include "engines/fractal/node/basement.h"
#include "engines/fractal/node/codec.h"
#include "engines/fractal/node/message_buffer.h"

namespace testbed::fractal {

using BlockId = uint64_t;
inline constexpr BlockId kNoBlock = 0;

// A PartPlace says where a part lies in its node's extent.
struct PartPlace {
  uint32_t start = 0, stored = 0, raw = 0;  // all in bytes
  Codec codec = Codec::kNone;
  uint64_t checksum = 0;
};

struct Node;

struct Part {
  BlockId child = kNoBlock;  // in inner nodes
  BasementRef rows;          // in leaves; null while the rows are only in the file
  // This is used in inner nodes; it is null while the messages are only in the file.
  std::unique_ptr<MessageBuffer> buffer;
  PartPlace place;  // valid while the node is not dirty
  // This is the number of second chances at eviction; it is changed by std::atomic_ref.
  mutable uint8_t heat = 0;

  bool there() const { return rows != nullptr || buffer != nullptr; }
  // Returns the uncompressed size of the part: of its rows, with what a basement adds to them, or
  // of its messages.
  size_t raw_bytes() const {
    if (rows != nullptr) return rows->bytes().size();
    if (buffer != nullptr) return buffer->bytes();
    // In the file, a buffer also has the number of its messages (4 bytes).
    return child == kNoBlock ? place.raw : std::max<size_t>(place.raw, 4) - 4;
  }
  size_t memory() const {
    return rows != nullptr ? rows->memory() : buffer != nullptr ? buffer->memory() : 0;
  }
  void Touch(uint8_t most) const {
    const std::atomic_ref<uint8_t> h(heat);
    const uint8_t now = h.load(std::memory_order_relaxed);
    if (now < most) h.store(now + 1, std::memory_order_relaxed);
  }
};

struct Node {
  explicit Node(BlockId id) : block(id) {}
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  bool leaf() const { return height == 0; }
  // PartOf returns the index of the part whose range has the key. PartBelow returns the index of
  // the part that has the greatest keys below the key.
  size_t PartOf(std::string_view key) const {
    return static_cast<size_t>(std::upper_bound(pivots.begin(), pivots.end(), key) -
                               pivots.begin());
  }
  size_t PartBelow(std::string_view key) const {
    return static_cast<size_t>(std::lower_bound(pivots.begin(), pivots.end(), key) -
                               pivots.begin());
  }
  bool whole() const {
    return std::all_of(parts.begin(), parts.end(), [](const Part& p) { return p.there(); });
  }
  // Returns the uncompressed size of all parts.
  size_t raw_bytes() const {
    size_t bytes = 0;
    for (const Part& part : parts) bytes += part.raw_bytes();
    return bytes;
  }
  size_t OwnMemory() const {  // bytes without the contents of the parts
    size_t bytes = sizeof *this + parts.capacity() * sizeof(Part) + 64;
    for (const std::string& pivot : pivots) {
      bytes += sizeof pivot + (pivot.capacity() > 15 ? pivot.capacity() + 1 : 0);
    }
    return bytes;
  }
  size_t Memory() const {
    size_t bytes = OwnMemory();
    for (const Part& part : parts) bytes += part.memory();
    return bytes;
  }

  size_t RowsInMemory() const {
    size_t rows = 0;
    for (const Part& part : parts) rows += part.rows != nullptr ? part.rows->count() : 0;
    return rows;
  }

  const BlockId block;
  mutable std::shared_mutex latch;
  uint32_t height = 0;
  std::vector<Part> parts;
  std::vector<std::string> pivots;  // one element fewer than parts
  uint64_t max_number = 0;          // greatest number of a message in the node or applied to it
  bool dirty = false;
  // If true, the running checkpoint must write the node: it was dirty when the checkpoint began,
  // and has not changed since.
  bool pending = false;
  bool gone = false;     // the node was merged into another node
  uint64_t changes = 0;  // grows with each change
  uint64_t version = 0;  // grows when the parts' places change
  uint64_t extent = 0;   // offset of the node's extent, while the node is not dirty
  size_t accounted = 0;  // bytes of memory that the cache counts for the node

  // The thread that flushes this inner node holds the mutex, and alone may change which children
  // the node has. A thread takes it before latches, and that of a parent before that of a child.
  std::mutex flushing;
  Mutex writing;  // held by the thread that writes the node
  std::atomic<uint8_t> heat{0};
};

using NodeRef = std::shared_ptr<Node>;

// Headers get many second chances: they are small, and without its header the read of a part takes
// two reads.
inline constexpr uint8_t kHeaderHeat = 15;
inline void TouchHeader(Node* node) {
  if (node->heat.load(std::memory_order_relaxed) < kHeaderHeat) {
    node->heat.store(kHeaderHeat, std::memory_order_relaxed);
  }
}

}  // namespace testbed::fractal

#endif  // TESTBED_ENGINES_FRACTAL_NODE_NODE_H_
