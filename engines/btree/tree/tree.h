// A Tree is the b-tree of one table: look-ups, row writes, and the changes of shape (splits and
// merges) that row writes need.
//
// The root's page number never changes: when the root is split, its content moves to two new
// children. A change of shape touches a parent and one or two children, is one log record, and
// leaves a valid tree. A split that needs room in the parent first splits the parent, as a change
// of its own. docs/engines/btree.md has the latching protocol: latches are taken downwards, and
// left before right; a thread that holds a leaf's latch waits for no other node.
//
// Thread-safe; each thread uses a TreeContext of its own. The caller must hold the row's lock
// (store/row_locks.h) for Write, so that two threads never write one row at the same time.
#ifndef TESTBED_ENGINES_BTREE_TREE_TREE_H_
#define TESTBED_ENGINES_BTREE_TREE_TREE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/error.h"
#include "device/file/file.h"
#include "device/file/read_ring.h"
#include "engines/btree/page/node.h"
#include "engines/btree/page/space.h"
#include "engines/btree/pool/pool.h"
#include "engines/btree/pool/redo.h"
#include "engines/btree/pool/redo_log.h"

namespace testbed::btree {

// TreeEnv has the parts of a store that its trees share. The store owns them.
struct TreeEnv {
  Pool* pool = nullptr;
  Space* space = nullptr;
  RedoLog* log = nullptr;
};

class Tree;

// A BufferedRow is a copy of a row of the change buffer.
struct BufferedRow {
  bool erase = false;
  std::string key, value;
};

// A LeafFiller moves rows from the change buffer to their leaf, before a cursor walks that leaf.
class LeafFiller {
 public:
  virtual ~LeafFiller() = default;
  // Returns ChangeBuffer::moves().
  virtual uint64_t Moves() const = 0;
  // Moves the buffer's rows for the leaf of which `leaf` is a copy. Returns false when there were
  // none. Also returns false when the store takes no commits; then sets *waiting to the rows, which
  // stay in the buffer.
  virtual bool Fill(const Tree& tree, const Node& leaf, std::vector<BufferedRow>* waiting) = 0;
};

// A TreeContext is what one thread needs to work on the trees of a store.
struct TreeContext {
  explicit TreeContext(Pool* pool) : client(pool), scratch(pool->page_size()) {}
  // This is how many pages a scan may read ahead at once. Below 2 a scan reads none ahead.
  uint32_t read_ahead = 0;
  std::unique_ptr<ReadRing> ring;  // for reading ahead; made when first needed
  LeafFiller* filler = nullptr;    // null when the store has no change buffer
  PoolClient client;
  StructureRecord record;  // the log record of a change of shape
  AlignedBuffer scratch;   // memory for one page
  // This is what the thread's last walk of known length (Cursor::Expect) found: the rows of a leaf,
  // and whether leaves that it read ahead were missing from the pool.
  struct Walk {
    const Tree* tree = nullptr;  // null: there was none
    uint32_t rows = 1;
    bool missed = false;
  };
  Walk last_walk;
  // This is the log record of the commit whose rows are being applied.
  LogRange commit;
  // If true, recovery marks the leaf of each row dirty, changed or not: after a failed sync, the
  // page that the kernel's cache returned may not be in the file.
  bool recovers = false;
};

// A LeafWrite is one row to write. For a value in overflow pages `value` is the encoded
// OverflowRef, whose run is reserved and filled.
struct LeafWrite {
  std::string_view key;
  bool erase = false;
  LeafValue value;
};

// A Lookup is the state of a look-up that waits for nothing; Tree::Continue works on it.
struct Lookup {
  enum class State : uint8_t {
    kFound,
    kAbsent,
    kMissing,  // the caller must read the page `missing` and call Pool::EndRead, then Continue
    kBusy,     // another thread has latched the page, or no frame is free: call Continue later
    kLong,     // the row's value is in overflow pages: call Tree::Get, which may wait
  };
  explicit Lookup(std::string_view key = {}) : key(key) {}

  std::string_view key;
  Pool::MissingPage missing;

