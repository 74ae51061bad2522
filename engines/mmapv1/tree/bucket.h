// A Bucket is one b-tree bucket of 8192 bytes: key nodes from the front, keys from the back.
//
//   Bucket bucket(&files, loc);
//   bool found;
//   int pos = bucket.Search(key, &found);          // among its own keys
//   if (!bucket.Insert(&files, pos, key, record, left, right)) ...   // no room: split it
//
// A key node has the child with the keys before its own key, the place of the row's record, and the
// place of the key. Child(n()) has the keys after the last one. Any child may be null, even when
// others are not (tree.h). Keys that were removed leave garbage until Pack.
//
// Files have no checksums, so a bucket may hold any bytes: Tree uses only buckets that are sound().
//
// Reading needs the database's read lock, changing its write lock. Each change declares the bytes
// that it changes, as the original does; an insert in the middle declares half of the key nodes.
#ifndef TESTBED_ENGINES_MMAPV1_TREE_BUCKET_H_
#define TESTBED_ENGINES_MMAPV1_TREE_BUCKET_H_

#include <cstdint>
#include <string_view>

#include "engines/mmapv1/files/files.h"
#include "engines/mmapv1/files/format.h"

namespace testbed::mmapv1 {

// Returns how many bytes a key takes among the keys: one or two for its length, and its own.
inline uint32_t KeyRoom(std::string_view key) {
  return static_cast<uint32_t>(key.size()) + (key.size() < 0x80 ? 1 : 2);
}

class Bucket {
 public:
  Bucket() = default;
  Bucket(const Files* files, DiskLoc loc)
      : loc_(loc), base_(reinterpret_cast<char*>(&files->As<BucketRecord>(loc)->bucket)) {}

  DiskLoc loc() const { return loc_; }
  // Returns whether the bucket's numbers add up. Reads of a sound bucket stay inside of it, and so
  // do changes, except for what Pack checks by itself.
  bool sound() const {
    const BucketHeader& h = *header();
    return h.n * sizeof(KeyNode) + h.empty + h.top == kBodyBytes;
  }
  int n() const { return header()->n; }
  DiskLoc parent() const { return Unpack(header()->parent); }
  std::string_view Key(int i) const;
  DiskLoc Record(int i) const { return Unpack(node(i)->record); }
  DiskLoc Child(int i) const { return Unpack(i == n() ? header()->next_child : node(i)->left); }
  // Returns the first position whose key is not less than `key`.
  int Search(std::string_view key, bool* found) const;
  // Returns the position that has the child; n() + 1 when none has it.
  int PositionOfChild(DiskLoc child) const;
  // Returns the position of the key that goes up when the bucket is split for a new key at `pos`.
  // The position is in the middle, or near the end when keys come in order.
  int SplitPosition(int pos) const;
  // Returns the number of bytes that are neither key nodes nor keys in use.
  uint32_t FreeBytes() const;
  const BucketHeader* header() const { return reinterpret_cast<const BucketHeader*>(base_); }
  const KeyNode* node(int i) const {
    return reinterpret_cast<const KeyNode*>(body() + static_cast<size_t>(i) * sizeof(KeyNode));
  }

  // All functions below change the bucket.
  void Format(Files* files, DiskLoc parent);
  void SetParent(Files* files, DiskLoc parent);
  void SetChild(Files* files, int i, DiskLoc child);
  void SetRecord(Files* files, int i, DiskLoc record);
  // Inserts a key before position `i`. Returns false when there is no room.
  bool Insert(Files* files, int i, std::string_view key, DiskLoc record, DiskLoc left,
              DiskLoc right);
  // Replaces the key and the record at position `i`. Returns false when there is no room.
  bool Replace(Files* files, int i, std::string_view key, DiskLoc record);
  // Removes the key at position `i`. `child` replaces the children on both sides of it.
  void Remove(Files* files, int i, DiskLoc child);
  // Appends the keys from `i` on, and the last child, to `right`, which is empty.
  void MoveTail(Files* files, int i, Bucket* right) const;
  // Keeps the first `n` keys. `child` becomes the child after them.
  void Truncate(Files* files, int n, DiskLoc child);

 private:
  char* body() const { return base_ + sizeof(BucketHeader); }
  uint32_t KeyOfs(int i) const {
    return node(i)->key_ofs[0] | static_cast<uint32_t>(node(i)->key_ofs[1]) << 8;
  }
  uint32_t UsedByKeys() const;
  BucketHeader* WriteHeader(Files* files);
  KeyNode* WriteNodes(Files* files, int i, int count);
  uint32_t AddKey(Files* files, std::string_view key);
  void Pack(Files* files);
  bool MakeRoom(Files* files, uint32_t bytes);

  DiskLoc loc_;
  char* base_ = nullptr;  // points behind the record's header
};

}  // namespace testbed::mmapv1

#endif  // TESTBED_ENGINES_MMAPV1_TREE_BUCKET_H_
