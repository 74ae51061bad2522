#include "engines/btree/inspect/walk.h"

#include <algorithm>
#include <cinttypes>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <utility>

#include "device/os/signal_guard.h"
#include "engines/btree/inspect/tree_stats.h"
#include "engines/btree/tree/overflow.h"

namespace testbed::btree {
namespace {

constexpr uint64_t kProgressStep = 128;  // pages between calls of WalkInput::progress

std::string Hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%016" PRIx64, value);
  return text;
}

std::string RangeText(std::string_view low, std::string_view high, bool unbounded) {
  return "keys from " + KeyText(low) + (unbounded ? " on" : " up to " + KeyText(high));
}

}  // namespace

std::string PageFault(PageState state, const char* page, uint32_t page_size, PageId id,
                      const std::string& why, std::string* expected, std::string* found) {
  if (!why.empty()) return why;
  if (state == PageState::kBlank) return "it was never written";
  const PageHeader* header = Header(page);
  if (header->id != id && InspectPage(page, page_size, header->id) == PageState::kValid) {
    *expected = "page " + std::to_string(id);
    *found = "page " + std::to_string(header->id);
    return "another page lies in its place";
  }
  *expected = Hex(PageChecksum(page, page_size, id));
  *found = Hex(header->checksum);
  return "its checksum does not match";
}

Walk::Walk(const WalkInput& input, Inspection* inspection)
    : input_(input),
      page_size_(input.page_size),
      inspection_(inspection),
      file_pages_(input.data_bytes / input.page_size),
      seen_(input.space ? input.space->pages : std::min<uint64_t>(file_pages_, kMaxPages)),
      page_(page_size_),
      overflow_(page_size_) {}

bool Walk::used(PageId id) const {
  return input_.space && id < input_.space->pages &&
         (input_.space->words[id / 64] >> (id % 64) & 1) != 0;
}

Fault Walk::At(PageId page, uint64_t byte, std::string what, std::string expected,
               std::string found) const {
  Fault fault;
  fault.file = input_.path;
  fault.page = page;
  fault.byte = static_cast<uint64_t>(page) * page_size_ + byte;
  fault.table = table_name_;
  fault.what = std::move(what);
  fault.expected = std::move(expected);
  fault.found = std::move(found);
  return fault;
}

void Walk::Damage(PageId page, uint64_t byte, std::string what, std::string expected,
                  std::string found) {
  inspection_->faults.Add(At(page, byte, std::move(what), std::move(expected), std::move(found)));
}

void Walk::Progress() {
  if (++done_ % kProgressStep != 0) return;
  if (StopRequested()) inspection_->stopped = true;
  if (input_.progress) input_.progress(done_, seen_.size());
}

void Walk::Take(PageId id, Kind kind) {
  if (id < seen_.size()) seen_[id] = true;
  if (id < file_pages_) ++counts_[kind];
}

// Checks that a page may belong to the tree: it exists, no other place has it, and the space map
// calls it used. Returns false when the page must not be visited.
bool Walk::Claim(PageId page, const Pointer& from) {
  const bool told = from.page != kNoPage;
  if (page == kNoPage || page >= seen_.size()) {
    const std::string range = "1 to " + std::to_string(seen_.empty() ? 0 : seen_.size() - 1);
    if (told) {
      Damage(from.page, from.byte, "it points to a page that is not there", range,
             std::to_string(page));
    } else {
      Damage(page, 0, "the database needs it, and it is not there", range, std::to_string(page));
    }
    return false;
  }
  if (seen_[page]) {
    const std::string twice = "page " + std::to_string(page) + ", which belongs to two places";
    if (told) {
      Damage(from.page, from.byte, "it points to " + twice);
    } else {
      Damage(page, 0, "it belongs to two places");
    }
    return false;
  }
  if (input_.space && !used(page)) {
    Damage(page, 0, "it is in use, but the space map calls it free");
  }
  return true;
}

PageState Walk::ReadLoose(PageId id, std::string* why) {
  Progress();
  why->clear();
  return input_.reader->Read(id, page_.data(), why);
}

bool Walk::ReadClaimed(PageId id) {
  std::string why;
  const PageState state = ReadLoose(id, &why);
  if (state == PageState::kValid) return true;
  std::string expected, found;
  std::string what = PageFault(state, page_.data(), page_size_, id, why, &expected, &found);
  Damage(id, 0, std::move(what), std::move(expected), std::move(found));
  return false;
}

