// The Cache holds the nodes in memory. It finds them, reads missing parts from the data file,
// writes dirty nodes, and evicts nodes and parts that were not used lately when it is over its
// limit.
//
//   NodeRef node = cache.Get(block, &counters);       // its header at least; null: no such block
//   cache.Fetch(node, part, &counters);               // then look again, under the latch
//   cache.FetchAll(node, &counters);                  // stays whole while the reference is held
//
// The thread that needs bytes reads them, and must hold no latch meanwhile: one read for a header,
// one for each missing part (or, with merge_reads, for each run of adjacent missing parts). Several
// threads that miss the same part share one read. The bytes are installed only if the node was not
// written to another place meanwhile.
//
// Eviction is a clock with second chances over nodes and, inside them, over parts. A dirty node is
// written as a whole. A clean node gives up the parts that have no second chance left (Part::heat),
// and leaves when no part is there and its header has no second chance left either. Pinned nodes
// (node.h) are passed over.
//
// A checkpoint marks the nodes that are dirty at its begin as pending, and then writes them. A
// thread that is about to change a pending node leaves a snapshot of it first (`BeforeChange`), so
// the checkpoint has all nodes as they were at one moment.
//
// Thread-safe. Lock order: Node::flushing, Gate, latches from the root down, then the cache's own
// mutexes.
#ifndef TESTBED_ENGINES_FRACTAL_CACHE_CACHE_H_
#define TESTBED_ENGINES_FRACTAL_CACHE_CACHE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "device/account/ledger.h"
#include "device/file/file.h"
#include "device/os/mutex.h"
#include "engines/fractal/cache/block_table.h"
#include "engines/fractal/cache/gate.h"
#include "engines/fractal/node/node.h"
#include "engines/fractal/node/node_image.h"

namespace testbed::fractal {

// ReadCounters count what one thread asked of the cache. Only that thread writes them.
struct ReadCounters {
  Counter requests;  // parts that were needed, and headers that were not in memory
  Counter missed;    // the parts and headers that were read into memory
  Counter reads;     // calls to the file; with merge_reads a call may read several parts
  Counter header_reads;
  Counter bytes;
};

struct WriteCounters {
  std::atomic<uint64_t> nodes{0}, bytes{0}, leaves{0}, leaf_bytes{0}, inner{0}, inner_bytes{0};
  std::atomic<uint64_t> raw_bytes{0};  // uncompressed size of the parts that were written
  std::atomic<uint64_t> basements{0}, basement_raw_bytes{0};
  std::atomic<uint64_t> for_checkpoints{0}, snapshots{0}, evicted_parts{0}, evicted_nodes{0};
};

struct CacheOptions {
  uint64_t limit = 0;  // bytes
  Codec codec = Codec::kNone;
  bool merge_reads = false;
  // This is how many bytes each row in memory counts within `limit` in addition to its own size.
  // They stand for what a row takes in an engine that keeps each row apart, as TokuDB does.
  uint64_t row_overhead = 0;
};

class Cache {
 public:
  Cache(File* file, BlockTable* table, Gate* gate, const CacheOptions& options)
      : file_(file), table_(table), gate_(gate), options_(options), limit_(options.limit) {}

  // Returns the node if its header is in memory, else null.
  NodeRef Find(BlockId block);
  // Returns the node, whose header it reads if that is missing; null when there is no such block.
  // Get, Fetch and FetchAll throw Error: kIo when a read fails or a change of the node was cut
  // short, kCorruption when it is damaged.
  NodeRef Get(BlockId block, ReadCounters* counters);
  // Reads the part if it is missing. The caller counts the request when it has found the part.
  void Fetch(const NodeRef& node, size_t part, ReadCounters* counters);
  // Reads the parts that are missing. Counts each part of the node as a request, since the caller
  // needs all of them.
  void FetchAll(const NodeRef& node, ReadCounters* counters);

  // Returns a new node, dirty and empty. The caller is in the gate, and fills the node before other
  // threads can find it.
  NodeRef Create(uint32_t height);
  // Prepares a change of the node: marks it dirty, and saves a snapshot if it is pending. The
  // caller is in the gate and holds the latch exclusively, and all parts of the node are in memory.
  void BeforeChange(Node* node);
  // Counts the node's memory again, or what a change has added to it.
  void AfterChange(Node* node);
  void AfterChange(Node* node, size_t memory_before, size_t memory_after);
  // Removes a node that is in no tree any more. The caller is in the gate and holds the latch
  // exclusively.
  void Remove(Node* node);

