// A Tree is a Be-tree: a search tree whose inner nodes have a buffer of messages for each child. A
// write puts a message into the root and reads nothing. When an inner node holds more than a node's
// worth of messages, those of its heaviest child move down together (a flush). A message that
// reaches its leaf changes the row. So one visit to a leaf serves thousands of writes.
//
// Reading. What lies higher is newer, so a look-up ends at the first message for its key, or at the
// only basement that can have the row. A cursor takes a basement with all messages for its range
// laid over it (CopyBasement). Readers never change rows in memory: readers, checkpoints and the
// writer of a node share its basements, and a look-up in a sorted buffer costs less than applying
// the buffer.
//
// Latches are taken from the root down, and a child's latch is taken before its parent's is
// released (crabbing). A flush holds parent and child exclusively while it moves messages, so no
// reader can miss a message on its way down. A thread that misses a part releases all latches,
// makes the cache fetch it, and begins again.
//
// Flushes. A thread that holds Node::flushing of an inner node has the node's children to itself;
// it takes this mutex of a parent before that of a child. Before messages come down to an inner
// node, that node is flushed until it has room for them. Reads are done outside of all latches.
//
// The root's block number never changes: a root that has too many children moves them into two
// new nodes below it. A root is never a leaf; an empty tree is a root with one empty leaf.
//
// Sources: Brodal and Fagerberg, "Lower bounds for external memory dictionaries", SODA 2003;
// Bender et al., "An introduction to Be-trees and write-optimization", ;login: 40(5), 2015; Arge,
// "The buffer tree", WADS 1995.
#ifndef TESTBED_ENGINES_FRACTAL_TREE_TREE_H_
#define TESTBED_ENGINES_FRACTAL_TREE_TREE_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engines/fractal/cache/cache.h"

namespace testbed::fractal {

struct TreeOptions {
  uint32_t page_size = 0;  // bytes of the longest basement
  uint64_t node_size = 0;
  uint32_t fanout = 0;
  uint64_t most_root_bytes = 0;  // see Tree::overfull
};

struct TreeCounters {
  std::atomic<uint64_t> flushes{0}, flush_bytes{0}, leaf_flushes{0}, leaf_flush_bytes{0};
  std::atomic<uint64_t> messages_moved{0}, messages_applied{0}, cleaner_flushes{0};
  std::atomic<uint64_t> leaf_splits{0}, inner_splits{0}, root_splits{0}, merges{0};
};

// TreeEnv is what all trees of a database share.
struct TreeEnv {
  Cache* cache;
  Gate* gate;
  TreeCounters* counters;
  TreeOptions options;
  // This is the most bytes of messages that a root holds: a node's worth, or less when there are
  // many tables.
  std::atomic<uint64_t>* root_limit;
};

// A BasementCopy has the rows of one basement, with the messages for its range applied to them, and
// the bounds of that range. A bound is empty where the table ends.
struct BasementCopy {
  BasementRef rows;
  std::string low;
  std::optional<std::string> high;
};

class Tree {
 public:
  Tree(TreeEnv env, uint32_t table, NodeRef root)
      : env_(env), table_(table), root_(std::move(root)) {}
  // Makes an empty tree; the caller is in the gate.
  static NodeRef CreateRoot(Cache* cache, uint32_t page_size);

  // Tells the tree that its whole root was read from the file.
  void Loaded() { NoteRootBytes(*root_); }

  uint32_t table() const { return table_; }
  BlockId root() const { return root_->block; }
  uint32_t height() const;

  bool Get(std::string_view key, std::string* value, ReadCounters* counters) const;

  enum class Bound {
    kCover,  // the basement whose range has the key
    kBelow,  // the basement with the greatest keys below the key
    kLast,   // the last basement of the table
  };
  void CopyBasement(Bound bound, std::string_view key, BasementCopy* copy,
                    ReadCounters* counters) const;

  // Puts messages into the root. The caller is in the gate, and only one thread commits at a time.
  void Insert(const std::vector<Message>& messages);
  // Flushes the root until it has room again. It waits for flushes of other threads only when the
  // root holds twice its limit.
  void MakeRoom(ReadCounters* counters);
  uint64_t root_bytes() const { return root_bytes_.load(std::memory_order_relaxed); }
  bool full() const { return root_bytes() > root_limit(); }
  // Returns whether the root takes no commit until MakeRoom has flushed it. Otherwise several large
  // commits that all found room before any of them was applied would make the root too long.
  bool overfull() const {
    return root_bytes() > std::max(env_.options.most_root_bytes, 2 * root_limit());
  }

  // Takes the inner node that has the most bytes of messages, and flushes its heaviest child, if
  // the node has at least `least` bytes. Looks at the nodes in memory; with kTree, reads the
  // headers of the other inner nodes first. Returns false when no node has `least` bytes, and when
  // another thread flushes that node.
  enum class Reach : uint8_t { kMemory, kTree };
  bool Clean(uint64_t least, ReadCounters* counters, Reach reach = Reach::kMemory);

 private:
  struct Missing {  // what a descent missed in memory
    NodeRef node;   // null when the header of `block` is missing
    size_t part = 0;
    BlockId block = kNoBlock;
  };
  enum class Found : uint8_t { kYes, kNo, kMissing };
  struct Path;

  uint64_t root_limit() const { return env_.root_limit->load(std::memory_order_relaxed); }
  Found TryGet(std::string_view key, std::string* value, uint64_t* touched, Missing* missing) const;
  bool TryCopy(Bound bound, std::string_view key, BasementCopy* copy, uint64_t* touched,
               Missing* missing) const;
  void FetchMissing(const Missing& missing, int* lost, ReadCounters* counters) const;
  NodeRef Child(const Node& parent, BlockId block, ReadCounters* counters) const;
  [[noreturn]] void ThrowLost(BlockId block) const;
  [[noreturn]] void ThrowWrongHeight(BlockId block) const;

  // These functions are in tree_flush.cc.
  bool FlushHeaviest(const NodeRef& parent, ReadCounters* counters);
  void MakeRoomFor(const NodeRef& node, uint64_t bytes, ReadCounters* counters);
  void PrepareHeaviest(ReadCounters* counters);
  bool HeaviestChild(const NodeRef& parent, size_t* part, BlockId* child, uint64_t* bytes) const;
  void MoveMessages(Node* parent, size_t part, Node* child);
  void ApplyToLeaf(Node* leaf, const std::vector<Message>& messages);
  void ApplyToInner(Node* node, const std::vector<Message>& messages);
  void NoteRootBytes(const Node& root);

  // These functions are in tree_shape.cc.
  void SplitChild(Node* parent, size_t part, Node* child);
  void SplitLeaf(Node* parent, size_t part, Node* leaf);
  void SplitInner(Node* parent, size_t part, Node* node);
  void SplitRoot();
  void MergeIfSmall(const NodeRef& parent, size_t part, ReadCounters* counters);
  bool SmallPair(const NodeRef& parent, size_t part, BlockId* left, BlockId* right) const;
  void MergePair(const NodeRef& parent, size_t part, const NodeRef& left, const NodeRef& right);

  const TreeEnv env_;
  const uint32_t table_;
  const NodeRef root_;
  std::atomic<uint64_t> root_bytes_{0};
};

}  // namespace testbed::fractal

#endif  // TESTBED_ENGINES_FRACTAL_TREE_TREE_H_