void Walk::CheckLsn(PageId id, const char* page) {
  const Lsn lsn = Header(page)->lsn;
  if (!input_.log_end || lsn <= *input_.log_end) return;
  Damage(id, offsetof(PageHeader, lsn), "its LSN lies behind the end of the log",
         "at most " + std::to_string(*input_.log_end), std::to_string(lsn));
}

TreeStats Walk::Tree(const TableRoot& table, const Rows& rows) {
  TreeStats stats = NewTreeStats(table.name);
  table_name_ = table.name;
  table_ = table.number;
  stats_ = &stats;
  rows_ = &rows;
  Expected top;
  top.page = table.root;
  top.from = table.from;
  top.unbounded = true;
  Subtree(std::move(top));
  stats_ = nullptr;
  table_name_.clear();
  return stats;
}

void Walk::Orphan(PageId id, const std::string& table, bool lost) {
  const Node node(page_.data(), page_size_);
  std::string why;
  if (ReadLoose(id, &why) != PageState::kValid || !node.Validate().empty()) return;
  TreeStats stats = NewTreeStats(table);
  static const Rows kNoRows;
  table_name_ = table;
  table_ = node.header()->table;
  stats_ = &stats;
  rows_ = &kNoRows;
  if (lost) {
    Damage(id, 0, "the space map calls it used, but nothing points to it", "",
           (node.leaf() ? "a leaf, " : "an inner page, ") +
               RangeText(node.LowFence(), node.HighFence(), node.unbounded()));
  }
  Expected top;
  top.page = id;
  top.low = node.LowFence();
  top.high = node.HighFence();
  top.unbounded = node.unbounded();
  Subtree(std::move(top));
  stats_ = nullptr;
  table_name_.clear();
}

void Walk::Subtree(Expected top) {
  std::vector<Expected> todo;
  todo.push_back(std::move(top));
  while (!todo.empty() && !stopped()) {
    const Expected expected = std::move(todo.back());
    todo.pop_back();
    VisitNode(expected, &todo);
  }
}

void Walk::VisitNode(const Expected& expected, std::vector<Expected>* todo) {
  const PageId id = expected.page;
  if (!Claim(id, expected.from)) {
    cut_.insert(table_);
    return;
  }
  if (!ReadClaimed(id)) {
    Take(id, kUnreadable);
    cut_.insert(table_);
    return;
  }
  const Node node(page_.data(), page_size_);
  if (const std::optional<NodeFault> fault = node.FindFault()) {
    Take(id, kUnreadable);
    Damage(id, fault->at, fault->what, fault->expected, fault->found);
    cut_.insert(table_);
    return;
  }
  Take(id, node.leaf() ? kLeaf : kInner);
  CheckPlace(expected, node);
  CheckLsn(id, page_.data());
  CountNode(node, page_size_, stats_);
  if (!node.leaf()) return PushChildren(id, node, todo);
  CheckRows(id, node);
  if (*rows_) (*rows_)(id, node);
}

// Checks that the node's table, level and fences are what its parent says about it.
void Walk::CheckPlace(const Expected& expected, const Node& node) {
  const NodeHeader* h = node.header();
  const PageId id = expected.page;
  if (h->table != table_) {
    Damage(id, offsetof(NodeHeader, table), "it says that it belongs to another table",
           std::to_string(table_), std::to_string(h->table));
  }
  if (expected.level && h->level != *expected.level) {
    Damage(id, offsetof(NodeHeader, level), "its level is not one below its parent's",
           std::to_string(*expected.level), std::to_string(h->level));
  }
  if (node.LowFence() != expected.low || node.unbounded() != expected.unbounded ||
      node.HighFence() != expected.high) {
    Damage(id, offsetof(NodeHeader, low_at), "its fences differ from its bounds in its parent",
           RangeText(expected.low, expected.high, expected.unbounded),
           RangeText(node.LowFence(), node.HighFence(), node.unbounded()));
  }
}

