// A Tree is the b-tree of a table: keys in order, each with the place of its row's record.
//
//   Tree tree(&files, entry, slot);
//   TreePosition at;
//   if (tree.Find(key, &at)) DiskLoc record = tree.Record(at);
//   else tree.Insert(at, key, record);
//   for (bool on = tree.First(&at); on; on = tree.Next(&at)) ... tree.Key(at) ...
//
// It is a B-tree, not a B+-tree: inner buckets hold keys as well, and each key is there once. A key
// that does not fit splits its bucket, in the middle or, at the right edge of a bucket, 90 to 10;
// the key between the two halves goes up.
//
// Buckets are not merged when keys are erased. A bucket that is left empty is freed, and the
// pointer to it becomes null (or points to its only child). So an inner bucket may have null
// children, and a key whose child is null is inserted into the inner bucket itself. An erased key
// with children on both sides is replaced by the next key of the tree. If that does not fit, the
// erased key stays as an unused key, which divides its children and is no row.
//
// Invariants: no bucket but the root is empty; an unused key has children on both sides; each
// bucket names its parent.
//
// Reading needs the database's read lock, changing its write lock. A position is good until the
// next change of the database.
#ifndef TESTBED_ENGINES_MMAPV1_TREE_TREE_H_
#define TESTBED_ENGINES_MMAPV1_TREE_TREE_H_

#include <string_view>

#include "engines/mmapv1/files/files.h"
#include "engines/mmapv1/files/format.h"
#include "engines/mmapv1/tree/bucket.h"
#include "engines/mmapv1/tree/space.h"

namespace testbed::mmapv1 {

struct TreePosition {
  DiskLoc bucket;
  int i = 0;
};

class Tree {
 public:
  // `entry` lies in the namespace file's view.
  Tree(Files* files, NsEntry* entry, uint32_t slot)
      : files_(files), entry_(entry), space_(files, &entry->index, slot, true) {}

  // Makes the empty root of a new table.
  void Create();

  // Returns whether the key is there. If not, *at is where it would go.
  bool Find(std::string_view key, TreePosition* at) const;
  std::string_view Key(TreePosition at) const { return BucketAt(at.bucket).Key(at.i); }
  DiskLoc Record(TreePosition at) const { return BucketAt(at.bucket).Record(at.i); }

  // First, Last, Next and Prev move to a row and return whether there is one.
  bool First(TreePosition* at) const;
  bool Last(TreePosition* at) const;
  bool Next(TreePosition* at) const;
  bool Prev(TreePosition* at) const;
  // Seek moves to the first row at or after the key, SeekBack to the last row at or before it. With
  // `beyond`, both pass over the key itself.
  bool Seek(std::string_view key, bool beyond, TreePosition* at) const;
  bool SeekBack(std::string_view key, bool beyond, TreePosition* at) const;

  // Inserts a key after a Find that did not find it. `at` is the position that Find has set.
  void Insert(TreePosition at, std::string_view key, DiskLoc record);
  void SetRecord(TreePosition at, DiskLoc record) {
    BucketAt(at.bucket).SetRecord(files_, at.i, record);
  }
  void Remove(TreePosition at);

 private:
  static constexpr int kMostHeight = 64;
  Bucket BucketAt(DiskLoc loc) const {
    const Bucket bucket(files_, loc);
    if (!bucket.sound()) [[unlikely]]
      Damaged("the parts of a bucket do not add up");
    return bucket;
  }
  Bucket Root() const {
    const Bucket root = BucketAt(entry_->root);
    // A root gets a parent only when another bucket becomes the root in its place.
    if (!root.parent().null()) [[unlikely]]
      Damaged("its root has a parent");
    return root;
  }
  [[noreturn]] void Damaged(const char* how) const;
  // Counts a step from bucket to bucket, up or down. Throws after kMostHeight steps, which is more
  // than any tree has levels: such buckets form a circle.
  void Step(int* steps) const {
    if (++*steps > kMostHeight) [[unlikely]]
      Damaged("its buckets lead round in a circle");
  }
  bool IsRow(TreePosition at) const { return Record(at) != kUnusedKey; }
  int PositionIn(const Bucket& parent, DiskLoc child) const;
  bool Forward(TreePosition* at) const;  // moves to the next key, used or not
  bool Backward(TreePosition* at) const;
  bool Up(TreePosition* at) const;      // moves to the next key, which is in an ancestor
  bool UpBack(TreePosition* at) const;  // moves to the key before, which is in an ancestor
  DiskLoc NewBucket(DiskLoc parent);
  void InsertAt(DiskLoc loc, int i, std::string_view key, DiskLoc record, DiskLoc left,
                DiskLoc right);
  void Split(DiskLoc loc, int i, std::string_view key, DiskLoc record, DiskLoc left, DiskLoc right);
  void Adopt(DiskLoc child, DiskLoc parent);
  bool ReplaceBySuccessor(TreePosition at);
  void RemoveSimple(TreePosition at);
  void RemoveEmpty(DiskLoc loc);

  Files* const files_;
  NsEntry* const entry_;
  RecordSpace space_;
};

}  // namespace testbed::mmapv1

#endif  // TESTBED_ENGINES_MMAPV1_TREE_TREE_H_
