#include "engines/mmapv1/tree/tree.h"

#include <string>

#include "device/error.h"

namespace testbed::mmapv1 {
namespace {

constexpr int kLeastKeysToSplit = 3;

}  // namespace

void Tree::Create() { files_->Assign(kNsFile, &entry_->root, NewBucket({})); }

void Tree::Damaged(const char* how) const {
  throw Error(Error::kCorruption, "the database in " + files_->dir() + " is damaged: " + how);
}

DiskLoc Tree::NewBucket(DiskLoc parent) {
  const DiskLoc loc = space_.Allocate(kBucketRecord);
  Bucket(files_, loc).Format(files_, parent);
  return loc;
}

bool Tree::Find(std::string_view key, TreePosition* at) const {
  Bucket bucket = Root();
  for (int steps = 0;; Step(&steps)) {
    at->bucket = bucket.loc();
    bool found = false;
    at->i = bucket.Search(key, &found);
    if (found) return IsRow(*at);
    const DiskLoc child = bucket.Child(at->i);
    if (child.null()) return false;
    bucket = BucketAt(child);
  }
}

int Tree::PositionIn(const Bucket& parent, DiskLoc child) const {
  const int i = parent.PositionOfChild(child);
  if (i > parent.n()) Damaged("a bucket is no child of its parent");
  return i;
}

bool Tree::Up(TreePosition* at) const {
  int steps = 0;
  for (DiskLoc child = at->bucket;; Step(&steps)) {
    const DiskLoc parent = BucketAt(child).parent();
    if (parent.null()) return false;
    const Bucket bucket = BucketAt(parent);
    const int i = PositionIn(bucket, child);
    if (i < bucket.n()) {
      *at = {parent, i};
      return true;
    }
    child = parent;
  }
}

bool Tree::UpBack(TreePosition* at) const {
  int steps = 0;
  for (DiskLoc child = at->bucket;; Step(&steps)) {
    const DiskLoc parent = BucketAt(child).parent();
    if (parent.null()) return false;
    const int i = PositionIn(BucketAt(parent), child);
    if (i > 0) {
      *at = {parent, i - 1};
      return true;
    }
    child = parent;
  }
}

bool Tree::Forward(TreePosition* at) const {
  Bucket bucket = BucketAt(at->bucket);
  DiskLoc child = bucket.Child(++at->i);
  if (child.null()) return at->i < bucket.n() || Up(at);
  for (int steps = 0; !child.null(); child = bucket.Child(0), Step(&steps)) {
    bucket = BucketAt(child);
  }
  *at = {bucket.loc(), 0};
  return true;
}

bool Tree::Backward(TreePosition* at) const {
  Bucket bucket = BucketAt(at->bucket);
  DiskLoc child = bucket.Child(at->i);
  if (child.null()) return --at->i >= 0 || UpBack(at);
  for (int steps = 0; !child.null(); child = bucket.Child(bucket.n()), Step(&steps)) {
    bucket = BucketAt(child);
  }
  *at = {bucket.loc(), bucket.n() - 1};
  return true;
}

bool Tree::Next(TreePosition* at) const {
  do {
    if (!Forward(at)) return false;
  } while (!IsRow(*at));
  return true;
}

bool Tree::Prev(TreePosition* at) const {
  do {
    if (!Backward(at)) return false;
  } while (!IsRow(*at));
  return true;
}

bool Tree::First(TreePosition* at) const {
  *at = {Root().loc(), -1};
  return Next(at);
}

bool Tree::Last(TreePosition* at) const {
  const Bucket root = Root();
  *at = {root.loc(), root.n()};
  return Prev(at);
}

bool Tree::Seek(std::string_view key, bool beyond, TreePosition* at) const {
  if (Find(key, at)) return !beyond || Next(at);
  const Bucket bucket = BucketAt(at->bucket);
  // Either the key at this place is the wanted key and unused, or the caller wants the row that
  // comes next.
  if (at->i < bucket.n()) return (IsRow(*at) && bucket.Key(at->i) != key) || Next(at);
  return Up(at) && (IsRow(*at) || Next(at));
}

bool Tree::SeekBack(std::string_view key, bool beyond, TreePosition* at) const {
  return (Find(key, at) && !beyond) || Prev(at);
}

void Tree::Adopt(DiskLoc child, DiskLoc parent) {
  if (!child.null()) BucketAt(child).SetParent(files_, parent);
}

void Tree::Insert(TreePosition at, std::string_view key, DiskLoc record) {
  const Bucket bucket = BucketAt(at.bucket);
  if (at.i < bucket.n() && bucket.Record(at.i) == kUnusedKey && bucket.Key(at.i) == key) {
    SetRecord(at, record);
    return;
  }
  InsertAt(at.bucket, at.i, key, record, {}, {});
}

void Tree::InsertAt(DiskLoc loc, int i, std::string_view key, DiskLoc record, DiskLoc left,
                    DiskLoc right) {
  if (!BucketAt(loc).Insert(files_, i, key, record, left, right)) {
    Split(loc, i, key, record, left, right);
    return;
  }
  Adopt(left, loc);
  Adopt(right, loc);
}

void Tree::Split(DiskLoc loc, int i, std::string_view key, DiskLoc record, DiskLoc left,
                 DiskLoc right) {
  Bucket old = BucketAt(loc);
  if (old.n() < kLeastKeysToSplit) Damaged("a bucket is full with too few keys");
  const int middle = old.SplitPosition(i);
  const std::string middle_key(old.Key(middle));
  const DiskLoc middle_record = old.Record(middle), parent = old.parent();
  const DiskLoc tail_loc = NewBucket(parent);
  Bucket tail = BucketAt(tail_loc);
  old.MoveTail(files_, middle + 1, &tail);
  // The children that moved have another parent now. Each of them is touched, as in the original.
  for (int c = 0; c <= tail.n(); ++c) Adopt(tail.Child(c), tail_loc);
  old.Truncate(files_, middle, old.Child(middle));
  if (i <= middle) {
    InsertAt(loc, i, key, record, left, right);
  } else {
    InsertAt(tail_loc, i - middle - 1, key, record, left, right);
  }
  if (parent.null()) {
    const DiskLoc root = NewBucket({});
    InsertAt(root, 0, middle_key, middle_record, loc, tail_loc);
    files_->Assign(kNsFile, &entry_->root, root);
  } else {
    InsertAt(parent, PositionIn(BucketAt(parent), loc), middle_key, middle_record, loc, tail_loc);
  }
}

void Tree::Remove(TreePosition at) {
  const Bucket bucket = BucketAt(at.bucket);
  const bool divides = !bucket.Child(at.i).null() && !bucket.Child(at.i + 1).null();
  if (!divides) {
    RemoveSimple(at);
  } else if (!ReplaceBySuccessor(at)) {
    SetRecord(at, kUnusedKey);
  }
}

bool Tree::ReplaceBySuccessor(TreePosition at) {
  TreePosition next = at;
  // The key at `at` has a child behind it. So Forward moves to the first key below that child,
  // which has no child before it.
  if (!Forward(&next)) return false;
  const std::string key(Key(next));
  if (!BucketAt(at.bucket).Replace(files_, at.i, key, Record(next))) return false;
  RemoveSimple(next);
  return true;
}

void Tree::RemoveSimple(TreePosition at) {
  Bucket bucket = BucketAt(at.bucket);
  const DiskLoc left = bucket.Child(at.i), right = bucket.Child(at.i + 1);
  bucket.Remove(files_, at.i, left.null() ? right : left);
  if (bucket.n() == 0) RemoveEmpty(at.bucket);
}

void Tree::RemoveEmpty(DiskLoc loc) {
  const Bucket bucket = BucketAt(loc);
  const DiskLoc child = bucket.Child(0), parent_loc = bucket.parent();
  if (parent_loc.null()) {
    if (child.null()) return;  // only an empty table has such a root
    files_->Assign(kNsFile, &entry_->root, child);
    Adopt(child, {});
    space_.Free(loc);
    return;
  }
  Bucket parent = BucketAt(parent_loc);
  const int i = PositionIn(parent, loc);
  parent.SetChild(files_, i, child);
  Adopt(child, parent_loc);
  space_.Free(loc);
  if (!child.null()) return;
  // An unused key divides nothing any more when a child beside it is gone.
  for (const int key : {i, i - 1}) {
    if (key < 0 || key >= parent.n() || parent.Record(key) != kUnusedKey) continue;
    RemoveSimple({parent_loc, key});
    return;
  }
}

}  // namespace testbed::mmapv1
