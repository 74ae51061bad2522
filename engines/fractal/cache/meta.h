// This header has the headers of the data file, and the table that a header names.
//
// Two slots of 4096 bytes begin the file; checkpoint n writes slot n mod 2, so a write that a power
// cut tears leaves the other. A header names the extent with the catalogue and the translation
// table, and each entry of that names the checksum of its node's header, which has those of the
// node's parts: a header vouches for every byte of its version of the database.
//
//   header   u64 checksum of the rest of the 512 bytes; u64 magic "fractal1"; u32 version;
//            u32 page size; u64 node size; u32 fanout; u32 0; u64 database; u64 log id;
//            u64 checkpoint number; u64 log sequence number to replay from; u64 next block;
//            u64 offset, u64 bytes, u64 checksum of the table; zeros
//   table    u64 n, n x {u32 table, u64 root, u16 size, name};
//            u64 n, n x {u64 block, u64 offset, u32 bytes, u32 header bytes, u64 checksum}; zeros
#ifndef TESTBED_ENGINES_FRACTAL_CACHE_META_H_
#define TESTBED_ENGINES_FRACTAL_CACHE_META_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/file/file.h"
#include "device/log/log.h"
#include "engines/fractal/cache/block_table.h"

namespace testbed::fractal {

inline constexpr uint64_t kHeaderSlot = 4096;
inline constexpr uint64_t kFileBegin = 2 * kHeaderSlot;  // where the extents begin
inline constexpr uint32_t kFormatVersion = 1;

struct Header {
  uint32_t version = kFormatVersion;
  uint32_t page_size = 0;
  uint64_t node_size = 0;
  uint32_t fanout = 0;
  uint64_t database = 0;
  uint64_t log_id = 0;
  uint64_t number = 0;  // number of the checkpoint
  Lsn replay_from = 0;
  BlockId next_block = 1;
  uint64_t table_offset = 0, table_bytes = 0, table_checksum = 0;
};

struct TableEntry {
  uint32_t id = 0;
  BlockId root = kNoBlock;
  std::string name;
};

std::string DataPath(const std::string& dir);
std::string LogPath(const std::string& dir);

// A HeaderSlot is what one of the two slots of the file holds.
struct HeaderSlot {
  Header header;
  std::string fault;  // why the slot holds no header; empty when it holds one
  bool empty = true;  // the slot holds zeros or lies behind the file's end: it was never written
};
HeaderSlot ReadHeaderSlot(File* file, int slot);
// Returns the newest sound header. Throws Error: kCorruption when there is none, kUsage when its
// format is newer.
Header ReadHeader(File* file);
void WriteHeader(File* file, const Header& header);  // does not sync the file

std::string SerializeTables(const std::vector<TableEntry>& tables);
// Parses the bytes of SerializeTables followed by those of BlockTable::SerializeInProgress.
bool ParseTable(std::string_view bytes, std::vector<TableEntry>* tables, BlockTable::Blocks* blocks,
                std::string* why);
// Reads and parses the table that the header names. Returns false when the table is damaged.
bool ReadTable(File* file, const Header& header, std::vector<TableEntry>* tables,
               BlockTable::Blocks* blocks, std::string* why);

}  // namespace testbed::fractal

#endif  // TESTBED_ENGINES_FRACTAL_CACHE_META_H_
