#include "engines/btree/page/meta.h"

#include <xxhash.h>

#include <cinttypes>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "device/error.h"
#include "device/file/directory.h"
#include "device/file/file.h"

namespace testbed::btree {
namespace {

constexpr uint64_t kSuperMagic = 0x7265707573727462;       // "btrsuper"
constexpr uint64_t kCheckpointMagic = 0x746e706b63727462;  // "btrckpnt"

constexpr uint64_t kSector = 512;  // bytes that a device writes atomically

struct Superblock {
  uint64_t checksum;
  Lsn lsn;
  PageId id;
  uint32_t table;
  PageType type;
  uint8_t unused[7];
  uint64_t magic;
  uint32_t version;
  uint32_t page_size;
  uint64_t database;
  uint32_t compressed;
  uint32_t unused_end;
};
static_assert(sizeof(Superblock) == 64);

struct CheckpointHeader {
  uint64_t checksum;
  uint64_t magic;
  uint32_t version;
  uint32_t page_size;
  uint64_t database;
  uint64_t sequence;
  uint64_t redo;
  uint64_t log_id;
  uint32_t pages;
  uint32_t witnesses;  // 0 in version 1
};
static_assert(sizeof(CheckpointHeader) == 64);

struct StoredWitness {
  uint64_t lsn;
  uint64_t page;
};

std::string SizeName(uint32_t bytes) { return std::to_string(bytes / 1024) + "k"; }

std::string Hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%016" PRIx64, value);
  return text;
}

// Sets the file's state, or its fault when the bytes are not a valid checkpoint.
void DecodeCheckpoint(const std::string& bytes, CheckpointFile* file) {
  CheckpointHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  const uint64_t words = (static_cast<uint64_t>(header.pages) + 63) / 64;
  const uint64_t map_end = sizeof header + 8 * words;
  const uint64_t length = map_end + sizeof(StoredWitness) * header.witnesses;
  const auto fault = [&](const char* what, size_t at, std::string expected, std::string found) {
    file->fault = what;
    file->fault_at = at;
    file->expected = std::move(expected);
    file->found = std::move(found);
  };
  if (header.magic != kCheckpointMagic) {
    file->may_be_torn = header.magic == 0;  // a new file may be unwritten yet
    return fault("it does not begin as a checkpoint file does", offsetof(CheckpointHeader, magic),
                 Hex(kCheckpointMagic), Hex(header.magic));
  }
  if (length > bytes.size()) {
    return fault("it is too short for its number of pages and witness pages",
                 offsetof(CheckpointHeader, pages), std::to_string(length) + " bytes",
                 std::to_string(bytes.size()));
  }
  file->may_be_torn = length > kSector;
  const uint64_t checksum = XXH3_64bits(bytes.data() + 8, length - 8);
  if (header.checksum != checksum) {
    return fault("its checksum does not match", 0, Hex(checksum), Hex(header.checksum));
  }
  if (header.pages > kMaxPages) {
    return fault("it has more pages than a database can", offsetof(CheckpointHeader, pages),
                 std::to_string(kMaxPages), std::to_string(header.pages));
  }
  if (header.witnesses > kMaxWitnesses) {
    return fault("it has more witness pages than a checkpoint can",
                 offsetof(CheckpointHeader, witnesses), std::to_string(kMaxWitnesses),
                 std::to_string(header.witnesses));
  }
  file->version = header.version;
  file->page_size = header.page_size;
  CheckpointState& state = file->state;
  state.database = header.database;
  state.sequence = header.sequence;
  state.redo = header.redo;
  state.log_id = header.log_id;
  state.space.pages = header.pages;
  state.space.words.resize(words);
  if (words > 0) std::memcpy(state.space.words.data(), bytes.data() + sizeof header, 8 * words);
  for (uint32_t i = 0; i < header.witnesses; ++i) {
    StoredWitness stored;
    std::memcpy(&stored, bytes.data() + map_end + i * sizeof stored, sizeof stored);
    state.witnesses.push_back({static_cast<PageId>(stored.page), stored.lsn});
  }
}

std::optional<CheckpointState> ReadOne(const std::string& dir, int which, uint64_t database) {
  CheckpointFile file = InspectCheckpoint(dir, which);
  if (!file.exists || !file.fault.empty()) return std::nullopt;
  if (file.version > kCheckpointVersion) NewerFormat(dir, file.version, kCheckpointVersion);
  if (file.state.database != database) return std::nullopt;
  return std::move(file.state);
}

}  // namespace

