// This file has the flushes of the tree, which move messages from a node to its children.
#include <algorithm>
#include <iterator>
#include <shared_mutex>
#include <span>
#include <utility>

#include "engines/fractal/node/lay_over.h"
#include "engines/fractal/tree/tree.h"

namespace testbed::fractal {
namespace {

// Returns a part that shares the rows of a leaf's part.
Part SharedPart(const Part& from) {
  Part part;
  part.rows = from.rows;
  part.heat = from.heat;
  return part;
}

uint64_t BufferedBytes(const Node& node) {
  uint64_t bytes = 0;
  for (const Part& part : node.parts) bytes += part.raw_bytes();
  return bytes;
}

// A LeafPacker packs the rows of a leaf into new basements, each filled to the page. It takes a
// part that no message touches over unchanged when a page ends just before that part. The leaf
// stays as it is until Finish, which throws only before it changes the leaf.
class LeafPacker {
 public:
  LeafPacker(size_t page_size, size_t parts) : builder_(page_size) { parts_.reserve(parts + 4); }

  void Add(std::string_view key, std::string_view value) {
    if (!builder_.Fits(key, value)) Close();
    if (builder_.empty()) low_ = key;
    builder_.Add(key, value);
  }
  // Takes over a part as it is, unless its first row would fit into the page that is being filled.
  // `low` is the part's pivot.
  bool TakeOver(const Part& part, const std::string& low) {
    if (part.rows->count() == 0) return true;
    if (!builder_.empty() && !builder_.Fits(part.rows->key(0), part.rows->value(0))) Close();
    if (!builder_.empty()) return false;
    low_ = low;
    Push(SharedPart(part));
    return true;
  }
  void Finish(Node* leaf) {
    if (!builder_.empty() || parts_.empty()) Close();
    leaf->parts = std::move(parts_);
    leaf->pivots = std::move(pivots_);
  }

