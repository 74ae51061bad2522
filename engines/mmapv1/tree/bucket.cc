#include "engines/mmapv1/tree/bucket.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "device/error.h"

namespace testbed::mmapv1 {
namespace {

void SetOfs(KeyNode* node, uint32_t ofs) {
  node->key_ofs[0] = static_cast<uint8_t>(ofs);
  node->key_ofs[1] = static_cast<uint8_t>(ofs >> 8);
}

KeyNode MakeNode(DiskLoc left, DiskLoc record, uint32_t ofs) {
  KeyNode node;
  node.left = mmapv1::Pack(left);
  node.record = mmapv1::Pack(record);
  SetOfs(&node, ofs);
  return node;
}

}  // namespace

std::string_view Bucket::Key(int i) const {
  const uint32_t ofs = std::min<uint32_t>(KeyOfs(i), kBodyBytes - 2);
  const auto* at = reinterpret_cast<const uint8_t*>(body() + ofs);
  uint32_t size = at[0], begin = ofs + 1;
  if (size >= 0x80) {
    size = (size & 0x7f) << 8 | at[1];
    ++begin;
  }
  // This reads nothing outside of the bucket, whatever the bucket holds.
  size = std::min(size, kBodyBytes - begin);
  return {body() + begin, size};
}

int Bucket::Search(std::string_view key, bool* found) const {
  int low = 0, high = n();
  *found = false;
  while (low < high) {
    const int middle = (low + high) / 2;
    const int order = Key(middle).compare(key);
    if (order == 0) {
      *found = true;
      return middle;
    }
    if (order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

int Bucket::PositionOfChild(DiskLoc child) const {
  int i = 0;
  while (i <= n() && Child(i) != child) ++i;
  return i;
}

uint32_t Bucket::UsedByKeys() const {
  if ((header()->flags & kPacked) != 0) return header()->top;
  uint32_t used = 0;
  for (int i = 0; i < n(); ++i) used += KeyRoom(Key(i));
  return used;
}

uint32_t Bucket::FreeBytes() const {
  return kBodyBytes - static_cast<uint32_t>(n()) * static_cast<uint32_t>(sizeof(KeyNode)) -
         UsedByKeys();
}

int Bucket::SplitPosition(int pos) const {
  const uint32_t used = kBodyBytes - FreeBytes();
  const uint32_t most_right = used / (pos == n() ? 10 : 2);
  uint32_t right = 0;
  int i = n() - 1;
  for (; i > 1; --i) {
    right += static_cast<uint32_t>(sizeof(KeyNode)) + KeyRoom(Key(i));
    if (right > most_right) break;
  }
  // The split position leaves at least one key on each side.
  return std::clamp(i, 1, n() - 2);
}

BucketHeader* Bucket::WriteHeader(Files* files) {
  return reinterpret_cast<BucketHeader*>(
      files->Write(Plus(loc_, sizeof(RecordHeader)), sizeof(BucketHeader)));
}

KeyNode* Bucket::WriteNodes(Files* files, int i, int count) {
  const auto ofs = static_cast<uint32_t>(sizeof(RecordHeader) + sizeof(BucketHeader) +
                                         static_cast<size_t>(i) * sizeof(KeyNode));
  return reinterpret_cast<KeyNode*>(
      files->Write(Plus(loc_, ofs), static_cast<uint32_t>(count) * sizeof(KeyNode)));
}

void Bucket::Format(Files* files, DiskLoc parent) {
  *WriteHeader(files) = {mmapv1::Pack(parent), mmapv1::Pack({}), kPacked, kBodyBytes, 0, 0};
}

void Bucket::SetParent(Files* files, DiskLoc parent) {
  if (this->parent() != parent) WriteHeader(files)->parent = mmapv1::Pack(parent);
}

void Bucket::SetChild(Files* files, int i, DiskLoc child) {
  if (i == n()) {
    WriteHeader(files)->next_child = mmapv1::Pack(child);
  } else {
    WriteNodes(files, i, 1)->left = mmapv1::Pack(child);
  }
}

void Bucket::SetRecord(Files* files, int i, DiskLoc record) {
  WriteNodes(files, i, 1)->record = mmapv1::Pack(record);
}

// Appends the key to the bucket's keys and returns its offset. The bucket must have room for it.
uint32_t Bucket::AddKey(Files* files, std::string_view key) {
  BucketHeader* header = WriteHeader(files);
  const uint32_t room = KeyRoom(key);
  header->top = static_cast<uint16_t>(header->top + room);
  header->empty = static_cast<uint16_t>(header->empty - room);
  const uint32_t ofs = kBodyBytes - header->top;
  char* to = files->Write(
      Plus(loc_, static_cast<uint32_t>(sizeof(RecordHeader) + sizeof(BucketHeader)) + ofs), room);
  if (key.size() >= 0x80) *to++ = static_cast<char>(0x80 | key.size() >> 8);
  *to++ = static_cast<char>(key.size());
  std::memcpy(to, key.data(), key.size());
  return ofs;
}

void Bucket::Pack(Files* files) {
  if ((header()->flags & kPacked) != 0) return;
  char* const to = files->Write(Plus(loc_, sizeof(RecordHeader)), kBucketBytes);
  alignas(8) std::array<char, kBucketBytes> copy;
  std::memcpy(copy.data(), base_, kBucketBytes);
  Bucket old;
  old.base_ = copy.data();
  uint32_t top = 0;
  for (int i = 0; i < n(); ++i) {
    const uint32_t room = KeyRoom(old.Key(i));
    top += room;
    if (old.KeyOfs(i) + room > kBodyBytes ||
        top + static_cast<uint32_t>(n()) * sizeof(KeyNode) > kBodyBytes) {
      throw Error(Error::kCorruption,
                  "the mmapv1 database is damaged: a bucket's key lies outside of it");
    }
    std::memcpy(body() + kBodyBytes - top, old.body() + old.KeyOfs(i), room);
    SetOfs(const_cast<KeyNode*>(node(i)), kBodyBytes - top);
  }
  auto* header = reinterpret_cast<BucketHeader*>(to);
  header->top = static_cast<uint16_t>(top);
  header->empty =
      static_cast<uint16_t>(kBodyBytes - top - static_cast<uint32_t>(n()) * sizeof(KeyNode));
  header->flags |= kPacked;
}

bool Bucket::MakeRoom(Files* files, uint32_t bytes) {
  if (header()->empty >= bytes) return true;
  if (FreeBytes() < bytes) return false;
  Pack(files);
  return true;
}

bool Bucket::Insert(Files* files, int i, std::string_view key, DiskLoc record, DiskLoc left,
                    DiskLoc right) {
  if (!MakeRoom(files, KeyRoom(key) + static_cast<uint32_t>(sizeof(KeyNode)))) return false;
  const uint32_t ofs = AddKey(files, key);
  const int moved = n() - i;
  KeyNode* const nodes = WriteNodes(files, i, moved + 1);
  std::memmove(nodes + 1, nodes, static_cast<size_t>(moved) * sizeof(KeyNode));
  nodes[0] = MakeNode(left, record, ofs);
  BucketHeader* header = WriteHeader(files);
  header->n = static_cast<uint16_t>(header->n + 1);
  header->empty = static_cast<uint16_t>(header->empty - sizeof(KeyNode));
  if (moved == 0) {
    header->next_child = mmapv1::Pack(right);
  } else {
    nodes[1].left = mmapv1::Pack(right);
  }
  return true;
}

bool Bucket::Replace(Files* files, int i, std::string_view key, DiskLoc record) {
  // The old key becomes garbage only after the new key was added.
  if (FreeBytes() < KeyRoom(key) || !MakeRoom(files, KeyRoom(key))) return false;
  const uint32_t ofs = AddKey(files, key);
  *WriteNodes(files, i, 1) = MakeNode(Child(i), record, ofs);
  WriteHeader(files)->flags &= static_cast<uint16_t>(~kPacked);
  return true;
}

void Bucket::Remove(Files* files, int i, DiskLoc child) {
  const int moved = n() - 1 - i;
  KeyNode* const nodes = WriteNodes(files, i, moved + 1);
  BucketHeader* header = WriteHeader(files);
  std::memmove(nodes, nodes + 1, static_cast<size_t>(moved) * sizeof(KeyNode));
  header->n = static_cast<uint16_t>(header->n - 1);
  header->empty = static_cast<uint16_t>(header->empty + sizeof(KeyNode));
  header->flags &= static_cast<uint16_t>(~kPacked);
  SetChild(files, i, child);
}

void Bucket::MoveTail(Files* files, int i, Bucket* right) const {
  for (int at = 0; i + at < n(); ++at) {
    right->Insert(files, at, Key(i + at), Record(i + at), Child(i + at), Child(i + at + 1));
  }
}

void Bucket::Truncate(Files* files, int n, DiskLoc child) {
  BucketHeader* header = WriteHeader(files);
  header->empty =
      static_cast<uint16_t>(header->empty + static_cast<size_t>(header->n - n) * sizeof(KeyNode));
  header->n = static_cast<uint16_t>(n);
  header->next_child = mmapv1::Pack(child);
  header->flags &= static_cast<uint16_t>(~kPacked);
  Pack(files);
}

}  // namespace testbed::mmapv1
