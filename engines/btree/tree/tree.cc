#include "engines/btree/tree/tree.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "device/error.h"
#include "engines/btree/tree/overflow.h"

namespace testbed::btree {

void Tree::FormatRoot(char* page, uint32_t page_size, PageId id, uint32_t table) {
  Node(page, page_size).Init(id, table, PageType::kLeaf, 0, {}, {}, true);
}

OptimisticGuard Tree::Descend(TreeContext* context, Bound bound, std::string_view key,
                              uint8_t level) const {
  OptimisticGuard guard = env_.pool->Optimistic(&context->client, root_);
  for (;;) {
    const Node node(guard.page(), page_size());
    const uint8_t above = node.header()->level;  // level 0 is a leaf
    if (above <= level) return guard;
    uint32_t i = 0;
    switch (bound) {
      case Bound::kCover:
        i = node.ChildIndex(key);
        break;
      case Bound::kBelow:
        i = node.ChildIndexBelow(key);
        break;
      case Bound::kLast:
        i = std::max(1u, node.count()) - 1;
        break;
    }
    const PageId child = node.Child(i);
    if (guard.Valid()) {
      try {
        // The parent's version is compared after the child's version was taken: if it is unchanged,
        // the child was the parent's child at that moment.
        OptimisticGuard next = env_.pool->Optimistic(&context->client, child);
        Node::PrefetchSearch(next.page(), page_size());
        const bool falls = Header(next.page())->level + 1 == above;
        if (guard.Valid()) {
          if (!falls && next.Valid() && guard.Valid()) ThrowWrongPage(child);
          guard = std::move(next);
          continue;
        }
      } catch (const Error&) {
        if (guard.Valid()) throw;
      }
    }
    guard = env_.pool->Optimistic(&context->client, root_);
  }
}

void Tree::ThrowWrongPage(PageId id) const {
  throw Error(Error::kCorruption, "page " + std::to_string(id) + " of file " +
                                      env_.pool->file()->data().path() +
                                      " does not match the page above it: it is an old version or "
                                      "another page; restore the database from a copy, or load it "
                                      "again");
}

ExclusiveGuard Tree::FindLeafExclusive(TreeContext* context, std::string_view key) {
  for (;;) {
    OptimisticGuard guard = Descend(context, Bound::kCover, key);
    ExclusiveGuard leaf = env_.pool->Upgrade(&context->client, &guard);
    if (leaf && Header(leaf.page())->level == 0) return leaf;
  }
}

// Latches the leaf that covers the key, unless *leaf is that leaf already.
void Tree::MoveToLeaf(TreeContext* context, std::string_view key, ExclusiveGuard* leaf) {
  if (*leaf && Node(leaf->page(), page_size()).Covers(key)) return;
  leaf->Release();
  *leaf = FindLeafExclusive(context, key);
}

// Latches the node above `level` on the way to `key`. Returns an empty guard when the root is at
// `level` or below.
ExclusiveGuard Tree::FindParent(TreeContext* context, std::string_view key, uint8_t level) {
  for (;;) {
    OptimisticGuard guard = Descend(context, Bound::kCover, key, static_cast<uint8_t>(level + 1));
    const uint8_t found = Header(guard.page())->level;
    if (found <= level) {
      if (guard.Valid()) return {};
      continue;
    }
    ExclusiveGuard parent = env_.pool->Upgrade(&context->client, &guard);
    if (parent && Header(parent.page())->level == level + 1) {
      // The range of this page is not compared with that of the node above, but the page must cover
      // the key.
      if (!Node(parent.page(), page_size()).Covers(key)) ThrowWrongPage(parent.id());
      return parent;
    }
  }
}

bool Tree::Get(TreeContext* context, std::string_view key, std::string* value) const {
  for (;;) {
    OptimisticGuard leaf = Descend(context, Bound::kCover, key);
    const Node node(leaf.page(), page_size());
    bool found;
    const uint32_t at = node.LowerBoundInside(key, &found);
    const LeafValue stored = found ? node.Value(at) : LeafValue{};
    if (found && !stored.overflow) value->assign(stored.bytes);
    // If the file gave an old version of this page, its key range may be another one. So when the
    // page lacks the row or has another value, its range is checked before it is trusted.
    const bool covers = node.CoversAt(key, at, found);
    if (!leaf.Valid()) continue;
    if (!covers) ThrowWrongPage(leaf.id());
    if (!stored.overflow) return found;
    // With kLatchedReads the guard holds a latch, and GetLong latches from the root on, above this
    // page.
    leaf = {};
    return GetLong(context, key, value);
  }
}

uint32_t Tree::Levels(TreeContext* context) const {
  for (;;) {
    if (const uint32_t known = levels_.load(std::memory_order_relaxed); known != 0) return known;
    OptimisticGuard root = env_.pool->Peek(root_);
    if (root.page() == nullptr) root = env_.pool->Optimistic(&context->client, root_);
    const uint32_t levels = Header(root.page())->level + 1u;
    if (!root.Valid()) continue;
    // If another thread has changed the root since then, it has also set the number.
    uint32_t unknown = 0;
    levels_.compare_exchange_strong(unknown, levels, std::memory_order_relaxed);
  }
}

// GetLong is Get for a row whose value is in overflow pages. The leaf's latch keeps these pages
// from being freed while they are read.
bool Tree::GetLong(TreeContext* context, std::string_view key, std::string* value) const {
  for (;;) {
    OptimisticGuard guard = Descend(context, Bound::kCover, key);
    const SharedGuard leaf = env_.pool->Hold(&guard);
    if (!leaf) continue;
    const Node node(leaf.page(), page_size());
    bool found;
    const uint32_t at = node.LowerBoundInside(key, &found);
    if (!node.CoversAt(key, at, found)) ThrowWrongPage(leaf.id());
    if (!found) return false;
    const LeafValue stored = node.Value(at);
    if (stored.overflow) {
      ReadOverflow(env_.pool, *env_.space, &context->client, table_, node.Overflow(at), value);
    } else {
      value->assign(stored.bytes);
    }
    return true;
  }
}

void Tree::CopyLeaf(TreeContext* context, Bound bound, std::string_view key, char* copy) const {
  for (;;) {
    const OptimisticGuard leaf = Descend(context, bound, key);
    std::memcpy(copy, leaf.page(), page_size());
    if (!leaf.Valid()) continue;
    const Node node(copy, page_size());
    // If the leaf's key range does not cover the key, the page is not the right one, and a scan
    // would not advance.
    const bool leads = bound == Bound::kCover ? node.Covers(key)
                       : bound == Bound::kBelow
                           ? node.LowFence() < key && (node.unbounded() || key <= node.HighFence())
                           : node.unbounded();
    if (!leads) ThrowWrongPage(leaf.id());
    return;
  }
}

bool Tree::LeafInPool(TreeContext* context, std::string_view key) const {
  for (;;) {
    const OptimisticGuard guard = Descend(context, Bound::kCover, key, 1);
    const Node node(guard.page(), page_size());
    const PageId leaf = node.leaf() ? guard.id() : node.Child(node.ChildIndex(key));
    if (guard.Valid()) return env_.pool->Contains(leaf);
  }
}

uint32_t Tree::ReadAhead(TreeContext* context, std::string_view key, uint32_t pages) const {
  std::vector<PageId> leaves;
  for (;;) {
    const OptimisticGuard guard = Descend(context, Bound::kCover, key, 1);
    const Node node(guard.page(), page_size());
    leaves.clear();
    if (!node.leaf()) {
      const uint32_t count = node.count();
      for (uint32_t i = node.ChildIndex(key); i < count && leaves.size() < pages; ++i) {
        leaves.push_back(node.Child(i));
      }
    }
    if (guard.Valid()) break;
  }
  if (leaves.size() < 2) return static_cast<uint32_t>(leaves.size());
  PageFile* file = env_.pool->file();
  if (!file->can_start_reads()) {
    for (const PageId leaf : leaves) file->Prefetch(leaf);
    return static_cast<uint32_t>(leaves.size());
  }
  if (context->ring == nullptr) {
    try {
      context->ring = std::make_unique<ReadRing>(context->read_ahead, false);
    } catch (const Error&) {
      context->read_ahead = 0;  // without io_uring, scans read one page after the other
      return 0;
    }
  }
  try {
    env_.pool->Fetch(&context->client, context->ring.get(), leaves);
  } catch (const Error&) {
    context->ring.reset();  // reads that nobody could wait for may still be in it
    context->read_ahead = 0;
    return 0;
  }
  return static_cast<uint32_t>(leaves.size());
}

bool Tree::ChangeRow(Node* node, const LeafWrite& row, uint32_t at, bool found) {
  if (row.erase) {
    node->Remove(at);
    return true;
  }
  return found ? node->UpdateLeaf(at, row.value) : node->InsertLeaf(at, row.key, row.value);
}

// Writes a row whose old or new value lies in overflow pages. Replay must never see a reference
// without its run, so one log record has the image of the leaf and the runs that became used and
// free.
bool Tree::WriteWithOverflow(TreeContext* context, ExclusiveGuard* leaf, const LeafWrite& row,
                             uint32_t at, bool found) {
  Node node(leaf->page(), page_size());
  char* image = context->scratch.data();
  std::memcpy(image, leaf->page(), page_size());
  Node changed(image, page_size());
  if (!ChangeRow(&changed, row, at, found)) return false;
  OverflowRef old, now;
  if (found && node.Value(at).overflow) {
    old = node.Overflow(at);
    if (!IsRun(old, *env_.space, page_size())) ThrowWrongPage(leaf->id());
  }
  if (!row.erase && row.value.overflow) {
    std::memcpy(&now, row.value.bytes.data(), kOverflowRefSize);
  }
  StructureRecord& record = context->record;
  record.Clear();
  if (now.pages > 0) record.Use(now.first, now.pages);
  if (old.pages > 0) record.Free(old.first, old.pages);
  record.Image(image, page_size());
  const LogRange range = env_.log->Append(record.Encode());
  std::memcpy(leaf->page(), image, page_size());
  leaf->MarkDirty(std::min(context->commit.begin, range.begin), range.end);
  if (now.pages > 0) env_.space->MarkUsed(now.first, now.pages);
  if (old.pages > 0) {
    env_.pool->Discard(old.first, old.pages);
    env_.space->MarkFree(old.first, old.pages);
  }
  return true;
}

void Tree::Write(TreeContext* context, const LeafWrite& row, ExclusiveGuard* leaf) {
  for (;;) {
    MoveToLeaf(context, row.key, leaf);
    Node node(leaf->page(), page_size());
    bool found;
    const uint32_t at = node.PlaceOf(row.key, &found);
    if (!node.CoversAt(row.key, at, found)) ThrowWrongPage(leaf->id());
    if (row.erase && !found) {
      if (context->recovers) leaf->MarkDirty(context->commit.begin, context->commit.end);
      return;
    }
    const size_t used = node.UsedBytes();
    size_t need = 0;
    if (!row.erase) {
      need = node.LeafEntrySize(row.key.size(), row.value.bytes.size());
      if (found) need -= node.LeafEntrySize(row.key.size(), node.Value(at).bytes.size());
    }
    const bool overflow = (!row.erase && row.value.overflow) || (found && node.Value(at).overflow);
    bool done;
    if (overflow) {
      done = WriteWithOverflow(context, leaf, row, at, found);
    } else {
      done = ChangeRow(&node, row, at, found);
      if (done) leaf->MarkDirty(context->commit.begin, context->commit.end);
    }
    if (done) {
      // A merge is tried when the leaf falls below a quarter, below an eighth or becomes empty, and
      // not at each row that is erased while the leaf stays below one of these marks. Recovery
      // tries none: a leaf that is small for a while gets its rows back, and on a full disk its
      // page might be taken by then.
      if (context->recovers) return;
      const size_t quarter = node.Capacity() / 4;
      const size_t left = node.UsedBytes();
      if ((used >= quarter && left < quarter) || (used >= quarter / 2 && left < quarter / 2) ||
          (row.erase && node.count() == 0)) {
        leaf->Release();
        Merge(context, row.key, 0);
      }
      return;
    }
    leaf->Release();
    Split(context, row.key, 0, need);
  }
}

}  // namespace testbed::btree
