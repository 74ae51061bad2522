// Walks trees page by page, verifies each page and what its parent says of it, and counts what it
// sees. The checker (check.h) says which trees, and what the pages that no tree has may be.
//
//   Walk walk(input, &inspection);
//   TreeStats stats = walk.Tree({"default", 3, root}, {});
//   if (!walk.seen(page)) ...                   // no tree has it
//
// Goes depth first, left to right, and never looks at a page twice, so it ends whatever the pages
// hold. After a page that cannot be followed it goes on with the next. Not for several threads.
#ifndef TESTBED_ENGINES_BTREE_INSPECT_WALK_H_
#define TESTBED_ENGINES_BTREE_INSPECT_WALK_H_

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "device/file/file.h"
#include "engines/btree/page/node.h"
#include "engines/btree/page/page_reader.h"
#include "engines/btree/page/space.h"
#include "engines/inspect.h"

namespace testbed::btree {

struct WalkInput {
  PageReader* reader = nullptr;
  uint32_t page_size = 0;
  std::string path;         // of the data file
  uint64_t data_bytes = 0;  // its length
  // The pages in use; nothing when that is not known.
  std::optional<SpaceSnapshot> space;
  std::optional<Lsn> log_end;  // nothing when that is not known
  std::function<void(uint64_t done, uint64_t total)> progress;
};

// Where it is said that a page belongs to a tree.
struct Pointer {
  PageId page = kNoPage;  // that says it; none: the format does
  uint64_t byte = 0;      // of the page
};

struct TableRoot {
  std::string name;
  uint32_t number = 0;
  PageId root = kNoPage;
  Pointer from;
};

class Walk {
 public:
  // What a page of the data file turned out to be.
  enum Kind : uint8_t { kSuper, kLeaf, kInner, kOverflow, kUnreadable, kKinds };

  Walk(const WalkInput& input, Inspection* inspection);

  // Walks the tree of a table; `rows` sees each of its sound leaves.
  using Rows = std::function<void(PageId page, const Node& leaf)>;
  TreeStats Tree(const TableRoot& table, const Rows& rows);
  // The same from a node that nothing points to, trusting what it says of itself. A fault only
  // when `lost`: it should have been reached.
  void Orphan(PageId id, const std::string& table, bool lost);

  // Reads a page that no tree has; true when it is whole. page() is what was read.
  PageState ReadLoose(PageId id, std::string* why);
  const char* page() const { return page_.data(); }

  // Takes the page for a tree or another known use, of this kind.
  void Take(PageId id, Kind kind);
  bool seen(PageId id) const { return id < seen_.size() && seen_[id]; }
  bool used(PageId id) const;
  uint32_t pages() const { return static_cast<uint32_t>(seen_.size()); }  // that can be named
  uint64_t file_pages() const { return file_pages_; }                     // whole ones in the file
  const std::array<uint64_t, kKinds>& counts() const { return counts_; }  // of those in the file
  // Something in this table's tree could not be followed, so pages of it were not reached.
  bool cut(uint32_t table) const { return cut_.contains(table); }

  Fault At(PageId page, uint64_t byte, std::string what, std::string expected = {},
           std::string found = {}) const;
  void Damage(PageId page, uint64_t byte, std::string what, std::string expected = {},
              std::string found = {});
  bool stopped() const { return inspection_->stopped; }

 private:
  // What a parent says of its child.
  struct Expected {
    PageId page = kNoPage;
    Pointer from;
    std::optional<uint8_t> level;  // unknown for a root
    std::string low, high;
    bool unbounded = false;
  };

  void Subtree(Expected top);
  void VisitNode(const Expected& expected, std::vector<Expected>* todo);
  bool Claim(PageId page, const Pointer& from);
  bool ReadClaimed(PageId id);
  void CheckPlace(const Expected& expected, const Node& node);
  void CheckLsn(PageId id, const char* page);
  void PushChildren(PageId id, const Node& node, std::vector<Expected>* todo);
  void CheckRows(PageId id, const Node& leaf);
  void CheckOverflow(PageId leaf, uint64_t byte, const OverflowRef& ref);
  void CheckOverflowPage(PageId id, uint64_t size);
  void Progress();

  const WalkInput input_;
  const uint32_t page_size_;
  Inspection* const inspection_;
  const uint64_t file_pages_;
  std::vector<bool> seen_;
  std::array<uint64_t, kKinds> counts_ = {};
  uint64_t done_ = 0;
  AlignedBuffer page_, overflow_;
  std::set<uint32_t> cut_;

  // Of the tree under way.
  std::string table_name_;
  uint32_t table_ = 0;
  TreeStats* stats_ = nullptr;
  const Rows* rows_ = nullptr;
};

// What is wrong with a page that is not valid, in words.
std::string PageFault(PageState state, const char* page, uint32_t page_size, PageId id,
                      const std::string& why, std::string* expected, std::string* found);

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_INSPECT_WALK_H_