std::string DataPath(const std::string& dir) { return dir + "/btree.data"; }
std::string UnfinishedDataPath(const std::string& dir) { return DataPath(dir) + ".new"; }
std::string UnfinishedBackupPath(const std::string& dir) { return dir + "/btree.backup"; }
std::string CompactingPath(const std::string& dir) { return dir + "/btree.compact"; }
std::string CompactedPath(const std::string& dir) { return dir + "/btree.compacted"; }
std::string DoublewritePath(const std::string& dir) { return dir + "/btree.doublewrite"; }
std::string LogPath(const std::string& dir) { return dir + "/btree.log"; }

void NewerFormat(const std::string& dir, uint32_t version, uint32_t known) {
  throw Error(Error::kUsage, "the btree database in " + dir + " has format version " +
                                 std::to_string(version) + ", this testbed knows " +
                                 std::to_string(known) +
                                 ": use the testbed that made it, or --fresh");
}

void SetWitnesses(std::vector<WitnessPage> written, const CheckpointState& before,
                  CheckpointState* state) {
  const auto is_none = [state](const WitnessPage& page) {
    const SpaceSnapshot& map = state->space;
    return page.lsn > state->redo || page.id >= map.pages ||
           (map.words[page.id / 64] >> (page.id % 64) & 1) == 0;
  };
  std::erase_if(written, is_none);
  if (written.empty()) {
    written = before.witnesses;
    std::erase_if(written, is_none);
  }
  if (written.size() > kMaxWitnesses) {
    written.erase(written.begin(), written.end() - static_cast<ptrdiff_t>(kMaxWitnesses));
  }
  state->witnesses = std::move(written);
}

void FormatSuperblock(char* page, uint32_t page_size, uint64_t database, bool compressed) {
  std::memset(page, 0, page_size);
  auto* super = reinterpret_cast<Superblock*>(page);
  super->type = PageType::kSuper;
  super->magic = kSuperMagic;
  super->version = kFormatVersion;
  super->page_size = page_size;
  super->database = database;
  super->compressed = compressed ? 1 : 0;
  StampPage(page, page_size);
}

std::optional<SuperblockFields> ReadSuperblock(File* file) {
  Superblock super;
  if (file->ReadSome(0, &super, sizeof super) < sizeof super) return std::nullopt;
  SuperblockFields fields;
  fields.magic = super.magic == kSuperMagic;
  fields.version = super.version;
  fields.page_size = super.page_size;
  fields.database = super.database;
  fields.compressed = super.compressed != 0;
  if (!fields.magic || !IsPageSize(super.page_size)) return fields;
  std::string page(super.page_size, '\0');
  fields.whole = file->ReadSome(0, page.data(), page.size()) == page.size() &&
                 InspectPage(page.data(), super.page_size, 0) == PageState::kValid;
  return fields;
}

SuperblockFields CheckSuperblock(const std::string& path, const std::string& dir,
                                 uint32_t page_size) {
  FileOptions options;
  options.read_only = true;
  auto file = File::Open(path, options);
  const std::optional<SuperblockFields> super = ReadSuperblock(file.get());
  if (!super || !super->magic ||
      (!super->whole && super->version <= kFormatVersion && !IsPageSize(super->page_size))) {
    throw Error(Error::kCorruption, "the file " + path +
                                        " is not a btree data file, or its first page is damaged: "
                                        "restore the database from a copy, or load it again");
  }
  if (super->version > kFormatVersion) NewerFormat(dir, super->version, kFormatVersion);
  if (!super->whole) {
    throw Error(Error::kCorruption, "page 0 of file " + path +
                                        ": its checksum does not match; restore the database from "
                                        "a copy, or load it again");
  }
  if (page_size != 0 && super->page_size != page_size) {
    throw Error(Error::kUsage, "the database in " + dir + " has " +
                                   std::to_string(super->page_size) + "-byte pages, not " +
                                   std::to_string(page_size) + ": give --page-size " +
                                   SizeName(super->page_size) + ", or --fresh");
  }
  return *super;
}

