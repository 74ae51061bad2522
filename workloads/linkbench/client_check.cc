// How a requester of LinkBench checks what its operations found (client.h).
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "device/os/mutex.h"
#include "workloads/linkbench/client.h"

namespace testbed::linkbench {

void RunClient::RepeatList(const Step& step) {
  const Totals totals = totals_;
  const Found found = found_;
  Step again = step;
  kept_.Begin(true);
  GetLinkList(&again);
  totals_ = totals;
  found_ = found;
}

// Returns whether a countlink found the right row. Counts are never deleted, so one must exist
// where links were loaded.
bool RunClient::VerifyCount(const Step& step) {
  CountRow count;
  return hit_ ? ReadCount(value_, &count) : LoadedLinks(step.id) == 0;
}

// Returns whether a getlink found the right rows. The row of a loaded link always exists, even when
// the link is hidden.
bool RunClient::VerifyLinks(const Step& step) const {
  if (kept_.size() != step.keys) return false;
  for (size_t k = 0; k < step.keys; ++k) {
    const LinkId id = ReadLinkKey(link_keys_[step.first_key + k], state_.access.settings.id1_first);
    if (kept_.key(k) == kAbsent) {
      if (id.id2 >= id.id1 && id.id2 - id.id1 < LoadedLinks(id)) return false;
      continue;
    }
    LinkRow link;
    if (!ReadLink(kept_.value(k), &link) || !state_.content.CheckLink(id, link.time, link.data)) {
      return false;
    }
  }
  return true;
}

bool RunClient::VerifyList(const Step& step) {
  std::string_view last(arena_.data() + step.at, kIndexKeySize);
  for (size_t i = 0; i < kept_.size(); ++i) {
    const std::string_view key = kept_.key(i), value = kept_.value(i);
    if (key.size() != kIndexKeySize || key < last || (i > 0 && key == last)) return false;
    uint8_t visibility;
    uint64_t time;
    const LinkId id = ReadIndexKey(key, &visibility, &time);
    if (id.id1 != step.id.id1 || id.type != step.id.type || visibility != kVisible ||
        value.size() < kIndexHead ||
        !state_.content.CheckLink(id, time, value.substr(kIndexHead))) {
      return false;
    }
    last = key;
  }
  return kept_.size() <= kRangeLimit && (step.history || ListIsWhole(step));
}

// Returns whether a list has as many links as its count says. When they differ, another requester
// may have changed the links since, so the list is read once more under the lock of its links.
bool RunClient::ListIsWhole(const Step& step) {
  const auto counted = [&] {
    char key[kCountKeySize];
    CountRow count{};
    std::string_view value;
    if (session_.Get(tables_.count, CountKey(step.id.id1, step.id.type, key), &value)) {
      ReadCount(value, &count);
    }
    return std::min<uint64_t>(count.count, kRangeLimit);
  };
  if (kept_.size() == counted()) return true;
  if (threads_ == 1) return false;
  const LockGuard lock(state_.locks.Of(step.id.id1, step.id.type));
  RepeatList(step);
  return kept_.size() == counted();
}

// Returns whether a write has left the right row of its link. Another client may write the row
// between the operation and this check, so where there are several, any row of the link is right.
bool RunClient::VerifyWrittenLink(const Step& step) {
  const bool alone = threads_ == 1, deletes = step.op == kDeleteLink;
  if (!session_.Get(tables_.link, LinkKeyOf(step), &value_)) return deletes;
  if (alone && !deletes) return value_ == LinkValueOf(step);
  LinkRow link;
  if (!ReadLink(value_, &link) || !state_.content.CheckLink(step.id, link.time, link.data)) {
    return false;
  }
  return deletes ? !alone || link.visibility == kHidden : link.time >= kLoadTime;
}

// Does the same for the node of an updatenode. No operation adds a node again that was deleted.
bool RunClient::VerifyUpdatedNode(const Step& step) {
  const bool there = session_.Get(tables_.node, NodeKeyOf(step), &value_);
  if (threads_ == 1) return there == hit_ && (!there || value_ == NodeValueOf(step));
  NodeRow node;
  return !there || (ReadNode(value_, &node) && state_.content.CheckNode(step.id.id1, node));
}

bool RunClient::Verify(size_t i) {
  const Step& step = steps_[i];
  NodeRow node;
  switch (step.op) {
    case kAddLink:
    case kUpdateLink:
    case kDeleteLink:
      return VerifyWrittenLink(step);
    case kCountLink:
      return VerifyCount(step);
    case kGetLink:
      return VerifyLinks(step);
    case kGetLinkList:
      return VerifyList(step);
    case kAddNode:  // no other operation accesses a new node
      return session_.Get(tables_.node, NodeKeyOf(step), &value_) && value_ == NodeValueOf(step);
    case kUpdateNode:
      return VerifyUpdatedNode(step);
    case kDeleteNode:
      return !session_.Get(tables_.node, NodeKeyOf(step), &value_);
    default:
      // A missing node is right: nodes are deleted, and their ids are still drawn.
      return !hit_ || (ReadNode(value_, &node) && state_.content.CheckNode(step.id.id1, node));
  }
}

}  // namespace testbed::linkbench
