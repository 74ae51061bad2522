// This file has look-ups that wait for nothing: those that may have a read in flight (Lookup), and
// those of pages in the pool that go on by turns (CachedLookup).
#include <string>
#include <utility>

#include "device/error.h"
#include "engines/btree/tree/tree.h"

namespace testbed::btree {

Lookup::State Tree::Continue(TreeContext* context, Lookup* lookup, std::string* value) const {
  using State = Lookup::State;
  for (;;) {
    const bool begins = lookup->at_.page() == nullptr;
    PageId next = root_;
    uint8_t below = 0;
    if (!begins) {
      const Node node(lookup->at_.page(), page_size());
      if (node.leaf()) {
        bool found;
        const uint32_t at = node.LowerBoundInside(lookup->key, &found);
        const LeafValue stored = found ? node.Value(at) : LeafValue{};
        if (found && !stored.overflow) value->assign(stored.bytes);
        const bool covers = node.CoversAt(lookup->key, at, found);
        const bool valid = lookup->at_.Valid();
        const PageId id = lookup->at_.id();
        lookup->at_ = {};
        if (!valid) continue;
        if (!covers) ThrowWrongPage(id);
        return !found ? State::kAbsent : stored.overflow ? State::kLong : State::kFound;
      }
      next = node.Child(node.ChildIndex(lookup->key));
      below = static_cast<uint8_t>(node.header()->level - 1);
      if (!lookup->at_.Valid()) {
        lookup->at_ = {};
        continue;
      }
    }
    OptimisticGuard child;
    const Pool::Look look = env_.pool->TryOptimistic(next, &child, &lookup->missing);
    // As in Descend: if the parent's version is unchanged, the child was the parent's child when it
    // was latched or its version was taken.
    if (!begins && !lookup->at_.Valid()) {
      if (look == Pool::Look::kMissing) env_.pool->EndRead(lookup->missing, false);
      lookup->at_ = {};
      continue;
    }
    if (look != Pool::Look::kBusy && std::exchange(lookup->asked_, next) != next) {
      context->client.requests.Add(1);
    }
    if (look == Pool::Look::kHere) {
      if (!begins && Header(child.page())->level != below && child.Valid() && lookup->at_.Valid()) {
        ThrowWrongPage(next);
      }
      lookup->at_ = std::move(child);
      lookup->asked_ = kNoPage;
      continue;
    }
    if constexpr (kLatchedReads) lookup->at_ = {};  // no latch but the missing page's is kept
    return look == Pool::Look::kMissing ? State::kMissing : State::kBusy;
  }
}

void Tree::Step(TreeContext* context, CachedLookup* lookup) const {
  switch (lookup->state) {
    case CachedLookup::State::kGoesDown:
      return StepDown(lookup);
    case CachedLookup::State::kInNode:
      return StepInNode(lookup);
    default:
      return StepAtRow(context, lookup);
  }
}

void Tree::StepDown(CachedLookup* lookup) const {
  const bool begins = lookup->at_.page() == nullptr;
  OptimisticGuard child = env_.pool->Peek(begins ? root_ : lookup->next_);
  // As in Descend: if the parent's version is unchanged, the child was the parent's child when the
  // child's version was taken.
  if (child.page() == nullptr || (!begins && !lookup->at_.Valid())) return lookup->GiveUp();
  Node::PrefetchSearch(child.page(), page_size());
  lookup->at_ = std::move(child);
  lookup->state = CachedLookup::State::kInNode;
  ++lookup->requests_;
}

void Tree::StepInNode(CachedLookup* lookup) const {
  const Node node(lookup->at_.page(), page_size());
  const uint8_t level = node.header()->level;
  // If the child is of another level, the look-up gives up, and Get finds out whether that is
  // damage. Since levels fall, the steps come to an end.
  if (lookup->requests_ > 1 && level + 1 != lookup->above_) return lookup->GiveUp();
  if (node.leaf()) {
    node.PrefetchRow(lookup->key);
    lookup->state = CachedLookup::State::kAtRow;
    return;
  }
  lookup->next_ = node.Child(node.ChildIndex(lookup->key));
  lookup->above_ = level;
  if (!lookup->at_.Valid()) return lookup->GiveUp();
  env_.pool->PrefetchWord(lookup->next_);
  lookup->state = CachedLookup::State::kGoesDown;
}

void Tree::StepAtRow(TreeContext* context, CachedLookup* lookup) const {
  const Node node(lookup->at_.page(), page_size());
  bool found;
  const uint32_t at = node.LowerBoundInside(lookup->key, &found);
  const LeafValue stored = found ? node.Value(at) : LeafValue{};
  if (found && !stored.overflow) lookup->value->assign(stored.bytes);
  const bool covers = node.CoversAt(lookup->key, at, found);
  if (!lookup->at_.Valid() || !covers || stored.overflow) return lookup->GiveUp();
  lookup->at_ = {};
  lookup->state = found ? CachedLookup::State::kFound : CachedLookup::State::kAbsent;
  context->client.requests.Add(lookup->requests_);
}

void Tree::FailedRead(Lookup* lookup, const Error& error) const {
  const bool root = lookup->at_.page() == nullptr;
  if (root || lookup->at_.Valid()) throw error;
  lookup->at_ = {};
}

}  // namespace testbed::btree
