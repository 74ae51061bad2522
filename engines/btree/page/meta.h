// This header has the metadata of a database: the superblock (page 0 of the data file, written
// once) and the state that each checkpoint records, in two small files that are written in turn.
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
// the redo point. When the checkpoint became durable, the data file had the page with that LSN.
// From then on the page's LSN in the file is never lower. This holds also where recovery makes the
// page anew from an image in the log: such an image lies behind the redo point and has all changes
// before that point. The file is never cut off before a page that the last checkpoint calls used.
// So a data file in which the witness pages are older is an old copy that somebody put back.
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
inline constexpr uint32_t kCheckpointVersion = 2;  // version 1 has no witness pages

// These functions return the paths of the files of the database in `dir`.
std::string DataPath(const std::string& dir);
std::string UnfinishedDataPath(const std::string& dir);    // the data file while Create runs
std::string UnfinishedBackupPath(const std::string& dir);  // the data file while BackUp runs
// CompactingPath is the directory in which Compact makes a database, and CompactedPath the
// directory of a database that Compact has finished.
std::string CompactingPath(const std::string& dir);
std::string CompactedPath(const std::string& dir);
std::string DoublewritePath(const std::string& dir);
std::string LogPath(const std::string& dir);  // path of a directory

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
// SuperblockFields are the fields of a superblock as they were found, damaged or not.
struct SuperblockFields {
  bool magic = false;  // whether the magic number is right
  bool whole = false;  // whether the checksum is right, and so the other fields
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
// Throws Error (kUsage), which says that the database has the format `version`, above `known`, the
// newest that this program knows.
[[noreturn]] void NewerFormat(const std::string& dir, uint32_t version, uint32_t known);

std::string CheckpointPath(const std::string& dir, int which);  // `which` is 0 or 1
// Writes the state to the file that the parity of state.sequence selects, and makes it durable.
// Returns the number of bytes written.
uint64_t WriteCheckpoint(const std::string& dir, uint32_t page_size, const CheckpointState& state);
// A CheckpointFile is a checkpoint file as it was found.
struct CheckpointFile {
  std::string path;
  bool exists = false;
  uint64_t size = 0;
  std::string fault;            // why the file is not valid; empty: it is valid
  uint64_t fault_at = 0;        // offset of the fault in the file
  std::string expected, found;  // the two values that differ; may be empty
  // If true, a crash during the write of the file may have left the fault. False for content of one
  // sector, which a device writes atomically.
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
