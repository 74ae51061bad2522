// This file creates, opens and recovers databases.
#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <map>

#include "device/file/directory.h"
#include "device/file/durable.h"
#include "device/log/log_format.h"
#include "device/log/log_use.h"
#include "device/os/random_id.h"
#include "device/os/thread.h"
#include "engines/fractal/store.h"

namespace testbed::fractal {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<File> OpenData(const std::string& path, IoMode mode, Advice advice,
                               FileOptions::Create create) {
  FileOptions options;
  options.kind = FileKind::kData;
  options.mode = mode;
  options.advice = advice;
  options.create = create;
  return File::Open(path, options);
}

// Returns the size of nodes for a new database. It has the same ratio to the cache as in the
// original, TokuDB, which has nodes of 4 MB for 256 MB. A flush or an eviction of a whole node then
// leaves most of the cache alone, and takes little memory.
uint64_t NodeSizeFor(const StoreOptions& options) {
  constexpr uint64_t kMost = 4 << 20, kLeast = 64 << 10;
  const uint64_t by_cache = std::bit_floor(std::max<uint64_t>(options.cache_bytes / 64, 1));
  return std::max({std::min(kMost, by_cache), kLeast, 2 * uint64_t{options.page_size}});
}

[[noreturn]] void Damaged(const std::string& dir, const std::string& why) {
  throw Error(Error::kCorruption, "the fractal database in " + dir + " is damaged: " + why +
                                      "; restore it from a copy, or load it again");
}

std::string UnfinishedDataPath(const std::string& dir) { return DataPath(dir) + ".new"; }

// Throws Error unless a database may be made in `dir`. A database whose data file is missing is not
// a new one. Only files that an unfinished Create has left, which its unfinished data file tells,
// may be made anew.
void RefuseUnlessNew(const std::string& dir, bool create) {
  if (!IsThere(UnfinishedDataPath(dir)) && !LogSegmentPaths(LogPath(dir)).empty()) {
    throw Error(Error::kCorruption,
                "the fractal database in " + dir + " has no data file " + DataPath(dir) + ", but " +
                    LogPath(dir) +
                    ": put the file back, restore the database from a copy, or load it again with "
                    "--fresh");
  }
  if (!create) throw Error(Error::kUsage, "the directory " + dir + " holds no fractal database");
}

// Drops the pages of the data file that lie in no extent from the page cache. The device may have
// refused to write some of them, and a new write to such a page need not reach the device
// (MakeDurable).
void ForgetFreeExtents(File* file, const Header& header, const BlockTable::Blocks& blocks) {
  std::map<uint64_t, uint64_t> used{{header.table_offset, header.table_bytes}};
  for (const auto& [block, place] : blocks) used.emplace(place.offset, place.bytes);
  uint64_t end = kFileBegin;
  for (const auto& [offset, bytes] : used) {
    if (offset > end) file->Forget(end, offset - end);
    end = std::max(end, offset + bytes);
  }
  file->Forget(end, 0);
}

}  // namespace

bool Store::Exists(const std::string& dir) { return IsThere(DataPath(dir)); }

Store::Store(const std::string& dir, const StoreOptions& options) : dir_(dir), options_(options) {}

std::unique_ptr<Store> Store::Open(const std::string& dir, const StoreOptions& options) {
  IoScope scope(kOpen);
  RequireDirectory(dir, options.create);
  auto store = std::unique_ptr<Store>(new Store(dir, options));
  const bool is_new = !Exists(dir);
  if (is_new) RefuseUnlessNew(dir, options.create);
  store->lock_ = DirLock(dir, "the database in");
  if (is_new && !Exists(dir)) store->Create();
  store->OpenFiles();
  store->Recover();
  store->StartThreads();
  return store;
}

// Gives the data file its name last. So what a crash leaves before that is no database, and the
// next Create makes it anew.
void Store::Create() {
  const std::string data = UnfinishedDataPath(dir_);
  Log::RemoveUnused(LogPath(dir_));
  MakeNameDurable(dir_);
  // The unfinished data file is made before all other files, and is renamed after them.
  OpenData(data, IoMode::kBuffered, Advice::kNormal, FileOptions::kTruncate);
  SyncDirectory(dir_);
  std::error_code code;
  fs::create_directory(LogPath(dir_), code);
  if (code) throw Error::Io("mkdir", LogPath(dir_), code.value());
  Header header;
  header.page_size = options_.page_size;
  header.node_size = options_.node_size != 0 ? options_.node_size : NodeSizeFor(options_);
  header.fanout = options_.fanout != 0 ? options_.fanout : 16;
  header.database = RandomId();
  {
    const auto log = Log::Open(LogPath(dir_), options_.log);
    log->Sync();
    header.log_id = log->id();
    header.replay_from = log->EndLsn();
  }
  {
    file_ = OpenData(data, IoMode::kBuffered, Advice::kNormal, FileOptions::kTruncate);
    table_ = std::make_unique<BlockTable>(kFileBegin);
    // Both slots get their space now, so that no checkpoint finds the disk full at its last step.
    AlignedBuffer slots(kFileBegin);
    std::memset(slots.data(), 0, slots.size());
    file_->Write(0, slots.data(), slots.size());
    header.number = 1;
    WriteTable(&header, SerializeTables({}));
    WriteHeader(file_.get(), header);
    file_->Sync(true);
    file_.reset();
  }
  SyncDirectory(LogPath(dir_));
  RenameFile(data, DataPath(dir_));
  SyncDirectory(dir_);
}