std::string CheckpointPath(const std::string& dir, int which) {
  return dir + "/btree.checkpoint." + std::to_string(which);
}

uint64_t WriteCheckpoint(const std::string& dir, uint32_t page_size, const CheckpointState& state) {
  CheckpointHeader header = {};
  header.magic = kCheckpointMagic;
  // Without witness pages, the file is written in the format that earlier programs read. So an
  // opening that is refused changes nothing for them.
  header.version = state.witnesses.empty() ? kFormatVersion : kCheckpointVersion;
  header.page_size = page_size;
  header.database = state.database;
  header.sequence = state.sequence;
  header.redo = state.redo;
  header.log_id = state.log_id;
  header.pages = state.space.pages;
  header.witnesses = static_cast<uint32_t>(state.witnesses.size());
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes.append(reinterpret_cast<const char*>(state.space.words.data()),
               8 * state.space.words.size());
  for (const WitnessPage& witness : state.witnesses) {
    const StoredWitness stored{witness.lsn, witness.id};
    bytes.append(reinterpret_cast<const char*>(&stored), sizeof stored);
  }
  const uint64_t checksum = XXH3_64bits(bytes.data() + 8, bytes.size() - 8);
  std::memcpy(bytes.data(), &checksum, 8);
  const std::string path = CheckpointPath(dir, static_cast<int>(state.sequence % 2));
  const bool is_new = !IsThere(path);
  FileOptions options;
  options.kind = FileKind::kMeta;
  options.create = FileOptions::kMayExist;
  auto file = File::Open(path, options);
  try {
    file->Write(0, bytes.data(), bytes.size());
    file->Sync(is_new);
    if (is_new) SyncDirectory(dir);
  } catch (...) {
    // Removes the file, so that the next checkpoint takes it for a new file and syncs the
    // directory.
    std::error_code ignored;
    if (is_new) std::filesystem::remove(path, ignored);
    throw;
  }
  return bytes.size();
}

CheckpointFile InspectCheckpoint(const std::string& dir, int which) {
  CheckpointFile result;
  result.path = CheckpointPath(dir, which);
  result.exists = IsThere(result.path);
  if (!result.exists) return result;
  FileOptions options;
  options.kind = FileKind::kMeta;
  options.read_only = true;
  auto file = File::Open(result.path, options);
  result.size = file->Size();
  result.may_be_torn = true;
  const uint64_t longest =
      sizeof(CheckpointHeader) + kMaxPages / 8 + kMaxWitnesses * sizeof(StoredWitness);
  if (result.size < sizeof(CheckpointHeader) || result.size > longest) {
    const bool is_short = result.size < sizeof(CheckpointHeader);
    result.fault = is_short ? "it is too short" : "it is too long";
    result.expected = is_short ? "at least " + std::to_string(sizeof(CheckpointHeader)) + " bytes"
                               : "at most " + std::to_string(longest) + " bytes";
    result.found = std::to_string(result.size);
    return result;
  }
  std::string bytes(result.size, '\0');
  file->Read(0, bytes.data(), bytes.size());
  DecodeCheckpoint(bytes, &result);
  return result;
}

CheckpointState ReadCheckpoint(const std::string& dir, uint64_t database) {
  std::optional<CheckpointState> best;
  for (int which : {0, 1}) {
    std::optional<CheckpointState> state = ReadOne(dir, which, database);
    if (state && (!best || state->sequence > best->sequence)) best = std::move(state);
  }
  if (!best) {
    throw Error(Error::kCorruption, "the btree database in " + dir +
                                        " has no whole checkpoint file: restore it from a copy, "
                                        "or load it again");
  }
  return *best;
}

}  // namespace testbed::btree
