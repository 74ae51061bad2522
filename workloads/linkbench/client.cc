#include "workloads/linkbench/client.h"

#include <algorithm>

#include "device/os/mutex.h"

namespace testbed::linkbench {
namespace {

constexpr uint64_t kAllTypes = 0;  // the link type in a node's lock

uint64_t ClientSeed(const RunState& state, int thread) {
  return Mix64(Mix64(state.seed) ^ (state.phase << 32)) + static_cast<uint64_t>(thread);
}

}  // namespace

void Found::Add(const Found& o) {
  getnode_missing += o.getnode_missing;
  updatenode_missing += o.updatenode_missing;
  deletenode_missing += o.deletenode_missing;
  addlink_existing += o.addlink_existing;
  updatelink_missing += o.updatelink_missing;
  deletelink_missing += o.deletelink_missing;
  deletelink_hidden += o.deletelink_hidden;
  countlink_missing += o.countlink_missing;
  getlink_ids += o.getlink_ids;
  getlink_found += o.getlink_found;
  getlink_missing_when_none_found += o.getlink_missing_when_none_found;
  lists_empty += o.lists_empty;
  list_links += o.list_links;
  history_lists += o.history_lists;
  history_links += o.history_links;
}

nlohmann::json Found::ToJson() const {
  return {{"getnode_missing", getnode_missing},
          {"updatenode_missing", updatenode_missing},
          {"deletenode_missing", deletenode_missing},
          {"addlink_existing", addlink_existing},
          {"updatelink_missing", updatelink_missing},
          {"deletelink_missing", deletelink_missing},
          {"deletelink_hidden", deletelink_hidden},
          {"countlink_missing", countlink_missing},
          {"getlink_ids", getlink_ids},
          {"getlink_found", getlink_found},
          {"getlink_missing", getlink_ids - getlink_found},
          {"getlink_missing_when_none_found", getlink_missing_when_none_found},
          {"lists_empty", lists_empty},
          {"list_links", list_links},
          {"history_lists", history_lists},
          {"history_links", history_links}};
}

RunClient::RunClient(RunState* state, Session& session, int thread, int threads)
    : state_(*state),
      tables_(state->tables),
      session_(session),
      thread_(static_cast<uint64_t>(thread)),
      threads_(static_cast<uint64_t>(threads)),
      chooser_(state->access, ClientSeed(*state, thread)) {}

RunClient::~RunClient() {
  LockGuard lock(state_.mutex);
  state_.found.Add(found_);
}

size_t RunClient::Generate(size_t max) {
  NoteLists();
  prepared_ = std::min(max, kBatch);
  arena_.clear();
  for (size_t i = 0; i < prepared_; ++i) {
    steps_[i] = {};
    Prepare(&steps_[i]);
  }
  link_keys_.clear();
  for (size_t i = 0; i < prepared_; ++i) {
    steps_[i].first_key = link_keys_.size();
    for (size_t k = 0; k < steps_[i].keys; ++k) {
      link_keys_.emplace_back(arena_.data() + steps_[i].at + k * kLinkKeySize, kLinkKeySize);
    }
  }
  return prepared_;
}

// Adds the lists that the last batch read to the history, or moves on their entries.
void RunClient::NoteLists() {
  for (size_t i = 0; i < prepared_; ++i) {
    const Step& step = steps_[i];
    if (step.op != kGetLinkList || !step.answered) continue;
    const ListHistory::Entry last{step.id.id1, step.id.type, step.last_time};
    if (step.history) {
      history_.Continue(last, step.rows == kRangeLimit);
    } else if (step.rows == kRangeLimit) {
      history_.Add(last, chooser_.random());
    }
  }
}

void RunClient::Prepare(Step* step) {
  step->op = chooser_.NextOp();
  step->time = kLoadTime + (state_.phase << 32) + operations_++ * threads_ + thread_;
  step->at = arena_.size();
  switch (step->op) {
    case kAddLink:
    case kDeleteLink:
    case kUpdateLink:
      PrepareLinkWrite(step);
      break;
    case kCountLink:
      step->id = {chooser_.LinkRead(), chooser_.LinkType(), 0};
      CountKey(step->id.id1, step->id.type, Room(kCountKeySize));
      break;
    case kGetLink:
      PrepareMultiget(step);
      break;
    case kGetLinkList:
      PrepareList(step);
      break;
    default:
      PrepareNode(step);
  }
}

// Appends `bytes` bytes to the arena and returns their address, which is valid until the next call.
char* RunClient::Room(size_t bytes) {
  const size_t at = arena_.size();
  arena_.resize(at + bytes);
  return arena_.data() + at;
}

void RunClient::PrepareNode(Step* step) {
  const bool add = step->op == kAddNode;
  step->id.id1 = add                       ? state_.first_new + nodes_added_++ * threads_ + thread_
                 : step->op == kUpdateNode ? chooser_.NodeUpdate()
                 : step->op == kDeleteNode ? chooser_.NodeDelete()
                                           : chooser_.NodeRead();
  NodeKey(step->id.id1, Room(kNodeKeySize));
  if (!add && step->op != kUpdateNode) return;
  const uint64_t version = add ? 1 : 2;
  const auto time = static_cast<uint32_t>(step->time);
  step->data = state_.content.NodeDataSize(step->id.id1, version, time);
  char* value = Room(kNodeHead + step->data);
  state_.content.NodeData(step->id.id1, version, time, value + kNodeHead);
  NodeValue(kNodeType, version, time, step->data, value);
}

void RunClient::PrepareLinkWrite(Step* step) {
  LinkId& id = step->id;
  id.id1 = chooser_.LinkWrite();
  id.type = chooser_.LinkType();
  id.id2 = chooser_.Id2(id.id1, id.type,
                        step->op == kAddLink      ? Chooser::kAddLoaded
                        : step->op == kUpdateLink ? Chooser::kUpdateLoaded
                                                  : Chooser::kDeleteLoaded);
  char data[kMaxLinkData];
  const bool writes = step->op != kDeleteLink;
  if (writes) step->data = state_.content.LinkData(id, step->time, data);
  char* at =
      Room(kLinkKeySize + kIndexKeySize + kCountKeySize + kLinkHead + kIndexHead + 2 * step->data);
  LinkKey(id, state_.access.settings.id1_first, at);
  IndexKey(id, kVisible, step->time, at += kLinkKeySize);
  CountKey(id.id1, id.type, at += kIndexKeySize);
  LinkValue(kVisible, step->time, 0, step->data, at += kCountKeySize);
  std::copy_n(data, step->data, at += kLinkHead);
  IndexValue(0, {data, step->data}, at + step->data);
}

void RunClient::PrepareMultiget(Step* step) {
  step->id = {chooser_.LinkRead(), chooser_.LinkType(), 0};
  chooser_.Multiget(step->id.id1, step->id.type, &ids_);
  step->keys = ids_.size();
  char* at = Room(step->keys * kLinkKeySize);
  for (uint64_t id2 : ids_) {
    LinkKey({step->id.id1, step->id.type, id2}, state_.access.settings.id1_first, at);
    at += kLinkKeySize;
  }
}

void RunClient::PrepareList(Step* step) {
  uint64_t from = UINT64_MAX;
  step->history = chooser_.random().Unit() < state_.history_share && !history_.empty();
  if (step->history) {
    const ListHistory::Entry& entry = history_.Any(chooser_.random());
    step->id = {entry.id1, entry.type, 0};
    from = entry.time;
  } else {
    step->id = {chooser_.LinkRead(), chooser_.LinkType(), 0};
  }
  IndexKey(step->id, kVisible, from, Room(kIndexKeySize));
  // A list has about as many links as were loaded, and its query reads one row more to find its
  // end. A query that continues a full list skips the last link of that one, and has the remaining
  // links.
  const uint64_t links = LoadedLinks(step->id);
  if (!step->history) {
    step->expected = std::min(links + 1, kRangeLimit);
  } else if (links > kRangeLimit) {
    step->expected = std::min(links - kRangeLimit + 1, kRangeLimit) + 1;
  }
}

void RunClient::Execute(size_t i) {
  Step& step = steps_[i];
  hit_ = false;
  kept_.Begin(to_verify_);
  switch (step.op) {
    case kAddLink:
    case kUpdateLink:
      WriteLink(step);
      break;
    case kDeleteLink:
      DeleteLink(step);
      break;
    case kCountLink:
      hit_ = Get(tables_.count, {arena_.data() + step.at, kCountKeySize});
      found_.countlink_missing += !hit_;
      totals_.rows_read += hit_;
      totals_.not_found += !hit_;
      break;
    case kGetLink:
      GetLinks(step);
      break;
    case kGetLinkList:
      GetLinkList(&step);
      break;
    case kAddNode:
      Put(tables_.node, NodeKeyOf(step), NodeValueOf(step));
      ++totals_.rows_written;
      ++totals_.rows_inserted;
      break;
    case kUpdateNode:
      UpdateNode(step);
      break;
    case kDeleteNode:
      DeleteNode(step);
      break;
    default:
      hit_ = Get(tables_.node, NodeKeyOf(step));
      found_.getnode_missing += !hit_;
      totals_.rows_read += hit_;
      totals_.not_found += !hit_;
  }
}

bool RunClient::Get(TableId table, std::string_view key) {
  if (!session_.Get(table, key, &value_)) return false;
  consume_(value_);
  return true;
}

void RunClient::Put(TableId table, std::string_view key, std::string_view value) {
  session_.Put(table, key, value);
  totals_.user_bytes_written += key.size() + value.size();
}

void RunClient::Erase(TableId table, std::string_view key) {
  session_.Erase(table, key);
  totals_.user_bytes_written += key.size();
}

// Performs addlink and updatelink: an existing link is updated, a missing one inserted.
void RunClient::WriteLink(const Step& step) {
  LockGuard lock(state_.locks.Of(step.id.id1, step.id.type));
  session_.Begin();
  LinkRow old{};
  const bool exists = Get(tables_.link, LinkKeyOf(step)) && ReadLink(value_, &old);
  const bool appears = !exists || old.visibility != kVisible;
  CountRow count{0, step.time, 0};
  const bool counted = appears && Get(tables_.count, CountKeyOf(step));
  if (counted) ReadCount(value_, &count);

  Put(tables_.link, LinkKeyOf(step), LinkValueOf(step));
  if (exists) {
    char entry[kIndexKeySize];
    Erase(tables_.index, IndexKey(step.id, old.visibility, old.time, entry));
  }
  Put(tables_.index, IndexKeyOf(step), IndexValueOf(step));
  if (appears) {
    char value[kCountSize];
    ++count.count;
    Put(tables_.count, CountKeyOf(step), CountValue(count, value));
  }
  session_.Commit();
  found_.addlink_existing += step.op == kAddLink && exists;
  found_.updatelink_missing += step.op == kUpdateLink && !exists;
  totals_.rows_written += 1 + appears;
  totals_.rows_inserted += !exists + (appears && !counted);
}

// Hides the link; its row stays.
void RunClient::DeleteLink(const Step& step) {
  LockGuard lock(state_.locks.Of(step.id.id1, step.id.type));
  session_.Begin();
  char link[kLinkHead + kMaxLinkData], entry[kIndexHead + kMaxLinkData];
  char old_key[kIndexKeySize], new_key[kIndexKeySize];
  LinkRow row{};
  const bool exists = Get(tables_.link, LinkKeyOf(step)) && ReadLink(value_, &row) &&
                      row.data.size() <= kMaxLinkData;
  if (!exists || row.visibility != kVisible) {
    session_.Commit();
    found_.deletelink_missing += !exists;
    found_.deletelink_hidden += exists;
    return;
  }
  const size_t data = row.data.size();
  std::copy_n(row.data.data(), data, link + kLinkHead);
  CountRow count{0, 0, 0};
  const bool counted = Get(tables_.count, CountKeyOf(step));
  if (counted) {
    ReadCount(value_, &count);
    ++count.version;
  }
  count.count -= count.count > 0;
  count.time = step.time;

  Put(tables_.link, LinkKeyOf(step), LinkValue(kHidden, row.time, row.version, data, link));
  Erase(tables_.index, IndexKey(step.id, kVisible, row.time, old_key));
  Put(tables_.index, IndexKey(step.id, kHidden, row.time, new_key),
      IndexValue(row.version, {link + kLinkHead, data}, entry));
  char value[kCountSize];
  Put(tables_.count, CountKeyOf(step), CountValue(count, value));
  session_.Commit();
  totals_.rows_written += 2;
  totals_.rows_inserted += !counted;
}

void RunClient::UpdateNode(const Step& step) {
  LockGuard lock(state_.locks.Of(step.id.id1, kAllTypes));
  hit_ = Get(tables_.node, NodeKeyOf(step));
  if (hit_) Put(tables_.node, NodeKeyOf(step), NodeValueOf(step));
  found_.updatenode_missing += !hit_;
  totals_.rows_written += hit_;
}

void RunClient::DeleteNode(const Step& step) {
  LockGuard lock(state_.locks.Of(step.id.id1, kAllTypes));
  hit_ = Get(tables_.node, NodeKeyOf(step));
  if (hit_) Erase(tables_.node, NodeKeyOf(step));
  found_.deletenode_missing += !hit_;
  totals_.rows_written += hit_;
  totals_.rows_erased += hit_;
}

void RunClient::GetLinks(const Step& step) {
  links_found_ = 0;
  session_.TakeEach(tables_.link, {link_keys_.data() + step.first_key, step.keys},
                    [this](size_t, const FoundRow& row) {
                      links_found_ += row.found;
                      if (row.found) consume_(row.value);
                      if (!kept_.keeps()) return;
                      row.found ? kept_.Add(kFound, row.value) : kept_.Add(kAbsent, {});
                    });
  const uint64_t found = links_found_;
  found_.getlink_ids += step.keys;
  found_.getlink_found += found;
  if (found == 0) found_.getlink_missing_when_none_found += step.keys;
  totals_.rows_read += found;
  totals_.not_found += step.keys - found;
}

void RunClient::GetLinkList(Step* step) {
  const std::string_view from(arena_.data() + step->at, kIndexKeySize);
  const std::string_view prefix = from.substr(0, kIndexPrefixSize);
  // The cursor ends with the list, since an open one may pin pages or a snapshot.
  const std::unique_ptr<Cursor> cursor = session_.NewCursor(tables_.index);
  if (step->expected != 0) cursor->Expect(step->expected);
  bool on = cursor->Seek(from);
  if (step->history && on) on = cursor->Next();  // skips the last link of the previous query
  uint64_t rows = 0, last = UINT64_MAX;
  while (on && cursor->key().starts_with(prefix)) {
    const std::string_view key = cursor->key(), value = cursor->value();
    consume_(key);
    consume_(value);
    if (kept_.keeps()) kept_.Add(key, value);
    last = ~GetNumber(key, kIndexPrefixSize, 8);
    on = ++rows < kRangeLimit && cursor->Next();  // no step beyond the last link
  }
  step->rows = rows;
  step->last_time = last;
  step->answered = true;
  totals_.rows_read += rows;
  found_.lists_empty += rows == 0;
  found_.list_links += rows;
  found_.history_lists += step->history;
  if (step->history) found_.history_links += rows;
}

}  // namespace testbed::linkbench