 private:
  friend class Tree;
  OptimisticGuard at_;      // the node that the look-up has reached; empty: it begins at the root
  PageId asked_ = kNoPage;  // the page that was counted as a request, so that it counts once
};

// A CachedLookup is a look-up that gives up where it would have to wait, read a page or begin
// again. Several of them go on by turns, each by a step (Tree::Step) that ends with a prefetch of
// what the next step reads. The prefetched lines come from memory while the other look-ups take
// their steps. Sources: Chen, Gibbons, Mowry, "Improving index performance through prefetching",
// SIGMOD 2001; for the turns Kocberber, Falsafi, Grot, "Asynchronous memory access chaining", VLDB
// 2015.
struct CachedLookup {
  enum class State : uint8_t {
    kGoesDown,  // it goes down to the next node, or to the root
    kInNode,    // it has reached a node, and searches the node
    kAtRow,     // it reads the row (at_row)
    kFound,     // *value is the row's value
    kAbsent,
    kUnknown,  // it gave up; the caller calls Tree::Get
  };
  CachedLookup(std::string_view key, std::string* value) : key(key), value(value) {}
  bool ended() const { return state >= State::kFound; }
  // Returns whether the next step reads the row. The look-up has already taken the version of the
  // row's leaf. A caller that finds now that no commit is writing the row, and that the row's
  // newest version is in the leaf, gets this version, or kUnknown.
  bool at_row() const { return state == State::kAtRow; }
  void GiveUp() {
    state = State::kUnknown;
    at_ = {};
  }

  std::string_view key;
  std::string* value;  // undefined unless the look-up has ended with kFound
  State state = State::kGoesDown;

 private:
  friend class Tree;
  OptimisticGuard at_;     // the node that the look-up has reached; empty: it begins at the root
  PageId next_ = kNoPage;  // the child of at_ to which it goes down
  uint8_t above_ = 0;      // level of the node above at_
  uint32_t requests_ = 0;  // number of nodes that it has reached
};

class Tree {
 public:
  Tree(const TreeEnv& env, uint32_t table, PageId root) : env_(env), table_(table), root_(root) {}

  // Returns whether the tree has the key; if so, sets *value. Throws Error (kIo, kCorruption) when
  // a page cannot be read or is not the page that its parent expects.
  bool Get(TreeContext* context, std::string_view key, std::string* value) const;
  // Continues a look-up as far as it can without waiting, and sets *value when it returns kFound.
  // Throws the errors of Get; then the look-up holds no latch.
  Lookup::State Continue(TreeContext* context, Lookup* lookup, std::string* value) const;
  // Takes a look-up that has not ended a step further. Waits for nothing. Counts the requests of a
  // look-up when it ends with kFound or kAbsent.
  void Step(TreeContext* context, CachedLookup* lookup) const;
  // The caller calls it when reading lookup->missing has failed with `error`, after EndRead. Throws
  // `error` when the page still belongs to the tree. Otherwise returns, and the look-up begins
  // again.
  void FailedRead(Lookup* lookup, const Error& error) const;
  // Applies a row of the commit context->commit. Idempotent. Throws Error when a page cannot be
  // read or there is no space.
  void Write(TreeContext* context, const LeafWrite& row) {
    ExclusiveGuard leaf;
    Write(context, row, &leaf);
  }
  // Applies a row and may leave its leaf latched in *leaf, so that the next row of the same leaf
  // needs no descent. *leaf must be empty or left by an earlier call for this tree. While it is
  // latched the caller must wait for nothing.
  void Write(TreeContext* context, const LeafWrite& row, ExclusiveGuard* leaf);

  // Returns whether a row of these sizes must have its value in overflow pages.
  bool NeedsOverflow(size_t key_size, size_t value_size) const {
    return key_size + 2 + value_size + Node::kSlotSize > MaxInlineRow(env_.pool->page_size());
  }

  enum class Bound : uint8_t {
    kCover,  // the leaf whose key range contains the key
    kBelow,  // the leaf whose key range contains the greatest keys below the key
    kLast,   // the last leaf
  };
  // Copies a leaf to `copy`, which has room for a page. The copy is the leaf as it was at one
  // moment.
  void CopyLeaf(TreeContext* context, Bound bound, std::string_view key, char* copy) const;

