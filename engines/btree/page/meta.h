// What the database knows about itself: the superblock (page 0 of the data file, written once) and
// the state that each checkpoint leaves, in two small files that are written in turn.
//
//   superblock        page header, u64 magic, u32 format version, u32 page size, u64 database id,
//                     u32 1 when pages may be compressed, else 0
//   checkpoint file   u64 checksum of all that follows, u64 magic, u32 format version,
//                     u32 page size, u64 database id, u64 sequence, u64 redo LSN, u64 log id,
//                     u32 pages of the data file, u32 unused, then the used pages' bits, u64 words
//
// Of the two checkpoint files the valid one with the higher sequence counts, so a crash while one
// is written leaves the other. Errors: kUsage for another page size or a newer format, kCorruption.
#ifndef TESTBED_ENGINES_BTREE_PAGE_META_H_
#define TESTBED_ENGINES_BTREE_PAGE_META_H_

#include <cstdint>
#include <optional>
#include <string>

#include "device/file/file.h"
#include "engines/btree/page/page.h"
#include "engines/btree/page/space.h"

namespace testbed::btree {

inline constexpr uint32_t kFormatVersion = 1;

// Files of the database in `dir`.
std::string DataPath(const std::string& dir);
std::string UnfinishedDataPath(const std::string& dir);  // until Create is done
std::string DoublewritePath(const std::string& dir);
std::string LogPath(const std::string& dir);  // a directory
std::string LockPath(const std::string& dir);

struct CheckpointState {
  uint64_t database = 0;
  uint64_t sequence = 0;
  Lsn redo = 0;  // recovery reads the log from here
  uint64_t log_id = 0;
  SpaceSnapshot space;
};

// Fills a page with the superblock, stamped.
void FormatSuperblock(char* page, uint32_t page_size, uint64_t database, bool compressed);
// The superblock's fields as they are, whatever they are; absent when the file is too short.
struct SuperblockFields {
  bool magic = false;  // is right
  bool whole = false;  // its checksum is right, so the other fields are
  uint32_t version = 0;
  uint32_t page_size = 0;
  uint64_t database = 0;
  bool compressed = false;
};
std::optional<SuperblockFields> ReadSuperblock(File* file);
// Of the file `path`, which must be whole and of this page size. `dir` is for the messages.
SuperblockFields CheckSuperblock(const std::string& path, const std::string& dir,
                                 uint32_t page_size);
[[noreturn]] void NewerFormat(const std::string& dir, uint32_t version);

std::string CheckpointPath(const std::string& dir, int which);
// Writes the state to the file whose turn it is, and makes it durable. Returns bytes written.
uint64_t WriteCheckpoint(const std::string& dir, uint32_t page_size, const CheckpointState& state);
// A checkpoint file as it was found.
struct CheckpointFile {
  std::string path;
  bool exists = false;
  uint64_t size = 0;
  std::string fault;  // why it does not count; empty when it does
  uint64_t fault_at = 0;
  std::string expected, found;  // of the fault
  // A crash while it was written can have left it so. A part that fits one sector cannot be torn.
  bool may_be_torn = false;
  uint32_t version = 0, page_size = 0;
  CheckpointState state;  // when it counts
};
CheckpointFile InspectCheckpoint(const std::string& dir, int which);
// The newest whole state; throws when there is none.
CheckpointState ReadCheckpoint(const std::string& dir, uint64_t database);

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_PAGE_META_H_
