// This file has the splits and merges of nodes. The caller of each function is in the gate, and
// holds Node::flushing of the parent and the exclusive latches of all nodes that change. Each split
// gets its memory first and then moves what throws nothing, so that readers find all rows also
// after an exception.
#include <algorithm>
#include <iterator>
#include <shared_mutex>
#include <utility>

#include "engines/fractal/tree/tree.h"

namespace testbed::fractal {
namespace {

// Moves the parts from index `from` on, and the pivots between them, to the end of another node.
// Returns the pivot before the first moved part. Throws only before it changes a node.
std::string MoveTail(Node* node, size_t from, Node* to) {
  to->parts.reserve(to->parts.size() + node->parts.size() - from);
  to->pivots.reserve(to->pivots.size() + node->parts.size() - from);
  const auto parts = node->parts.begin() + static_cast<ptrdiff_t>(from);
  const auto pivots = node->pivots.begin() + static_cast<ptrdiff_t>(from) - 1;
  std::string pivot = std::move(*pivots);
  std::move(parts, node->parts.end(), std::back_inserter(to->parts));
  std::move(pivots + 1, node->pivots.end(), std::back_inserter(to->pivots));
  node->parts.erase(parts, node->parts.end());
  node->pivots.erase(pivots, node->pivots.end());
  return pivot;
}

Part LinkTo(const Node& child) {
  Part link;
  link.child = child.block;
  link.buffer = std::make_unique<MessageBuffer>();
  return link;
}

// Moves the parts from index `from` on to a new sibling, and links the sibling behind the node,
// which is child `part` of the parent. Throws only before it changes a node that has rows.
void SplitOff(Node* parent, size_t part, Node* node, size_t from, Node* sibling) {
  Part link = LinkTo(*sibling);
  link.heat = 1;
  parent->parts.reserve(parent->parts.size() + 1);
  parent->pivots.reserve(parent->pivots.size() + 1);
  std::string pivot = MoveTail(node, from, sibling);
  sibling->max_number = node->max_number;
  parent->parts.insert(parent->parts.begin() + static_cast<ptrdiff_t>(part) + 1, std::move(link));
  parent->pivots.insert(parent->pivots.begin() + static_cast<ptrdiff_t>(part), std::move(pivot));
}

}  // namespace

// Splits child `part` of the parent. The child's buffer in the parent is empty, because the flush
// that made the child too large has emptied it.
void Tree::SplitChild(Node* parent, size_t part, Node* child) {
  if (child->leaf()) {
    if (child->raw_bytes() > env_.options.node_size && child->parts.size() > 1) {
      SplitLeaf(parent, part, child);
    }
  } else if (child->parts.size() > env_.options.fanout) {
    SplitInner(parent, part, child);
  }
}

// Splits a leaf into two halves, or into more pieces when its rows need more than two nodes.
void Tree::SplitLeaf(Node* parent, size_t part, Node* leaf) {
  const uint64_t bytes = leaf->raw_bytes(), node = env_.options.node_size;
  const uint64_t pieces = std::max<uint64_t>(2, (bytes + node - 1) / node);
  std::vector<size_t> cuts;
  uint64_t so_far = 0;
  for (size_t p = 0; p + 1 < leaf->parts.size(); ++p) {
    so_far += leaf->parts[p].raw_bytes();
    if (so_far >= bytes * (cuts.size() + 1) / pieces) cuts.push_back(p + 1);
    if (cuts.size() + 1 == pieces) break;
  }
  if (cuts.empty()) cuts.push_back(leaf->parts.size() - 1);
  for (size_t i = cuts.size(); i-- > 0;) {
    const NodeRef sibling = env_.cache->Create(0);
    SplitOff(parent, part, leaf, cuts[i], sibling.get());
    env_.cache->AfterChange(sibling.get());
    env_.counters->leaf_splits.fetch_add(1, std::memory_order_relaxed);
  }
  env_.cache->AfterChange(leaf);
  env_.cache->AfterChange(parent);
}

void Tree::SplitInner(Node* parent, size_t part, Node* node) {
  const NodeRef sibling = env_.cache->Create(node->height);
  SplitOff(parent, part, node, node->parts.size() / 2, sibling.get());
  env_.cache->AfterChange(sibling.get());
  env_.cache->AfterChange(node);
  env_.cache->AfterChange(parent);
  env_.counters->inner_splits.fetch_add(1, std::memory_order_relaxed);
}

// Moves the children of a root that has too many of them into two new nodes. The root then has
// these two as its children.
void Tree::SplitRoot() {
  const Gate::Pass pass(env_.gate);
  Node* root = root_.get();
  std::lock_guard latch(root->latch);
  if (root->parts.size() <= env_.options.fanout) return;
  env_.cache->BeforeChange(root);
  const NodeRef left = env_.cache->Create(root->height);
  const NodeRef right = env_.cache->Create(root->height);
  std::vector<Part> links;
  for (const Node* node : {left.get(), right.get()}) links.push_back(LinkTo(*node));
  std::vector<std::string> pivots(1);
  pivots[0] = MoveTail(root, root->parts.size() / 2, right.get());
  left->parts = std::exchange(root->parts, std::move(links));
  left->pivots = std::exchange(root->pivots, std::move(pivots));
  for (Node* node : {left.get(), right.get()}) {
    node->max_number = root->max_number;
    env_.cache->AfterChange(node);
  }
  ++root->height;
  env_.cache->AfterChange(root);
  NoteRootBytes(*root);
  env_.counters->root_splits.fetch_add(1, std::memory_order_relaxed);
}

// Returns whether child `part`, a leaf in memory, has less than a quarter of a node and has a
// neighbour. If so, sets *left and *right to the leaf and that neighbour, in key order.
bool Tree::SmallPair(const NodeRef& parent, size_t part, BlockId* left, BlockId* right) const {
  std::shared_lock latch(parent->latch);
  if (parent->parts.size() < 2) return false;
  const size_t first = part + 1 < parent->parts.size() ? part : part - 1;
  *left = parent->parts[first].child;
  *right = parent->parts[first + 1].child;
  const NodeRef child = env_.cache->Find(parent->parts[part].child);
  std::shared_lock child_latch(child->latch);
  return child->raw_bytes() < env_.options.node_size / 4;
}

// Merges a leaf below a quarter of a node with its neighbour, unless both would be split soon
// again. Inner nodes are not merged: there are few, and an empty one costs little.
void Tree::MergeIfSmall(const NodeRef& parent, size_t part, ReadCounters* counters) {
  BlockId blocks[2];
  if (!SmallPair(parent, part, &blocks[0], &blocks[1])) return;
  const NodeRef left = Child(*parent, blocks[0], counters);
  const NodeRef right = Child(*parent, blocks[1], counters);
  uint64_t bytes = 0;
  for (const NodeRef& node : {left, right}) {
    std::shared_lock latch(node->latch);
    bytes += node->raw_bytes();
  }
  if (bytes > env_.options.node_size / 4 * 3) return;
  env_.cache->FetchAll(left, counters);
  env_.cache->FetchAll(right, counters);
  MergePair(parent, part, left, right);
}

void Tree::MergePair(const NodeRef& parent, size_t part, const NodeRef& left,
                     const NodeRef& right) {
  const Gate::Pass pass(env_.gate);
  std::lock_guard parent_latch(parent->latch);
  std::lock_guard left_latch(left->latch);
  std::lock_guard right_latch(right->latch);
  const size_t first = parent->parts[part].child == left->block ? part : part - 1;
  // The running checkpoint may still need each of these nodes as it is.
  for (Node* node : {parent.get(), left.get(), right.get()}) env_.cache->BeforeChange(node);
  left->parts.reserve(left->parts.size() + right->parts.size());
  left->pivots.reserve(left->pivots.size() + right->parts.size());
  parent->parts[first].buffer->AddSorted(parent->parts[first + 1].buffer->All());
  // From here on nothing throws until the right leaf is in no tree any more.
  left->pivots.push_back(std::move(parent->pivots[first]));
  std::move(right->pivots.begin(), right->pivots.end(), std::back_inserter(left->pivots));
  std::move(right->parts.begin(), right->parts.end(), std::back_inserter(left->parts));
  left->max_number = std::max(left->max_number, right->max_number);
  parent->parts.erase(parent->parts.begin() + static_cast<ptrdiff_t>(first) + 1);
  parent->pivots.erase(parent->pivots.begin() + static_cast<ptrdiff_t>(first));
  env_.cache->Remove(right.get());
  env_.cache->AfterChange(left.get());
  env_.cache->AfterChange(parent.get());
  if (parent == root_) NoteRootBytes(*parent);
  env_.counters->merges.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace testbed::fractal
