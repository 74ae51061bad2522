// The BlockTable knows where the blocks are. It is the translation table from block numbers to
// extents of the data file, in three versions, and the space that none of them uses.
//
//   current       where each block was written last
//   checkpointed  what the newest durable header has, which a crash returns to
//   in progress   what the checkpoint under way will have: current as it was at its begin, and then
//                 the blocks that the checkpoint has written
//
// A block is never written in place: each write goes to a new extent, and an extent is free when no
// version has it any more. So after a crash everything that the checkpointed table names is as it
// was, whatever was written since.
//
// Thread-safe.
#ifndef TESTBED_ENGINES_FRACTAL_CACHE_BLOCK_TABLE_H_
#define TESTBED_ENGINES_FRACTAL_CACHE_BLOCK_TABLE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "device/os/mutex.h"
#include "engines/fractal/node/node.h"

namespace testbed::fractal {

struct BlockPlace {
  uint64_t offset = 0;  // offset of the extent
  uint32_t bytes = 0;   // length of the extent
  uint32_t header_bytes = 0;
  uint64_t header_checksum = 0;
  friend bool operator==(const BlockPlace&, const BlockPlace&) = default;
};

// FreeSpace holds the free ranges of the data file. It allocates by best fit, the lowest range
// among equal ones, and joins neighbours when a range is freed. Not thread-safe: its BlockTable
// locks it.
class FreeSpace {
 public:
  // The first `end` bytes of the file are never given out.
  explicit FreeSpace(uint64_t end) : end_(end) {}
  // Returns the offset of a range that is in use from now on, at the end of the file when no free
  // range is long enough.
  uint64_t Allocate(uint64_t bytes);
  // Takes back a range in use. At the end of the file it lowers end().
  void Free(uint64_t offset, uint64_t bytes);
  // Takes a range out of the free space because a table that is being loaded uses it. Returns false
  // when the range is not free.
  bool Reserve(uint64_t offset, uint64_t bytes);
  uint64_t end() const { return end_; }                // end of the last range in use
  uint64_t free_bytes() const { return free_bytes_; }  // bytes of the free ranges below end()

 private:
  void Insert(uint64_t offset, uint64_t bytes);
  void Erase(std::map<uint64_t, uint64_t>::iterator at);
  uint64_t end_;
  uint64_t free_bytes_ = 0;
  std::map<uint64_t, uint64_t> by_offset_;
  std::set<std::pair<uint64_t, uint64_t>> by_size_;  // pairs of length and offset
};

class BlockTable {
 public:
  using Blocks = std::unordered_map<BlockId, BlockPlace>;

  // Makes an empty table. The file's first `begin` bytes are not for extents.
  explicit BlockTable(uint64_t begin) : space_(begin) {}

  // Loads the checkpointed table, and reserves the extent in which it is stored. Returns false, and
  // sets *why, when two extents overlap.
  bool Restore(Blocks blocks, uint64_t table_offset, uint64_t table_bytes, std::string* why);

  // Returns the block's place in the current table; nothing when the table lacks the block.
  std::optional<BlockPlace> Find(BlockId block) const;
  // Returns the offset of a new extent. No table has the extent until Set is called for it; Discard
  // frees an extent that no table gets.
  uint64_t Allocate(uint64_t bytes);
  void Discard(uint64_t offset, uint64_t bytes);
  // Makes `place` the place of the block in the current table, in the table in progress, or in
  // both.
  void Set(BlockId block, const BlockPlace& place, bool current, bool in_progress);
  void Remove(BlockId block);  // removes the block from the current table

  // Makes the table in progress a copy of the current one. EndCheckpoint or AbortCheckpoint must
  // come before the next call.
  void BeginCheckpoint();
  // Returns the table in progress as bytes, from which ParseTable makes the argument of Restore.
  std::string SerializeInProgress() const;
  // Ends the checkpoint, after the header that names the table in progress has become durable.
  // `table_offset` and `table_bytes` are the extent in which this table is stored. Frees what only
  // the former checkpointed table had, and the extent in which that was stored.
  void EndCheckpoint(uint64_t table_offset, uint64_t table_bytes);
  // Gives the checkpoint up. The checkpointed table stays, and what only the table in progress had
  // is freed.
  void AbortCheckpoint();
  // Returns whether the current table differs from the checkpointed one.
  bool HasChanges() const;

  struct Sizes {
    uint64_t file_bytes = 0;  // end of the last extent in use
    uint64_t free_bytes = 0;
    uint64_t live_bytes = 0;  // bytes of the extents in the current table
    uint64_t blocks = 0;
  };
  Sizes sizes() const;

 private:
  void Use(const BlockPlace& place) REQUIRES(mutex_);
  void Drop(const BlockPlace& place) REQUIRES(mutex_);
  void Replace(Blocks* blocks, BlockId block, const BlockPlace& place) REQUIRES(mutex_);

  mutable Mutex mutex_;
  FreeSpace space_ GUARDED_BY(mutex_);
  Blocks current_ GUARDED_BY(mutex_), checkpointed_ GUARDED_BY(mutex_),
      in_progress_ GUARDED_BY(mutex_);
  std::unordered_map<uint64_t, uint32_t> users_
      GUARDED_BY(mutex_);  // number of tables that have the extent at an offset
  // These are the extent in which the checkpointed table is stored.
  uint64_t table_offset_ GUARDED_BY(mutex_) = 0, table_bytes_ GUARDED_BY(mutex_) = 0;
  uint64_t live_bytes_ GUARDED_BY(mutex_) = 0;
};

}  // namespace testbed::fractal

#endif  // TESTBED_ENGINES_FRACTAL_CACHE_BLOCK_TABLE_H_