void Walk::PushChildren(PageId id, const Node& node, std::vector<Expected>* todo) {
  const uint8_t level = node.header()->level;
  for (uint32_t i = node.count(); i-- > 0;) {
    Expected child;
    child.from = {id, node.CellAt(i) + node.Suffix(i).size()};
    std::memcpy(&child.page, page_.data() + child.from.byte, sizeof child.page);
    child.level = static_cast<uint8_t>(level - 1);
    child.low = i == 0 ? std::string(node.LowFence()) : node.Key(i);
    const bool last = i + 1 == node.count();
    child.high = last ? std::string(node.HighFence()) : node.Key(i + 1);
    child.unbounded = last && node.unbounded();
    todo->push_back(std::move(child));
  }
  if (level != 1) return;
  for (uint32_t i = 0; i < node.count(); ++i) {
    if (!seen(node.Child(i)) && node.Child(i) < seen_.size())
      input_.reader->Prefetch(node.Child(i));
  }
}

void Walk::CheckRows(PageId id, const Node& leaf) {
  for (uint32_t i = 0; i < leaf.count(); ++i) {
    const LeafValue value = leaf.Value(i);
    const size_t key = leaf.Prefix().size() + leaf.Suffix(i).size();
    const uint64_t at = leaf.CellAt(i) + leaf.Suffix(i).size() + sizeof(uint16_t);
    if (value.overflow) {
      CheckOverflow(id, at, leaf.Overflow(i));
    } else if (key + sizeof(uint16_t) + value.bytes.size() + Node::kSlotSize >
               MaxInlineRow(page_size_)) {
      Damage(id, at, "a row is longer than a leaf may hold");
    }
  }
}

void Walk::CheckOverflow(PageId leaf, uint64_t byte, const OverflowRef& ref) {
  if (ref.size > kMaxValueSize || ref.pages != OverflowPages(ref.size, page_size_) ||
      ref.pages == 0) {
    Damage(leaf, byte, "an overflow reference has the wrong number of pages",
           std::to_string(OverflowPages(std::min(ref.size, kMaxValueSize), page_size_)) + " for " +
               std::to_string(ref.size) + " bytes",
           std::to_string(ref.pages));
    cut_.insert(table_);
    return;
  }
  CountOverflow(ref, page_size_, stats_);
  for (uint32_t i = 0; i < ref.pages && !stopped(); ++i) {
    const uint64_t id = static_cast<uint64_t>(ref.first) + i;
    if (id > UINT32_MAX || !Claim(static_cast<PageId>(id), {leaf, byte})) {
      cut_.insert(table_);
      return;
    }
    const uint64_t before = static_cast<uint64_t>(i) * OverflowPayload(page_size_);
    Take(static_cast<PageId>(id), kOverflow);
    CheckOverflowPage(static_cast<PageId>(id),
                      std::min<uint64_t>(ref.size - before, OverflowPayload(page_size_)));
  }
}

// Checks an overflow page, which must have `size` bytes of the value.
void Walk::CheckOverflowPage(PageId id, uint64_t size) {
  Progress();
  std::string why, expected, found;
  char* page = overflow_.data();
  const PageState state = input_.reader->Read(id, page, &why);
  const auto* header = reinterpret_cast<const OverflowHeader*>(page);
  const bool right = state == PageState::kValid && header->type == PageType::kOverflow &&
                     header->table == table_ && header->size == size &&
                     header->begin <= header->lsn;
  if (!right && input_.reader->Pending(id)) return;
  if (state != PageState::kValid) {
    std::string what = PageFault(state, page, page_size_, id, why, &expected, &found);
    return Damage(id, 0, std::move(what), std::move(expected), std::move(found));
  }
  CheckLsn(id, page);
  if (header->type != PageType::kOverflow) {
    Damage(id, offsetof(OverflowHeader, type), "it is not the overflow page that it should be",
           std::to_string(static_cast<int>(PageType::kOverflow)),
           std::to_string(static_cast<int>(header->type)));
  } else if (header->table != table_) {
    Damage(id, offsetof(OverflowHeader, table), "it says that it belongs to another table",
           std::to_string(table_), std::to_string(header->table));
  } else if (header->size != size) {
    Damage(id, offsetof(OverflowHeader, size), "its piece of a long value has the wrong size",
           std::to_string(size), std::to_string(header->size));
  } else if (header->begin > header->lsn) {
    Damage(id, offsetof(OverflowHeader, begin), "its value comes later in the log than its LSN",
           "at most " + std::to_string(header->lsn), std::to_string(header->begin));
  }
}

}  // namespace testbed::btree