 private:
  void Close() {
    Part part;
    part.rows = builder_.Finish();
    part.heat = 1;
    Push(std::move(part));
  }
  void Push(Part part) {
    if (!parts_.empty()) pivots_.push_back(low_);
    parts_.push_back(std::move(part));
  }
  BasementBuilder builder_;
  std::vector<Part> parts_;
  std::vector<std::string> pivots_;
  std::string low_;  // pivot of the basement that is being built
};

}  // namespace

void Tree::NoteRootBytes(const Node& root) {
  root_bytes_.store(BufferedBytes(root), std::memory_order_relaxed);
}

void Tree::MakeRoom(ReadCounters* counters) {
  if (!full()) return;
  IoScope scope(kCompaction);
  while (full()) {
    PrepareHeaviest(counters);
    std::unique_lock flushing(root_->flushing, std::try_to_lock);
    if (!flushing.owns_lock()) {
      // Another thread is flushing the root. Meanwhile the root takes more messages, up to twice
      // its limit.
      if (root_bytes() < 2 * root_limit()) return;
      flushing.lock();
      if (!full()) return;
    }
    FlushHeaviest(root_, counters);
  }
}

bool Tree::HeaviestChild(const NodeRef& parent, size_t* part, BlockId* child,
                         uint64_t* bytes) const {
  std::shared_lock latch(parent->latch);
  if (parent->gone || parent->leaf()) return false;
  const auto heaviest =
      std::max_element(parent->parts.begin(), parent->parts.end(),
                       [](const Part& a, const Part& b) { return a.raw_bytes() < b.raw_bytes(); });
  if (heaviest->buffer == nullptr || heaviest->buffer->empty()) return false;
  *part = static_cast<size_t>(heaviest - parent->parts.begin());
  *child = heaviest->child;
  *bytes = heaviest->raw_bytes();
  return true;
}

// Moves the messages of the heaviest child down to it, after making room for them in the child. So
// an inner node never holds more than its limit, and no flush is larger than it must be. Returns
// false if there is nothing to move. The caller holds `flushing` of the parent.
bool Tree::FlushHeaviest(const NodeRef& parent, ReadCounters* counters) {
  env_.cache->FetchAll(parent, counters);
  size_t part;
  BlockId block;
  uint64_t bytes;
  if (!HeaviestChild(parent, &part, &block, &bytes)) return false;
  const NodeRef child = Child(*parent, block, counters);
  std::unique_lock<std::mutex> child_flushing;
  if (!child->leaf()) {
    child_flushing = std::unique_lock(child->flushing);
    MakeRoomFor(child, bytes, counters);
    TouchHeader(child.get());
  }
  env_.cache->FetchAll(child, counters);
  env_.cache->WriteIfPending(child);
  TouchHeader(parent.get());
  {
    const Gate::Pass pass(env_.gate);
    std::lock_guard parent_latch(parent->latch);
    std::lock_guard child_latch(child->latch);
    MoveMessages(parent.get(), part, child.get());
    SplitChild(parent.get(), part, child.get());
    if (parent == root_) NoteRootBytes(*parent);
  }
  if (child->leaf()) MergeIfSmall(parent, part, counters);
  if (parent == root_) SplitRoot();
  child_flushing = {};
  env_.cache->Evict();
  return true;
}

// Flushes an inner node until it has room for `bytes` of messages. The caller holds `flushing` of
// the node.
void Tree::MakeRoomFor(const NodeRef& node, uint64_t bytes, ReadCounters* counters) {
  const auto full = [&] {
    std::shared_lock latch(node->latch);
    const uint64_t held = BufferedBytes(*node);
    return held > 0 && held + bytes > env_.options.node_size;
  };
  while (full() && FlushHeaviest(node, counters)) {
  }
}

// Makes room in the child to which the root will flush next. Meanwhile other threads can flush the
// root to its other children.
void Tree::PrepareHeaviest(ReadCounters* counters) {
  size_t part;
  BlockId block;
  uint64_t bytes;
  if (!HeaviestChild(root_, &part, &block, &bytes)) return;
  const NodeRef child = env_.cache->Get(block, counters);
  if (child == nullptr || child->leaf()) return;
  if (child->height + 1 != height()) return;  // if this is damage, FlushHeaviest reports it
  std::unique_lock flushing(child->flushing, std::try_to_lock);
  if (flushing.owns_lock()) MakeRoomFor(child, bytes, counters);
}

// Moves the messages of the part to the child. The caller is in the gate and holds both latches
// exclusively. The messages leave the parent after everything that may throw. If messages have
// reached an inner child and stay in the parent as well, they do no harm.
void Tree::MoveMessages(Node* parent, size_t part, Node* child) {
  env_.cache->BeforeChange(parent);
  env_.cache->BeforeChange(child);
  auto empty = std::make_unique<MessageBuffer>();
  std::unique_ptr<MessageBuffer>& buffer = parent->parts[part].buffer;
  const std::vector<Message> messages = buffer->All();
  for (const Message& m : messages) child->max_number = std::max(child->max_number, m.number);
  TreeCounters& c = *env_.counters;
  c.flushes.fetch_add(1, std::memory_order_relaxed);
  c.flush_bytes.fetch_add(buffer->bytes(), std::memory_order_relaxed);
  if (child->leaf()) {
    c.leaf_flushes.fetch_add(1, std::memory_order_relaxed);
    c.leaf_flush_bytes.fetch_add(buffer->bytes(), std::memory_order_relaxed);
    c.messages_applied.fetch_add(messages.size(), std::memory_order_relaxed);
    ApplyToLeaf(child, messages);
  } else {
    c.messages_moved.fetch_add(messages.size(), std::memory_order_relaxed);
    ApplyToInner(child, messages);
  }
  buffer = std::move(empty);
  env_.cache->AfterChange(parent);
  env_.cache->AfterChange(child);
}

void Tree::ApplyToLeaf(Node* leaf, const std::vector<Message>& messages) {
  LeafPacker packer(env_.options.page_size, leaf->parts.size());
  size_t m = 0;
  for (size_t p = 0; p < leaf->parts.size(); ++p) {
    size_t end = m;
    const bool last = p == leaf->pivots.size();
    while (end < messages.size() && (last || messages[end].key < leaf->pivots[p])) ++end;
    const std::string low = p > 0 ? leaf->pivots[p - 1] : std::string();
    if (m == end && packer.TakeOver(leaf->parts[p], low)) continue;
    LayOver(*leaf->parts[p].rows, std::span(messages).subspan(m, end - m),
            [&packer](std::string_view key, std::string_view value) { packer.Add(key, value); });
    m = end;
  }
  packer.Finish(leaf);
}

void Tree::ApplyToInner(Node* node, const std::vector<Message>& messages) {
  for (size_t m = 0; m < messages.size();) {
    const size_t p = node->PartOf(messages[m].key);
    std::vector<Message> group;
    for (; m < messages.size() && (p == node->pivots.size() || messages[m].key < node->pivots[p]);
         ++m) {
      group.push_back(messages[m]);
    }
    node->parts[p].buffer->AddSorted(group);
  }
}

bool Tree::Clean(uint64_t least, ReadCounters* counters, Reach reach) {
  NodeRef heaviest;
  std::vector<NodeRef> nodes = {root_};
  std::vector<BlockId> children;
  while (!nodes.empty()) {
    const NodeRef node = std::move(nodes.back());
    nodes.pop_back();
    children.clear();
    uint32_t height = 0;
    {
      std::shared_lock latch(node->latch);
      if (node->gone || node->leaf()) continue;
      height = node->height;
      const uint64_t bytes = BufferedBytes(*node);
      if (bytes >= least) {
        heaviest = node;
        least = bytes;
      }
      if (height < 2) continue;
      for (const Part& part : node->parts) children.push_back(part.child);
    }
    for (const BlockId block : children) {
      NodeRef child =
          reach == Reach::kTree ? env_.cache->Get(block, counters) : env_.cache->Find(block);
      if (child == nullptr || child->height >= height) continue;
      if (reach == Reach::kTree) TouchHeader(child.get());
      nodes.push_back(std::move(child));
    }
  }
  if (heaviest == nullptr) return false;
  std::unique_lock flushing(heaviest->flushing, std::try_to_lock);
  if (!flushing.owns_lock()) return false;
  env_.counters->cleaner_flushes.fetch_add(1, std::memory_order_relaxed);
  return FlushHeaviest(heaviest, counters);
}

}  // namespace testbed::fractal