void Store::OpenFiles() {
  file_ = OpenData(DataPath(dir_), options_.io, options_.advice, FileOptions::kMustExist);
  // When the sync of a header has failed, the page cache alone may have that header. The device
  // then has an older header, whose extents the newer one calls free.
  file_->Sync();
  header_ = ReadHeader(OpenPastPageCache(DataPath(dir_), FileKind::kData).get());
  // The data file is durable after an orderly close, and its pages then stay in the page cache.
  if (LogWasUsedAfter(LogPath(dir_), options_.log.mode, header_.replay_from)) {
    MakeDurable(DataPath(dir_), FileKind::kData);
  }
  if (header_.page_size != options_.page_size) {
    throw Error(Error::kUsage, "the fractal database in " + dir_ + " has read pages of " +
                                   std::to_string(header_.page_size) + " bytes: give --page-size " +
                                   std::to_string(header_.page_size) + ", or --fresh");
  }
  if (options_.node_size == 0) options_.node_size = header_.node_size;
  if (options_.fanout == 0) options_.fanout = header_.fanout;
  std::vector<TableEntry> tables;
  BlockTable::Blocks blocks;
  std::string why;
  if (!ReadTable(file_.get(), header_, &tables, &blocks, &why)) Damaged(dir_, why);
  ForgetFreeExtents(file_.get(), header_, blocks);
  table_ = std::make_unique<BlockTable>(kFileBegin);
  if (!table_->Restore(std::move(blocks), header_.table_offset, header_.table_bytes, &why)) {
    Damaged(dir_, why);
  }
  CacheOptions cache;
  cache.limit = options_.cache_bytes;
  cache.codec = options_.codec;
  cache.merge_reads = options_.merge_reads;
  cache.row_overhead = options_.row_overhead;
  cache_ = std::make_unique<Cache>(file_.get(), table_.get(), &gate_, cache);
  cache_->SetNextBlock(header_.next_block);
  replay_from_.store(header_.replay_from);
  LoadTrees(tables);
  // The sync of this header may have failed (WriteAgain of device/file/durable.h), and from now on
  // extents of the older header are overwritten. So the header is written once more. An open that
  // was refused before this point has written nothing.
  WriteHeader(file_.get(), header_);
  file_->Sync();
  SyncDirectory(dir_);
  header_.node_size = options_.node_size;
  header_.fanout = options_.fanout;
}

// Reads the whole root of each tree. Roots stay in memory while the database is open.
void Store::LoadTrees(const std::vector<TableEntry>& tables) {
  for (const TableEntry& entry : tables) {
    if (entry.id == 0 || entry.id >= kMaxTables || Table(entry.id) != nullptr) {
      Damaged(dir_, "the catalogue has a table that cannot be");
    }
    NodeRef root = cache_->Get(entry.root, &own_reads_);
    if (root == nullptr || root->leaf()) Damaged(dir_, "a table has no root");
    cache_->FetchAll(root, &own_reads_);
    AddTree(entry, std::move(root));
    trees_.back()->Loaded();
  }
}

void Store::Recover() {
  bool replayed = false;
  cache_->KeepOnFullDisk(true);
  const auto replay = [&](const LogRecord& record) NO_THREAD_SAFETY_ANALYSIS {
    replayed = true;
    recovery_.log_bytes = record.end - header_.replay_from;
    Replay(record);
  };
  log_ = Log::Open(LogPath(dir_), options_.log, header_.replay_from, replay, header_.log_id);
  parts_.Clear();
  // The next transaction number is greater than each number that the log may still have.
  next_transaction_ = log_->EndLsn() + 1;
  try {
    if (replayed || log_->LacksReserve()) Checkpoint();
  } catch (const Error& e) {
    // On a full disk the log stays as it is, and the replayed changes stay in memory. Reads go on,
    // and the first commit tries again.
    if (!e.disk_is_full()) throw;
  }
  cache_->KeepOnFullDisk(false);
}

void Store::Replay(const LogRecord& record) {
  const DecodedRecord decoded = DecodeRecord(record.bytes);
  if (decoded.is_table) {
    if (decoded.table == 0 || decoded.table >= kMaxTables) {
      Damaged(dir_, "the log has a table that cannot be");
    }
    if (Table(decoded.table) != nullptr) return;
    const Gate::Pass pass(&gate_);
    NodeRef root = Tree::CreateRoot(cache_.get(), options_.page_size);
    const TableEntry entry{decoded.table, root->block, std::string(decoded.name)};
    AddTree(entry, std::move(root));
    return;
  }
  if (const auto operations = parts_.Add(decoded.part)) RunAgain(*operations, record.lsn);
}

void Store::RunAgain(std::string_view operations, Lsn lsn) {
  RowWrite op;
  while (NextOperation(&operations, &op)) {
    Tree* tree = Table(op.table);
    if (tree == nullptr) Damaged(dir_, "its log names a table that its catalogue does not have");
    tree->MakeRoom(&own_reads_);
    {
      const Gate::Pass pass(&gate_);
      tree->Insert({{lsn, op.erase, op.key, op.value}});
    }
    cache_->Evict();
    ++recovery_.rows;
  }
  ++recovery_.transactions;
}

void Store::StartThreads() {
  checkpointer_ = StartThread("the checkpoints of fractal", [this] { CheckpointLoop(); });
  if (options_.cleaner_period_ms > 0) {
    cleaner_ = StartThread("the cleaner of fractal", [this] { CleanerLoop(); });
  }
}

}  // namespace testbed::fractal
