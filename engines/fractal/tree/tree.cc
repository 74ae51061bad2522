#include "engines/fractal/tree/tree.h"

#include <algorithm>
#include <shared_mutex>
#include <utility>

#include "device/error.h"
#include "engines/fractal/node/lay_over.h"

namespace testbed::fractal {
namespace {

// The heat of a node is the number of second chances that it gets at eviction. Inner nodes have
// many, since they serve many look-ups. Headers have many, too: they are small, and without the
// header the read of a part takes two reads.
constexpr uint8_t kInnerHeat = 15, kLeafHeat = 3;

}  // namespace

NodeRef Tree::CreateRoot(Cache* cache, uint32_t page_size) {
  const NodeRef leaf = cache->Create(0);
  leaf->parts.resize(1);
  leaf->parts[0].rows = BasementBuilder(page_size).Finish();
  cache->AfterChange(leaf.get());
  NodeRef root = cache->Create(1);
  root->parts.resize(1);
  root->parts[0].child = leaf->block;
  root->parts[0].buffer = std::make_unique<MessageBuffer>();
  cache->AfterChange(root.get());
  return root;
}

uint32_t Tree::height() const {
  std::shared_lock latch(root_->latch);
  return root_->height;
}

// Fetches what a descent missed. A block that is in no table has usually left its parent as well,
// so the next descent does not come to it. If the block is still its parent's child, the database
// is damaged.
void Tree::FetchMissing(const Missing& missing, int* lost, ReadCounters* counters) const {
  constexpr int kMostLost = 1000;
  if (missing.node != nullptr) {
    env_.cache->Fetch(missing.node, missing.part, counters);
  } else if (env_.cache->Get(missing.block, counters) == nullptr && ++*lost > kMostLost) {
    ThrowLost(missing.block);
  }
}

void Tree::ThrowLost(BlockId block) const {
  throw Error(Error::kCorruption, "block " + std::to_string(block) + " of the data file " +
                                      env_.cache->file()->path() +
                                      " is a child and is not in the translation table; restore "
                                      "the database from a copy, or load it again");
}

void Tree::ThrowWrongHeight(BlockId block) const {
  throw Error(Error::kCorruption, "block " + std::to_string(block) + " of the data file " +
                                      env_.cache->file()->path() +
                                      " is not of the height below its parent's; restore the "
                                      "database from a copy, or load it again");
}

// Returns a child of `parent`. The caller holds `flushing` of the parent, so the parent's children
// and height stay as they are.
NodeRef Tree::Child(const Node& parent, BlockId block, ReadCounters* counters) const {
  NodeRef child = env_.cache->Get(block, counters);
  if (child == nullptr) ThrowLost(block);
  if (child->height + 1 != parent.height) ThrowWrongHeight(block);
  return child;
}

bool Tree::Get(std::string_view key, std::string* value, ReadCounters* counters) const {
  for (int lost = 0;;) {
    Missing missing;
    uint64_t touched = 0;
    const Found found = TryGet(key, value, &touched, &missing);
    if (found != Found::kMissing) {
      counters->requests.Add(touched);
      return found == Found::kYes;
    }
    FetchMissing(missing, &lost, counters);
  }
}

Tree::Found Tree::TryGet(std::string_view key, std::string* value, uint64_t* touched,
                         Missing* missing) const {
  NodeRef node = root_;
  std::shared_lock latch(node->latch);
  for (;;) {
    const size_t i = node->PartOf(key);
    const Part& part = node->parts[i];
    TouchHeader(node.get());
    if (!part.there()) {
      *missing = {node, i, kNoBlock};
      return Found::kMissing;
    }
    part.Touch(node->leaf() ? kLeafHeat : kInnerHeat);
    ++*touched;
    if (node->leaf()) {
      const BasementRef rows = part.rows;
      latch.unlock();
      bool equal;
      const uint32_t row = rows->LowerBound(key, &equal);
      if (!equal) return Found::kNo;
      value->assign(rows->value(row));
      return Found::kYes;
    }
    if (const std::optional<Message> message = part.buffer->Find(key)) {
      if (message->erase) return Found::kNo;
      value->assign(message->value);
      return Found::kYes;
    }
    NodeRef child = env_.cache->Find(part.child);
    if (child == nullptr) {
      missing->block = part.child;
      return Found::kMissing;
    }
    std::shared_lock child_latch(child->latch);
    if (child->height + 1 != node->height) ThrowWrongHeight(part.child);
    latch = std::move(child_latch);  // releases the parent's latch
    node = std::move(child);
  }
}

// Path holds the latches of a descent that releases none of them before its end.
struct Tree::Path {
  std::vector<NodeRef> nodes;
  std::vector<std::shared_lock<std::shared_mutex>> latches;
  std::vector<const MessageBuffer*> above;  // the buffers that the descent passed, the root's first
  void Enter(NodeRef node) {
    latches.emplace_back(node->latch);
    nodes.push_back(std::move(node));
  }
};

void Tree::CopyBasement(Bound bound, std::string_view key, BasementCopy* copy,
                        ReadCounters* counters) const {
  for (int lost = 0;;) {
    Missing missing;
    uint64_t touched = 0;
    if (TryCopy(bound, key, copy, &touched, &missing)) {
      counters->requests.Add(touched);
      return;
    }
    FetchMissing(missing, &lost, counters);
  }
}

bool Tree::TryCopy(Bound bound, std::string_view key, BasementCopy* copy, uint64_t* touched,
                   Missing* missing) const {
  Path path;
  path.Enter(root_);
  copy->low.clear();
  copy->high.reset();
  for (;;) {
    Node* node = path.nodes.back().get();
    const size_t i = bound == Bound::kLast    ? node->parts.size() - 1
                     : bound == Bound::kBelow ? node->PartBelow(key)
                                              : node->PartOf(key);
    const Part& part = node->parts[i];
    TouchHeader(node);
    if (!part.there()) {
      *missing = {path.nodes.back(), i, kNoBlock};
      return false;
    }
    part.Touch(node->leaf() ? kLeafHeat : kInnerHeat);
    ++*touched;
    if (i > 0) copy->low = node->pivots[i - 1];
    if (i < node->pivots.size()) copy->high = node->pivots[i];
    if (node->leaf()) {
      copy->rows = part.rows;
      break;
    }
    path.above.push_back(part.buffer.get());
    NodeRef child = env_.cache->Find(part.child);
    if (child == nullptr) {
      missing->block = part.child;
      return false;
    }
    const BlockId block = part.child;
    const uint32_t above = node->height;
    path.Enter(std::move(child));
    if (path.nodes.back()->height + 1 != above) ThrowWrongHeight(block);
  }
  std::optional<std::string_view> high;
  if (copy->high) high = *copy->high;
  copy->rows = LayBuffersOver(copy->rows, path.above, copy->low, high);
  return true;
}

void Tree::Insert(const std::vector<Message>& messages) {
  Node* root = root_.get();
  std::lock_guard latch(root->latch);
  env_.cache->BeforeChange(root);
  for (const Message& message : messages) {
    MessageBuffer* buffer = root->parts[root->PartOf(message.key)].buffer.get();
    const size_t memory = buffer->memory(), bytes = buffer->bytes();
    buffer->Add(message);
    env_.cache->AfterChange(root, memory, buffer->memory());
    root_bytes_.fetch_add(buffer->bytes() - bytes, std::memory_order_relaxed);
    root->max_number = std::max(root->max_number, message.number);
  }
}

}  // namespace testbed::fractal
