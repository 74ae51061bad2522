// This file has the changes of the tree's shape. Each change first does everything that can fail:
// it latches all pages that it touches, prepares their new content, and appends its log record.
// Only then it changes the pages, which cannot fail.
#include <algorithm>
#include <cstring>
#include <string>

#include "engines/btree/tree/tree.h"

namespace testbed::btree {

// Reserves a page and latches it. The caller marks it used, or cancels the reservation.
ExclusiveGuard Tree::NewPage(TreeContext* context) {
  // In recovery nothing was promised for splits (Store::KeepFreePages).
  const PageId id = context->recovers ? env_.space->ReserveBeside(1) : env_.space->Reserve(1);
  try {
    return env_.pool->WriteNew(&context->client, id);
  } catch (...) {
    env_.space->Cancel(id, 1);
    throw;
  }
}

void Tree::CheckChild(const Node& above, uint32_t i, const ExclusiveGuard& child) const {
  const Node node(child.page(), page_size());
  const NodeHeader* h = node.header();
  const bool last = i + 1 >= above.count();
  // The key of entry 0 is taken for the low fence, whatever it is.
  const bool low = i == 0 ? node.LowFence() == above.LowFence() : node.LowFence() == above.Key(i);
  const bool high =
      last ? node.unbounded() == above.unbounded() && node.HighFence() == above.HighFence()
           : !node.unbounded() && node.HighFence() == above.Key(i + 1);
  const PageType type = h->level == 0 ? PageType::kLeaf : PageType::kInner;
  if (low && high && h->type == type && h->level + 1 == above.header()->level &&
      h->table == table_) {
    return;
  }
  ThrowWrongPage(child.id());
}

// Splits the node at `level` on the way to `key`, if it has less than `need` free bytes. When the
// parent has no room for another child, splits the parent first.
void Tree::Split(TreeContext* context, std::string_view key, uint8_t level, size_t need) {
  for (;;) {
    ExclusiveGuard parent = FindParent(context, key, level);
    if (!parent) {
      ExclusiveGuard root = env_.pool->Write(&context->client, root_);
      const Node node(root.page(), page_size());
      if (node.header()->level > level) continue;
      if (node.header()->level == level && node.FreeBytes() < need) {
        SplitRoot(context, &root, key);
      }
      return;
    }
    const Node above(parent.page(), page_size());
    const uint32_t index = above.ChildIndex(key);
    ExclusiveGuard child = env_.pool->Write(&context->client, above.Child(index));
    CheckChild(above, index, child);
    const Node node(child.page(), page_size());
    if (node.FreeBytes() >= need) return;
    const Node::SplitPoint split = node.FindSplit(level == 0 ? key : std::string_view());
    if (above.FreeBytes() >= above.InnerEntrySize(split.separator.size())) {
      SplitChild(context, &parent, &child, split);
      return;
    }
    child.Release();
    parent.Release();
    Split(context, key, level + 1, split.separator.size() + sizeof(PageId) + Node::kSlotSize);
  }
}

void Tree::SplitChild(TreeContext* context, ExclusiveGuard* parent, ExclusiveGuard* left,
                      const Node::SplitPoint& split) {
  Node node(left->page(), page_size());
  Node above(parent->page(), page_size());
  ExclusiveGuard right = NewPage(context);
  Node other(right.page(), page_size());
  const NodeHeader* h = node.header();
  other.Init(right.id(), table_, h->type, h->level, split.separator, node.HighFence(),
             node.unbounded());
  other.CopyFrom(node, split.at, node.count());
  if (split.in_run) other.header()->run = h->run;

  StructureRecord& record = context->record;
  record.Clear();
  record.Use(right.id(), 1);
  if (!node.leaf() || split.separator.size() <= FenceSlack(page_size())) {
    record.Truncate(left->id(), split.separator);
  } else {
    std::memcpy(context->scratch.data(), left->page(), page_size());
    Node(context->scratch.data(), page_size()).TruncateAt(split.separator);
    record.Image(context->scratch.data(), page_size());
  }
  record.Image(right.page(), page_size());
  record.Insert(parent->id(), split.separator, right.id());
  LogRange range;
  try {
    range = env_.log->Append(record.Encode());
  } catch (...) {
    env_.space->Cancel(right.id(), 1);
    throw;
  }

  env_.space->MarkUsed(right.id(), 1);
  node.TruncateAt(split.separator);
  bool found;
  const uint32_t at = above.LowerBound(split.separator, &found);
  above.InsertInner(at, split.separator, right.id());
  // `right` takes over rows of the commit that is being applied. Their redo is the commit's own
  // record. So `right` must not let the redo point pass that record.
  left->MarkDirty(range.begin, range.end);
  right.MarkDirty(std::min(range.begin, context->commit.begin), range.end);
  parent->MarkDirty(range.begin, range.end);
}

void Tree::SplitRoot(TreeContext* context, ExclusiveGuard* root, std::string_view key) {
  Node node(root->page(), page_size());
  const NodeHeader* h = node.header();
  if (!node.unbounded() || !node.LowFence().empty() || h->table != table_) ThrowWrongPage(root_);
  const Node::SplitPoint split = node.FindSplit(h->level == 0 ? key : std::string_view());
  ExclusiveGuard left = NewPage(context);
  ExclusiveGuard right;
  try {
    right = NewPage(context);
  } catch (...) {
    env_.space->Cancel(left.id(), 1);
    throw;
  }
  Node low(left.page(), page_size()), high(right.page(), page_size());
  low.Init(left.id(), table_, h->type, h->level, node.LowFence(), split.separator, false);
  low.CopyFrom(node, 0, split.at);
  high.Init(right.id(), table_, h->type, h->level, split.separator, node.HighFence(),
            node.unbounded());
  high.CopyFrom(node, split.at, node.count());
  if (split.in_run) high.header()->run = h->run;
  Node top(context->scratch.data(), page_size());
  top.Init(root_, table_, PageType::kInner, static_cast<uint8_t>(h->level + 1), {}, {}, true);
  top.InsertInner(0, {}, left.id());
  top.InsertInner(1, split.separator, right.id());

  StructureRecord& record = context->record;
  record.Clear();
  record.Use(left.id(), 1);
  record.Use(right.id(), 1);
  record.Image(left.page(), page_size());
  record.Image(right.page(), page_size());
  record.Image(context->scratch.data(), page_size());
  LogRange range;
  try {
    range = env_.log->Append(record.Encode());
  } catch (...) {
    env_.space->Cancel(left.id(), 1);
    env_.space->Cancel(right.id(), 1);
    throw;
  }

  env_.space->MarkUsed(left.id(), 1);
  env_.space->MarkUsed(right.id(), 1);
  const Lsn lsn = h->lsn;
  std::memcpy(root->page(), context->scratch.data(), page_size());
  Header(root->page())->lsn = lsn;
  NoteLevels(*root);
  const Lsn begin = std::min(range.begin, context->commit.begin);
  left.MarkDirty(begin, range.end);
  right.MarkDirty(begin, range.end);
  root->MarkDirty(range.begin, range.end);
}

// Merges the node at `level` on the way to `key`, which has become small, with a neighbour under
// the same parent, if both fill at most three quarters of a page. Goes on with the parent when that
// has become small, too.
void Tree::Merge(TreeContext* context, std::string_view key, uint8_t level) {
  for (;;) {
    ExclusiveGuard parent = FindParent(context, key, level);
    if (!parent) return;
    const Node above(parent.page(), page_size());
    if (above.count() > 1) {
      const uint32_t target = above.ChildIndex(key);
      if (!MergeChildren(context, &parent, target > 0 ? target - 1 : 0, target)) return;
    }
    if (parent.id() == root_) {
      if (above.count() == 1) ShrinkRoot(context, &parent);
      return;
    }
    if (!Underfull(above)) return;
    ++level;
  }
}

// Merges the parent's children at left_index and left_index + 1, of which the one at target_index
// is the small one. Returns false when that child is no longer small, or when both do not fit into
// one page.
bool Tree::MergeChildren(TreeContext* context, ExclusiveGuard* parent, uint32_t left_index,
                         uint32_t target_index) {
  Node above(parent->page(), page_size());
  ExclusiveGuard left = env_.pool->Write(&context->client, above.Child(left_index));
  ExclusiveGuard right = env_.pool->Write(&context->client, above.Child(left_index + 1));
  CheckChild(above, left_index, left);
  CheckChild(above, left_index + 1, right);
  const Node a(left.page(), page_size()), b(right.page(), page_size());
  if (!Underfull(target_index == left_index ? a : b)) return false;
  const size_t prefix = b.unbounded() ? 0 : CommonPrefix(a.LowFence(), b.HighFence());
  const size_t size = Node::SizeWithPrefix(a, prefix) + Node::SizeWithPrefix(b, prefix) +
                      a.LowFence().size() + a.FenceRoom(b.HighFence().size());
  if (size > a.Capacity() / 4 * 3) return false;

  Node merged(context->scratch.data(), page_size());
  const NodeHeader* h = a.header();
  merged.Init(left.id(), table_, h->type, h->level, a.LowFence(), b.HighFence(), b.unbounded());
  merged.CopyFrom(a, 0, a.count());
  merged.CopyFrom(b, 0, b.count());
  const std::string separator = above.Key(left_index + 1);
  StructureRecord& record = context->record;
  record.Clear();
  record.Free(right.id(), 1);
  record.Image(context->scratch.data(), page_size());
  record.Remove(parent->id(), separator);
  record.FreePage(right.id());
  const LogRange range = env_.log->Append(record.Encode());

  const Lsn lsn = std::max(h->lsn, b.header()->lsn);
  std::memcpy(left.page(), context->scratch.data(), page_size());
  Header(left.page())->lsn = lsn;
  above.Remove(left_index + 1);
  FormatFree(right.page(), page_size(), right.id());
  left.MarkDirty(std::min(range.begin, context->commit.begin), range.end);
  right.MarkDirty(range.begin, range.end);
  parent->MarkDirty(range.begin, range.end);
  // The page is freed last, because from then on another thread may reserve it.
  env_.space->MarkFree(right.id(), 1);
  return true;
}

// While the root has a single child, moves the child's content to the root.
void Tree::ShrinkRoot(TreeContext* context, ExclusiveGuard* root) {
  while (Header(root->page())->type == PageType::kInner) {
    const Node top(root->page(), page_size());
    if (top.count() != 1) return;
    ExclusiveGuard child = env_.pool->Write(&context->client, top.Child(0));
    CheckChild(top, 0, child);
    char* image = context->scratch.data();
    std::memcpy(image, child.page(), page_size());
    Header(image)->id = root_;
    StructureRecord& record = context->record;
    record.Clear();
    record.Free(child.id(), 1);
    record.Image(image, page_size());
    record.FreePage(child.id());
    const LogRange range = env_.log->Append(record.Encode());
    std::memcpy(root->page(), image, page_size());
    NoteLevels(*root);
    FormatFree(child.page(), page_size(), child.id());
    root->MarkDirty(std::min(range.begin, context->commit.begin), range.end);
    child.MarkDirty(range.begin, range.end);
    env_.space->MarkFree(child.id(), 1);
  }
}

}  // namespace testbed::btree
