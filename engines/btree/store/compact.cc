#include "engines/btree/store/compact.h"

#include <stdio.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "device/error.h"
#include "device/file/directory.h"
#include "device/file/file.h"
#include "device/log/log_format.h"
#include "device/os/dir_lock.h"
#include "device/os/signal_guard.h"
#include "engines/btree/page/meta.h"
#include "engines/btree/tree/cursor.h"

namespace testbed::btree {
namespace {

constexpr size_t kRowBytesTogether = 256 << 10;  // bytes of rows that are copied by one commit

void Move(const std::string& from, const std::string& to) {
  CheckLockedDirectory(to);
  if (::rename(from.c_str(), to.c_str()) != 0) throw Error::Io("rename", from, errno);
}

void MoveIfThere(const std::string& from, const std::string& to) {
  if (IsThere(from)) RenameFile(from, to);
}

void RemoveDirectory(const std::string& dir) {
  CheckLockedDirectory(dir);
  std::error_code code;
  std::filesystem::remove(dir, code);
  if (code) throw Error::Io("rmdir", dir, code.value());
}

// Removes the files of a database, and its directory.
void RemoveDatabase(const std::string& dir) {
  for (const std::string& path : LogSegmentPaths(LogPath(dir))) RemoveFile(path);
  for (const std::string& path :
       {DataPath(dir), UnfinishedDataPath(dir), DoublewritePath(dir), CheckpointPath(dir, 0),
        CheckpointPath(dir, 1), dir + "/btree.replay"}) {
    RemoveFile(path);
  }
  RemoveDirectory(LogPath(dir));
  RemoveDirectory(dir);
}

void CopyTable(Store* from, Store* to, const std::string& name) {
  const uint32_t table = to->OpenTable(name)->table();
  if (name == kChangeBufferTable) return;  // the rows of the buffer are copied with their tables
  StoreClient reader(from), writer(to);
  TreeCursor cursor(from->OpenTable(name), reader.context(), from->options().page_size);
  std::vector<std::pair<std::string, std::string>> rows;
  size_t bytes = 0;
  const auto commit = [&] {
    std::vector<RowWrite> operations;
    for (const auto& [key, value] : rows) operations.push_back({false, table, key, value});
    writer.Commit(operations);
    rows.clear();
    bytes = 0;
  };
  for (bool on = cursor.SeekForward({}, false); on; on = cursor.Next()) {
    if (StopRequested()) throw Stopped("while it copied rows", "the compaction");
    rows.emplace_back(std::string(cursor.key()), std::string(cursor.value()));
    bytes += rows.back().first.size() + rows.back().second.size();
    if (bytes >= kRowBytesTogether) commit();
  }
  commit();
}

// Makes a database in `dir` with all tables of `source`. Each table keeps its number.
void CopyRows(Store* source, const std::string& dir, const StoreOptions& options) {
  const std::unique_ptr<Store> copy = Store::Open(dir, options);
  std::map<uint32_t, std::string> names;
  for (const auto& [name, number] : source->TableNames()) names[number] = name;
  for (const auto& [number, name] : names) CopyTable(source, copy.get(), name);
  copy->Checkpoint();  // reports errors, which the destructor could not
}

// Truncates the data file of a closed database behind its last page in use. Commits had allocated
// the space there.
void CutFile(const std::string& dir, uint32_t page_size) {
  const SuperblockFields super = CheckSuperblock(DataPath(dir), dir, page_size);
  const CheckpointState state = ReadCheckpoint(dir, super.database);
  const uint64_t bytes = uint64_t{LengthInUse(state.space)} * page_size;
  FileOptions options;
  options.kind = FileKind::kData;
  const std::unique_ptr<File> file = File::Open(DataPath(dir), options);
  if (file->Size() > bytes) file->Truncate(bytes);
  file->Sync(true);
}

// Removes the segments of the old log. Moves the other files of its directory to the new log's.
void RemoveOldLog(const std::string& old, const std::string& dir) {
  for (const std::string& path : LogSegmentPaths(old)) RemoveFile(path);
  for (const std::string& name : NamesIn(old)) {
    Move(old + "/" + name, LogPath(dir) + "/" + name);
  }
  RemoveDirectory(old);
}

}  // namespace

void FinishCompaction(const std::string& dir) {
  if (IsThere(CompactingPath(dir))) RemoveDatabase(CompactingPath(dir));
  const std::string from = CompactedPath(dir), old_log = from + "/btree.old";
  if (!IsThere(from)) return;
  for (int which : {0, 1}) MoveIfThere(CheckpointPath(from, which), CheckpointPath(dir, which));
  MoveIfThere(DoublewritePath(from), DoublewritePath(dir));
  if (IsThere(LogPath(from))) {
    if (IsThere(LogPath(dir))) Move(LogPath(dir), old_log);
    SyncDirectory(from);
    SyncDirectory(dir);
    Move(LogPath(from), LogPath(dir));
  }
  MoveIfThere(DataPath(from), DataPath(dir));
  SyncDirectory(dir);
  SyncDirectory(from);
  if (IsThere(old_log)) RemoveOldLog(old_log, dir);
  RemoveDatabase(from);
  SyncDirectory(dir);
}

void Compact(const std::string& dir, const StoreOptions& options) {
  StoreOptions of_source = options, of_copy = options;
  of_source.create = false;
  of_source.change_buffer_bytes = of_copy.change_buffer_bytes = 0;
  of_copy.create = true;
  of_copy.durability = Durability::kNone;  // the copy counts only when all of it is durable
  // The log recycles its segments, so it would keep the greatest length that it ever has.
  of_copy.checkpoint_log_bytes =
      std::min(options.checkpoint_log_bytes, 2 * options.log.segment_bytes);
  std::unique_ptr<Store> source = Store::Open(dir, of_source);
  try {
    CopyRows(source.get(), CompactingPath(dir), of_copy);
    CutFile(CompactingPath(dir), options.page_size);
    source->Checkpoint();
  } catch (...) {
    try {
      RemoveDatabase(CompactingPath(dir));
    } catch (const std::exception&) {
      // The next opening removes the directory.
    }
    throw;
  }
  const DirLock lock = Store::Close(std::move(source));
  Move(CompactingPath(dir), CompactedPath(dir));
  SyncDirectory(dir);
  FinishCompaction(dir);
}

}  // namespace testbed::btree
