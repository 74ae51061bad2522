// One table's b-tree: look-ups, row writes, and the changes of shape that they need.
//
// The root's page number never changes: when the root is split, its content moves to two new
// children. Every change of shape touches a parent and one or two children, is one log record, and
// leaves a valid tree; a split that needs room in the parent first splits the parent, as a change
// of its own. docs/btree.md has the latching protocol: latches are taken downwards, and left before
// right; a thread that holds a leaf waits for no other node.
//
// Thread-safe: any number of threads, each with its own TreeContext. Writers of one row must not
// meet (the row locks in store.h see to it).
#ifndef TESTBED_ENGINES_BTREE_TREE_TREE_H_
#define TESTBED_ENGINES_BTREE_TREE_TREE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "device/error.h"
#include "device/file/file.h"
#include "device/file/read_ring.h"
#include "engines/btree/page/node.h"
#include "engines/btree/page/space.h"
#include "engines/btree/pool/pool.h"
#include "engines/btree/pool/redo.h"
#include "engines/btree/pool/redo_log.h"
#include "engines/btree/tree/overflow.h"

namespace testbed::btree {

struct TreeEnv {
  Pool* pool = nullptr;
  Space* space = nullptr;
  RedoLog* log = nullptr;
};

class Tree;

// Gives a leaf the writes that wait for it elsewhere (change_buffer.h), before a cursor walks it.
class LeafFiller {
 public:
  virtual ~LeafFiller() = default;
  // Grows whenever writes leave that place, after they came to their leaf.
  virtual uint64_t Moves() const = 0;
  // `leaf` is a copy of a leaf of the tree. False when nothing waited for it.
  virtual bool Fill(const Tree& tree, const Node& leaf) = 0;
};

// What one thread needs to work on trees.
struct TreeContext {
  explicit TreeContext(Pool* pool) : client(pool), scratch(pool->page_size()) {}
  // Pages that a scan may read ahead at once; 0 = none.
  uint32_t read_ahead = 0;
  std::unique_ptr<ReadRing> ring;  // for them, when first needed
  LeafFiller* filler = nullptr;    // null where no writes wait
  PoolClient client;
  StructureRecord record;
  AlignedBuffer scratch;
  // The log record that holds the row writes being applied.
  LogRange commit;
  // The leaf of each row is written again, changed or not: the file may lack what the cache of the
  // kernel has, if a sync failed.
  bool recovers = false;
};

// A row to write. For a value in overflow pages `value` is the encoded OverflowRef, whose run is
// reserved.
struct LeafWrite {
  std::string_view key;
  bool erase = false;
  LeafValue value;
};

// A look-up that waits for nothing: see Tree::Continue.
struct Lookup {
  enum class State : uint8_t {
    kFound,
    kAbsent,
    kMissing,  // `missing` is to be read (Pool::EndRead); then Continue goes on
    kBusy,     // somebody has a page or all frames: Continue goes on later
    kLong,     // it has its value in overflow pages: Tree::Get reads them
  };
  explicit Lookup(std::string_view key = {}) : key(key) {}

  std::string_view key;
  Pool::MissingPage missing;

 private:
  friend class Tree;
  OptimisticGuard at;      // the node it has got to; none = begins anew
  PageId asked = kNoPage;  // the page asked for last, so that it is counted once
};

class Tree {
 public:
  Tree(const TreeEnv& env, uint32_t table, PageId root) : env_(env), table_(table), root_(root) {}

  bool Get(TreeContext* context, std::string_view key, std::string* value) const;
  // Goes on with a look-up as far as it can without waiting. Throws with nothing latched.
  Lookup::State Continue(TreeContext* context, Lookup* lookup, std::string* value) const;
  // The read of lookup->missing could not be done, by this error: throws it, unless the look-up
  // went to a page that is not the tree's any more; then Continue goes on.
  void FailedRead(Lookup* lookup, const Error& error) const;
  // Applies a row of the transaction context->commit. Idempotent.
  void Write(TreeContext* context, const LeafWrite& row) {
    ExclusiveGuard leaf;
    Write(context, row, &leaf);
  }
  // The same for rows one after the other: *leaf stays latched, so that the next row needs no
  // descent when it belongs to the same leaf. The caller waits for nothing meanwhile; *leaf is none
  // or what an earlier call for this tree has left.
  void Write(TreeContext* context, const LeafWrite& row, ExclusiveGuard* leaf);

  // Whether a row must have its value in overflow pages.
  bool NeedsOverflow(size_t key_size, size_t value_size) const {
    return key_size + 2 + value_size + Node::kSlotSize > MaxInlineRow(env_.pool->page_size());
  }

  enum class Bound : uint8_t {
    kCover,  // the leaf whose range has the key
    kBelow,  // the leaf whose range has the greatest keys below the key
    kLast,   // the last leaf
  };
  // Copies a leaf as it is at one moment.
  void CopyLeaf(TreeContext* context, Bound bound, std::string_view key, char* copy) const;

  // Brings in the leaves from the one that covers `key` on, up to `pages` of them and as far as
  // their parent knows. Returns how many these are, whether they were there or read.
  uint32_t ReadAhead(TreeContext* context, std::string_view key, uint32_t pages) const;

  // Whether a write to this row's leaf would find it in the pool.
  bool LeafInPool(TreeContext* context, std::string_view key) const;

  uint32_t table() const { return table_; }
  PageId root() const { return root_; }

  // Makes `page` the empty root of a new tree.
  static void FormatRoot(char* page, uint32_t page_size, PageId id, uint32_t table);

 private:
  // The node at `level` on the way to `key`, or the root if that is lower. Was it when its version
  // was taken, and is as long as the guard is valid.
  OptimisticGuard Descend(TreeContext* context, Bound bound, std::string_view key,
                          uint8_t level = 0) const;
  [[noreturn]] void ThrowWrongPage(PageId id) const;
  ExclusiveGuard FindLeafExclusive(TreeContext* context, std::string_view key);
  void MoveToLeaf(TreeContext* context, std::string_view key, ExclusiveGuard* leaf);
  ExclusiveGuard FindParent(TreeContext* context, std::string_view key, uint8_t level);
  bool GetLong(TreeContext* context, std::string_view key, std::string* value) const;

  // Row writes. Each returns false when the leaf has no room.
  bool WriteInLeaf(ExclusiveGuard* leaf, const LeafWrite& row, uint32_t at, bool found);
  bool WriteWithOverflow(TreeContext* context, ExclusiveGuard* leaf, const LeafWrite& row,
                         uint32_t at, bool found);
  static bool ChangeRow(Node* node, const LeafWrite& row, uint32_t at, bool found);

  // Changes of shape (tree_shape.cc).
  void Split(TreeContext* context, std::string_view key, uint8_t level, size_t need);
  void SplitRoot(TreeContext* context, ExclusiveGuard* root, std::string_view key);
  void SplitChild(TreeContext* context, ExclusiveGuard* parent, ExclusiveGuard* left,
                  const Node::SplitPoint& split);
  void Merge(TreeContext* context, std::string_view key, uint8_t level);
  bool MergeChildren(TreeContext* context, ExclusiveGuard* parent, uint32_t left_index,
                     uint32_t target_index);
  void ShrinkRoot(TreeContext* context, ExclusiveGuard* root);
  ExclusiveGuard NewPage(TreeContext* context);
  uint32_t page_size() const { return env_.pool->page_size(); }
  bool Underfull(const Node& node) const { return node.UsedBytes() < node.Capacity() / 4; }

  const TreeEnv env_;
  const uint32_t table_;
  const PageId root_;
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_TREE_TREE_H_
