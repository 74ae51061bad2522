#include "engines/btree/check.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "engines/btree/node.h"
#include "engines/btree/overflow.h"

namespace testbed::btree {
namespace {

// What a parent says of its child.
struct Expected {
  PageId page = kNoPage;
  std::optional<uint8_t> level;  // unknown for a root
  std::string low, high;
  bool unbounded = false;
};

class Checker {
 public:
  explicit Checker(Store* store)
      : store_(store),
        page_size_(store->options().page_size),
        snapshot_(store->space()->Snapshot()),
        seen_(snapshot_.pages) {}

  CheckReport Run() {
    report_.page_size = page_size_;
    report_.file_pages = snapshot_.pages;
    report_.used_pages = store_->space()->used_pages();
    AlignedBuffer super(page_size_);
    if (store_->file()->Inspect(0, super.data()) != PageState::kValid) {
      Problem(0, "its checksum does not match");
    }
    seen_[0] = true;
    CheckTable("(catalogue)", store_->Table(kCatalogueTable));
    for (const auto& [name, id] : store_->TableNames()) CheckTable(name, store_->Table(id));
    CheckSpace();
    return std::move(report_);
  }

 private:
  void Problem(PageId page, const std::string& what) {
    ++report_.problem_count;
    if (report_.problems.size() < CheckReport::kMaxProblems) {
      report_.problems.push_back("page " + std::to_string(page) + " of file " +
                                 store_->file()->data().path() + ": " + what);
    }
  }

  // Notes that the page belongs to the tree. False when it must not be looked at.
  bool Claim(PageId page) {
    if (page == kNoPage || page >= snapshot_.pages) {
      Problem(page, "something points to it, but the file has " + std::to_string(snapshot_.pages) +
                        " pages");
      return false;
    }
    if (seen_[page]) {
      Problem(page, "it belongs to two places");
      return false;
    }
    seen_[page] = true;
    if ((snapshot_.words[page / 64] >> (page % 64) & 1) == 0) {
      Problem(page, "it is in use, but the space map calls it free");
    }
    return true;
  }

  void CheckTable(const std::string& name, const Tree* tree) {
    TreeStats stats;
    stats.table = name;
    table_ = tree->table();
    stats_ = &stats;
    // Depth first, leftmost child on top: leaves come in key order.
    std::vector<Expected> todo;
    todo.push_back({tree->root(), std::nullopt, {}, {}, true});
    while (!todo.empty()) {
      const Expected expected = std::move(todo.back());
      todo.pop_back();
      CheckNode(expected, &todo);
    }
    report_.trees.push_back(std::move(stats));
  }

  void CheckNode(const Expected& expected, std::vector<Expected>* todo) {
    const PageId id = expected.page;
    if (!Claim(id)) return;
    AlignedBuffer page(page_size_);
    switch (store_->file()->Inspect(id, page.data())) {
      case PageState::kValid:
        break;
      case PageState::kBlank:
        return Problem(id, "it is in use, but was never written");
      case PageState::kBroken:
        return Problem(id, "its checksum does not match");
    }
    const Node node(page.data(), page_size_);
    if (const std::string wrong = node.Validate(); !wrong.empty()) return Problem(id, wrong);
    const NodeHeader* h = node.header();
    if (h->table != table_) Problem(id, "it says that it belongs to another table");
    if (expected.level && h->level != *expected.level) {
      return Problem(id, "its level is not one below its parent's");
    }
    if (node.LowFence() != expected.low || node.unbounded() != expected.unbounded ||
        node.HighFence() != expected.high) {
      Problem(id, "its fences are not what its parent says");
    }
    CountNode(node);
    if (node.leaf()) return CheckRows(id, node);
    for (uint32_t i = node.count(); i-- > 0;) {
      Expected child;
      child.page = node.Child(i);
      child.level = static_cast<uint8_t>(h->level - 1);
      child.low = i == 0 ? std::string(node.LowFence()) : node.Key(i);
      const bool last = i + 1 == node.count();
      child.high = last ? std::string(node.HighFence()) : node.Key(i + 1);
      child.unbounded = last && node.unbounded();
      todo->push_back(std::move(child));
    }
  }

  void CountNode(const Node& node) {
    const size_t level = node.header()->level;
    if (stats_->levels.size() <= level) stats_->levels.resize(level + 1);
    LevelStats& stats = stats_->levels[level];
    ++stats.pages;
    stats.entries += node.count();
    stats.used_bytes += node.UsedBytes();
    stats.capacity_bytes += node.Capacity();
    ++stats.fill[std::min<size_t>(9, node.UsedBytes() * 10 / node.Capacity())];
  }

  void CheckRows(PageId id, const Node& leaf) {
    for (uint32_t i = 0; i < leaf.count(); ++i) {
      ++stats_->rows;
      stats_->key_bytes += leaf.header()->prefix + leaf.Suffix(i).size();
      if (!leaf.Value(i).overflow) {
        stats_->value_bytes += leaf.Value(i).bytes.size();
        continue;
      }
      const OverflowRef ref = leaf.Overflow(i);
      ++stats_->overflow_values;
      stats_->overflow_pages += ref.pages;
      stats_->value_bytes += ref.size;
      if (ref.pages != OverflowPages(ref.size, page_size_)) {
        Problem(id, "an overflow reference has the wrong number of pages");
        continue;
      }
      CheckOverflow(ref);
    }
  }

  void CheckOverflow(const OverflowRef& ref) {
    AlignedBuffer page(page_size_);
    for (uint32_t i = 0; i < ref.pages; ++i) {
      const PageId id = ref.first + i;
      if (!Claim(id)) return;
      if (store_->file()->Inspect(id, page.data()) != PageState::kValid) {
        Problem(id, "its checksum does not match");
        continue;
      }
      const auto* header = reinterpret_cast<const OverflowHeader*>(page.data());
      const uint64_t before = static_cast<uint64_t>(i) * OverflowPayload(page_size_);
      if (header->type != PageType::kOverflow || header->table != table_) {
        Problem(id, "it is not the overflow page that it should be");
      } else if (header->size !=
                 std::min<uint64_t>(ref.size - before, OverflowPayload(page_size_))) {
        Problem(id, "its piece of an overflow value has the wrong size");
      }
    }
  }

  void CheckSpace() {
    for (PageId page = 0; page < snapshot_.pages; ++page) {
      if ((snapshot_.words[page / 64] >> (page % 64) & 1) != 0 && !seen_[page]) {
        Problem(page, "the space map calls it used, but nothing points to it");
      }
    }
  }

  Store* const store_;
  const uint32_t page_size_;
  const SpaceSnapshot snapshot_;
  std::vector<bool> seen_;
  uint32_t table_ = 0;
  TreeStats* stats_ = nullptr;
  CheckReport report_;
};

}  // namespace

CheckReport CheckStore(Store* store) {
  store->Checkpoint();
  return Checker(store).Run();
}

}  // namespace testbed::btree