  // Evicts until the cache is within its limit. The caller holds no latch, and pins no node that it
  // does not need. A dirty node that cannot be written is an error for a writer, who would make
  // more such nodes: with kThrow Evict throws it. A reader needs room only for nodes that are
  // clean: with kKeep Evict keeps the dirty node in memory, beyond the limit, and evicts others.
  enum class Unwritable : uint8_t { kThrow, kKeep };
  void Evict(Unwritable unwritable = Unwritable::kThrow);
  // With `keep`, Evict keeps dirty nodes in memory when the device is full, whatever its caller
  // asks for. Recovery sets this, because all its changes are in the log already.
  void KeepOnFullDisk(bool keep) { keep_on_full_disk_.store(keep, std::memory_order_relaxed); }
  bool over_limit() const { return used() > limit(); }
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  uint64_t limit() const { return limit_.load(std::memory_order_relaxed); }
  // Takes effect at the next Evict.
  void SetLimit(uint64_t bytes) { limit_.store(bytes, std::memory_order_relaxed); }

  // Writes the node if it is dirty. The caller is outside the gate and holds no latch. Throws Error
  // when the write fails; the node then stays dirty.
  void Write(const NodeRef& node);

  // Returns whether a node differs from the file. The caller holds no latch.
  bool HasDirtyNode();
  // Marks the dirty nodes as pending and copies the current table for the checkpoint. The caller
  // has closed the gate.
  void BeginCheckpoint();
  // Writes the pending nodes. Throws when a write fails or the gate is broken; the caller then
  // closes the gate and calls AbandonCheckpoint.
  void WriteCheckpoint();
  // Forgets which nodes are pending, and their snapshots. They stay dirty.
  void AbandonCheckpoint();
  // Writes the snapshot of a pending node before the node changes, so that the snapshot need not be
  // kept in memory.
  void WriteIfPending(const NodeRef& node);

  // Returns the number that the next Create gives its node. A database keeps it in its header.
  BlockId next_block() const { return next_block_.load(); }
  void SetNextBlock(BlockId block) { next_block_.store(block); }
  const WriteCounters& writes() const { return writes_; }
  File* file() const { return file_; }
  // Calls `visit` for each node in memory. It may also visit nodes that are evicted meanwhile.
  template <typename Visit>
  void ForEach(Visit&& visit) {
    for (Shard& shard : shards_) {
      std::vector<NodeRef> nodes;
      {
        LockGuard lock(shard.mutex);
        for (const auto& [block, node] : shard.nodes) nodes.push_back(node);
      }
      for (const NodeRef& node : nodes) visit(node);
    }
  }

 private:
  static constexpr size_t kShards = 64;
  static constexpr size_t kHeaderPart = ~size_t{0};
  struct alignas(64) Shard {
    Mutex mutex;
    std::unordered_map<BlockId, NodeRef> nodes GUARDED_BY(mutex);
    CondVar loaded;
    std::set<std::pair<BlockId, size_t>> loading GUARDED_BY(mutex);
  };
  class Claim;
  struct WantedPart;

  Shard& ShardOf(BlockId block) { return shards_[block % kShards]; }
  std::string_view ReadRange(uint64_t offset, size_t n, ReadCounters* counters);
  void FetchRun(const NodeRef& node, size_t part, bool merge, ReadCounters* counters);
  bool Want(const NodeRef& node, size_t part, bool merge, WantedPart* wanted);
  [[noreturn]] void ThrowDamaged(BlockId block, uint64_t offset, const std::string& why) const;
  [[noreturn]] void ThrowHalfDone(BlockId block) const;
  void Account(Node* node);
  void Uncount(uint64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }

  void EvictFrom(const NodeRef& node, bool may_write);
  static bool CoolDirty(Node* node);
  void DropParts(const NodeRef& node);
  void Forget(const NodeRef& node);

  AlignedBuffer TakeBuffer();
  void KeepBuffer(AlignedBuffer buffer);
  BlockPlace WriteImage(const NodeImage& image, const Snapshot& snapshot);
  void Publish(const NodeRef& node, const Snapshot& snapshot, const NodeImage& image,
               const BlockPlace& place);
  void WriteSaved();
  void CheckGateWhole();

  File* const file_;
  BlockTable* const table_;
  Gate* const gate_;
  const CacheOptions options_;
  std::atomic<uint64_t> limit_, used_{0};
  std::atomic<BlockId> next_block_{1};
  std::array<Shard, kShards> shards_;
  WriteCounters writes_;

  std::atomic<bool> keep_on_full_disk_{false};
  Mutex evicting_;
  std::vector<BlockId> round_ GUARDED_BY(evicting_);  // blocks that the clock hand has yet to pass

  std::vector<BlockId> pending_;  // blocks that the running checkpoint must write
  Mutex saved_mutex_;
  std::vector<Snapshot> saved_
      GUARDED_BY(saved_mutex_);  // snapshots of pending nodes that have changed
  std::vector<AlignedBuffer> spare_ GUARDED_BY(saved_mutex_);  // memory for images of nodes
};

}  // namespace testbed::fractal

#endif  // TESTBED_ENGINES_FRACTAL_CACHE_CACHE_H_