  // Brings the leaf that covers `key` and the following leaves into the pool, up to `pages` of
  // them, but only leaves under the same parent. Returns the number of these leaves, including
  // those that were in the pool already. Where the kernel has no io_uring, or refuses to wait for
  // the reads, it returns 0, and turns reading ahead off.
  uint32_t ReadAhead(TreeContext* context, std::string_view key, uint32_t pages) const;

  // Returns whether the leaf that covers `key` is in the pool.
  bool LeafInPool(TreeContext* context, std::string_view key) const;

  // Returns the number of levels, the leaves included. The caller holds no latch. The first call
  // reads the root, and throws Error when it cannot be read.
  uint32_t Levels(TreeContext* context) const;

  uint32_t table() const { return table_; }
  PageId root() const { return root_; }

  // Makes `page` the empty root of a new tree.
  static void FormatRoot(char* page, uint32_t page_size, PageId id, uint32_t table);

 private:
  // Returns the node at `level` on the way to `key`; the root, if the tree is lower than that. The
  // page was that node when its version was taken, and stays it while the guard is valid.
  OptimisticGuard Descend(TreeContext* context, Bound bound, std::string_view key,
                          uint8_t level = 0) const;
  // Throws Error (kCorruption), which says that the page is not the one that its parent expects.
  [[noreturn]] void ThrowWrongPage(PageId id) const;
  ExclusiveGuard FindLeafExclusive(TreeContext* context, std::string_view key);
  void MoveToLeaf(TreeContext* context, std::string_view key, ExclusiveGuard* leaf);
  ExclusiveGuard FindParent(TreeContext* context, std::string_view key, uint8_t level);
  bool GetLong(TreeContext* context, std::string_view key, std::string* value) const;
  // These functions are the steps of a CachedLookup, by its state (tree_lookup.cc).
  void StepDown(CachedLookup* lookup) const;
  void StepInNode(CachedLookup* lookup) const;
  void StepAtRow(TreeContext* context, CachedLookup* lookup) const;

  // These functions write rows. `at` is the row's place in the leaf, and `found` says whether the
  // leaf has the row. Each returns false, with the leaf unchanged, when the leaf has no room.
  bool WriteWithOverflow(TreeContext* context, ExclusiveGuard* leaf, const LeafWrite& row,
                         uint32_t at, bool found);
  static bool ChangeRow(Node* node, const LeafWrite& row, uint32_t at, bool found);

  // These functions change the tree's shape (tree_shape.cc). The guards are exclusive latches of
  // the nodes to change, which the caller holds. Each throws Error, with the tree unchanged, when
  // it cannot get a page or append its log record.
  void Split(TreeContext* context, std::string_view key, uint8_t level, size_t need);
  void SplitRoot(TreeContext* context, ExclusiveGuard* root, std::string_view key);
  void SplitChild(TreeContext* context, ExclusiveGuard* parent, ExclusiveGuard* left,
                  const Node::SplitPoint& split);
  void Merge(TreeContext* context, std::string_view key, uint8_t level);
  bool MergeChildren(TreeContext* context, ExclusiveGuard* parent, uint32_t left_index,
                     uint32_t target_index);
  void ShrinkRoot(TreeContext* context, ExclusiveGuard* root);
  ExclusiveGuard NewPage(TreeContext* context);
  void NoteLevels(const ExclusiveGuard& root) {
    levels_.store(Header(root.page())->level + 1u, std::memory_order_relaxed);
  }
  // Throws Error (kCorruption) unless `child`, which entry `i` of `above` leads to, has the table,
  // the level and both fences that `above` says. An old version of a page that was split since then
  // covers the keys of a look-up, too. Only its wider range shows that it is old, so each change of
  // shape checks it here.
  void CheckChild(const Node& above, uint32_t i, const ExclusiveGuard& child) const;
  uint32_t page_size() const { return env_.pool->page_size(); }
  bool Underfull(const Node& node) const { return node.UsedBytes() < node.Capacity() / 4; }

  const TreeEnv env_;
  const uint32_t table_;
  const PageId root_;
  // This is the number of levels; 0 means that it is not known yet. A change of shape sets it under
  // the root's latch.
  mutable std::atomic<uint32_t> levels_{0};
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_TREE_TREE_H_
