// A Walk visits trees page by page. It verifies each page against what its parent says, adds faults
// to an Inspection, and counts what the pages hold. The checker (check.cc) decides which trees to
// walk, and judges the pages that no tree has.
//
//   Walk walk(input, &inspection);
//   TreeStats stats = walk.Tree({"default", 3, root}, {});
//   if (!walk.seen(page)) Print(page);          // no tree has this page
//
// A walk goes depth first, left to right. It never visits a page twice, so that it ends whatever
// the pages hold. After a page that it cannot follow it goes on with the next. Not thread-safe.
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
  std::string path;                    // path of the data file
  uint64_t data_bytes = 0;             // length of the data file
  std::optional<SpaceSnapshot> space;  // the pages in use, if they are known
  std::optional<Lsn> log_end;          // end of the log, if it is known
  // The walk calls this from time to time with the number of pages visited and of all pages; may be
  // empty.
  std::function<void(uint64_t done, uint64_t total)> progress;
};

// A Pointer is the place of a page number that links a page to a tree.
struct Pointer {
  PageId page = kNoPage;  // the page that has the number; kNoPage: the format fixes it
  uint64_t byte = 0;      // offset in that page
};

struct TableRoot {
  std::string name;
  uint32_t number = 0;
  PageId root = kNoPage;
  Pointer from;  // place of the root's number in the catalogue
};

class Walk {
 public:
  // Kind says what a visited page of the data file is.
  enum Kind : uint8_t { kSuper, kLeaf, kInner, kOverflow, kUnreadable, kKinds };

  // `inspection` must outlive the walk.
  Walk(const WalkInput& input, Inspection* inspection);

  // Walks the tree of a table. Calls `rows`, unless it is empty, for each leaf without faults.
  using Rows = std::function<void(PageId page, const Node& leaf)>;
  TreeStats Tree(const TableRoot& table, const Rows& rows);
  // Walks the tree below a node that nothing points to, and takes the node's own fences and level
  // for right. Adds a fault for the node itself if `lost`.
  void Orphan(PageId id, const std::string& table, bool lost);

  // Reads a page and returns its state; page() is what was read. *why is set when the page could
  // not be read at all.
  PageState ReadLoose(PageId id, std::string* why);
  const char* page() const { return page_.data(); }

  // Marks the page as seen and counts it as one of `kind`.
  void Take(PageId id, Kind kind);
  bool seen(PageId id) const { return id < seen_.size() && seen_[id]; }
  bool used(PageId id) const;  // whether the space map calls the page used
  // Returns the number of pages of the space map, or of the file when the map is not known.
  uint32_t pages() const { return static_cast<uint32_t>(seen_.size()); }
  uint64_t file_pages() const { return file_pages_; }  // number of whole pages in the file
  // These are the numbers of pages that Take was called for, by kind; only pages that are in the
  // file count.
  const std::array<uint64_t, kKinds>& counts() const { return counts_; }
  // Returns whether a page of this table's tree could not be followed, so that pages below it were
  // not reached.
  bool cut(uint32_t table) const { return cut_.contains(table); }

  // At returns a fault of the data file, at a byte of a page; Damage adds it to the inspection.
  Fault At(PageId page, uint64_t byte, std::string what, std::string expected = {},
           std::string found = {}) const;
  void Damage(PageId page, uint64_t byte, std::string what, std::string expected = {},
              std::string found = {});
  bool stopped() const { return inspection_->stopped; }

 private:
  // Expected is what a parent says about its child.
  struct Expected {
    PageId page = kNoPage;
    Pointer from;                  // place in the parent that says so
    std::optional<uint8_t> level;  // nullopt for a root, which may have any
    std::string low, high;
    bool unbounded = false;
  };

  void Subtree(Expected top);  // visits `top` and all pages below it
  void VisitNode(const Expected& expected, std::vector<Expected>* todo);
  bool Claim(PageId page, const Pointer& from);
  bool ReadClaimed(PageId id);  // reads the page; adds a fault when it is not valid
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
  std::set<uint32_t> cut_;  // tables for which cut() is true

  // This is the tree that is being walked.
  std::string table_name_;
  uint32_t table_ = 0;
  TreeStats* stats_ = nullptr;
  const Rows* rows_ = nullptr;
};

// Returns the text of a fault for a page that is not valid, and sets *expected and *found if they
// are known. `why` is the reader's reason; it may be empty.
std::string PageFault(PageState state, const char* page, uint32_t page_size, PageId id,
                      const std::string& why, std::string* expected, std::string* found);

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_INSPECT_WALK_H_
