// The metadata of a database: the superblock (page 0 of the data file, written once) and the state
// that each checkpoint records, in two small files that are written in turn.
//
//   superblock        page header, u64 magic, u32 format version, u32 page size, u64 database id,
//                     u32 1 when pages may be compressed, else 0
//   checkpoint file   u64 checksum of all that follows, u64 magic, u32 format version,
//                     u32 page size, u64 database id, u64 sequence, u64 redo LSN, u64 log id,
//                     u32 pages up to the last used one, u32 number of witness pages, then u64
//                     words with a bit for each page, 1 if it is used, then u64 LSN and u64 page of
//                     each witness page
//
// A witness page is a page in use that was written shortly before the checkpoint, with an LSN up to
// the redo point. The data file had it with that LSN when the checkpoint became durable. From then
// on the page's LSN is never lower, also where recovery makes the page anew from an image in the
// log: such an image is behind the redo point, and has all changes before it. No page that the last
// checkpoint calls used is cut off. So a data file in which the witness pages are older is an old
// copy that somebody put back.
//
// The valid checkpoint file with the higher sequence counts, so that a crash during a write of one
// file leaves the other. The functions throw Error: kUsage for another page size or a newer format,
// kCorruption for damage, kIo.
#ifndef TESTBED_ENGINES_BTREE_PAGE_META_H_
#define TESTBED_ENGINES_BTREE_PAGE_META_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device/file/file.h"
#include "engines/btree/page/page.h"
#include "engines/btree/page/space.h"

namespace testbed::btree {

inline constexpr uint32_t kFormatVersion = 1;
inline constexpr uint32_t kCheckpointVersion = 2;  // 1 has no witness pages

// Return the paths of the files of the database in `dir`.
std::string DataPath(const std::string& dir);
std::string UnfinishedDataPath(const std::string& dir);    // the data file while Create runs
std::string UnfinishedBackupPath(const std::string& dir);  // the data file while BackUp runs
// The directories of a database that Compact makes, and of one that it has made.
std::string CompactingPath(const std::string& dir);
std::string CompactedPath(const std::string& dir);
std::string DoublewritePath(const std::string& dir);
std::string LogPath(const std::string& dir);  // a directory

struct WitnessPage {
  PageId id = 0;
  Lsn lsn = 0;
};
inline constexpr size_t kMaxWitnesses = 8;  // witness pages of a checkpoint

struct CheckpointState {
  uint64_t database = 0;  // database id
  uint64_t sequence = 0;  // number of the checkpoint
  Lsn redo = 0;           // redo point: recovery reads the log from here
  uint64_t log_id = 0;
  SpaceSnapshot space;
  std::vector<WitnessPage> witnesses;  // at most kMaxWitnesses
};

// Sets the witness pages of `state`, whose redo point and map must be set. They are the last pages
// in `written` that are in use and have an LSN up to the redo point; `written` has pages that were
// written and synced since the checkpoint `before`. When there are none, the state takes the
// witness pages of `before` that are still in use.
void SetWitnesses(std::vector<WitnessPage> written, const CheckpointState& before,
                  CheckpointState* state);

// Fills a page with the superblock and its checksum.
void FormatSuperblock(char* page, uint32_t page_size, uint64_t database, bool compressed);
// The fields of a superblock as they were found, damaged or not.
struct SuperblockFields {
  bool magic = false;  // the magic number is right
  bool whole = false;  // the checksum is right, so the other fields are
  uint32_t version = 0;
  uint32_t page_size = 0;
  uint64_t database = 0;
  bool compressed = false;
};
// Returns nullopt when the file is too short for a superblock.
std::optional<SuperblockFields> ReadSuperblock(File* file);
// Returns the superblock of the file `path`. Throws Error when it is damaged, has a newer format or
// another page size than `page_size`, where 0 stands for any. `dir` is for the messages.
SuperblockFields CheckSuperblock(const std::string& path, const std::string& dir,
                                 uint32_t page_size);
// Throws Error (kUsage): the database has a format version above `known`, the newest that this
// program knows.
[[noreturn]] void NewerFormat(const std::string& dir, uint32_t version, uint32_t known);

std::string CheckpointPath(const std::string& dir, int which);  // `which` is 0 or 1
// Writes the state to the file that the parity of state.sequence selects, and makes it durable.
// Returns the number of bytes written.
uint64_t WriteCheckpoint(const std::string& dir, uint32_t page_size, const CheckpointState& state);
// A checkpoint file as it was found.
struct CheckpointFile {
  std::string path;
  bool exists = false;
  uint64_t size = 0;
  std::string fault;            // why the file is not valid; empty: it is valid
  uint64_t fault_at = 0;        // offset of the fault in the file
  std::string expected, found;  // the two values that differ; may be empty
  // A crash during the write of the file may have left the fault. False for content of one sector,
  // which a device writes atomically.
  bool may_be_torn = false;
  uint32_t version = 0, page_size = 0;
  CheckpointState state;  // set when the file is valid
};
CheckpointFile InspectCheckpoint(const std::string& dir, int which);
// Returns the state of the newest valid checkpoint file of that database. Throws Error
// (kCorruption) when there is none.
CheckpointState ReadCheckpoint(const std::string& dir, uint64_t database);

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_PAGE_META_H_
