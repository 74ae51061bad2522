#include "engines/btree/meta.h"

#include <xxhash.h>

#include <cstring>
#include <filesystem>

#include "device/error.h"
#include "device/file.h"

namespace testbed::btree {
namespace {

constexpr uint64_t kSuperMagic = 0x7265707573727462;       // "btrsuper"
constexpr uint64_t kCheckpointMagic = 0x746e706b63727462;  // "btrckpnt"

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
};
static_assert(sizeof(Superblock) == 56);

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
  uint32_t unused;
};
static_assert(sizeof(CheckpointHeader) == 64);

[[noreturn]] void NewerFormat(const std::string& dir, uint32_t version) {
  throw Error(Error::kUsage, "the btree database in " + dir + " has format version " +
                                 std::to_string(version) + ", this testbed knows " +
                                 std::to_string(kFormatVersion) +
                                 ": use the testbed that made it, or --fresh");
}

std::string SizeName(uint32_t bytes) { return std::to_string(bytes / 1024) + "k"; }

std::optional<CheckpointState> ReadOne(const std::string& dir, int which, uint64_t database) {
  const std::string path = CheckpointPath(dir, which);
  if (!std::filesystem::exists(path)) return std::nullopt;
  FileOptions options;
  options.kind = FileKind::kMeta;
  auto file = File::Open(path, options);
  const uint64_t size = file->Size();
  if (size < sizeof(CheckpointHeader)) return std::nullopt;
  std::string bytes(size, '\0');
  file->Read(0, bytes.data(), size);
  CheckpointHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  const uint64_t words = (static_cast<uint64_t>(header.pages) + 63) / 64;
  const uint64_t length = sizeof header + 8 * words;
  if (header.magic != kCheckpointMagic || length > size) return std::nullopt;
  if (header.checksum != XXH3_64bits(bytes.data() + 8, length - 8)) return std::nullopt;
  if (header.version > kFormatVersion) NewerFormat(dir, header.version);
  if (header.database != database) return std::nullopt;
  CheckpointState state;
  state.database = header.database;
  state.sequence = header.sequence;
  state.redo = header.redo;
  state.log_id = header.log_id;
  state.space.pages = header.pages;
  state.space.words.resize(words);
  std::memcpy(state.space.words.data(), bytes.data() + sizeof header, 8 * words);
  return state;
}

}  // namespace

void FormatSuperblock(char* page, uint32_t page_size, uint64_t database) {
  std::memset(page, 0, page_size);
  auto* super = reinterpret_cast<Superblock*>(page);
  super->type = PageType::kSuper;
  super->magic = kSuperMagic;
  super->version = kFormatVersion;
  super->page_size = page_size;
  super->database = database;
  StampPage(page, page_size);
}

uint64_t CheckSuperblock(const std::string& path, const std::string& dir, uint32_t page_size) {
  FileOptions options;
  options.read_only = true;
  auto file = File::Open(path, options);
  Superblock super;
  const std::string not_one = "the file " + path +
                              " is not a btree data file, or its first page "
                              "is damaged: restore the database from a copy, or load it again";
  if (file->ReadSome(0, &super, sizeof super) < sizeof super || super.magic != kSuperMagic) {
    throw Error(Error::kCorruption, not_one);
  }
  if (super.version > kFormatVersion) NewerFormat(dir, super.version);
  if (super.page_size < kMinPageSize || super.page_size > kMaxPageSize ||
      (super.page_size & (super.page_size - 1)) != 0) {
    throw Error(Error::kCorruption, not_one);
  }
  std::string page(super.page_size, '\0');
  if (file->ReadSome(0, page.data(), page.size()) < page.size() ||
      InspectPage(page.data(), super.page_size, 0) != PageState::kValid) {
    throw Error(Error::kCorruption, "page 0 of file " + path +
                                        ": its checksum does not match; restore the database from "
                                        "a copy, or load it again");
  }
  if (super.page_size != page_size) {
    throw Error(Error::kUsage, "the database in " + dir + " has " +
                                   std::to_string(super.page_size) + "-byte pages, not " +
                                   std::to_string(page_size) + ": give --page-size " +
                                   SizeName(super.page_size) + ", or --fresh");
  }
  return super.database;
}

std::string CheckpointPath(const std::string& dir, int which) {
  return dir + "/btree.checkpoint." + std::to_string(which);
}

uint64_t WriteCheckpoint(const std::string& dir, uint32_t page_size, const CheckpointState& state) {
  CheckpointHeader header = {};
  header.magic = kCheckpointMagic;
  header.version = kFormatVersion;
  header.page_size = page_size;
  header.database = state.database;
  header.sequence = state.sequence;
  header.redo = state.redo;
  header.log_id = state.log_id;
  header.pages = state.space.pages;
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes.append(reinterpret_cast<const char*>(state.space.words.data()),
               8 * state.space.words.size());
  const uint64_t checksum = XXH3_64bits(bytes.data() + 8, bytes.size() - 8);
  std::memcpy(bytes.data(), &checksum, 8);
  const std::string path = CheckpointPath(dir, static_cast<int>(state.sequence % 2));
  const bool is_new = !std::filesystem::exists(path);
  FileOptions options;
  options.kind = FileKind::kMeta;
  options.create = FileOptions::kMayExist;
  auto file = File::Open(path, options);
  file->Write(0, bytes.data(), bytes.size());
  file->Sync(is_new);
  if (is_new) SyncDirectory(dir);
  return bytes.size();
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
