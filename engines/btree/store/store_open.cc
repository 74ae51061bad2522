// This file creates, opens, recovers and closes a database.
#include <algorithm>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <optional>
#include <utility>

#include "device/file/directory.h"
#include "device/file/durable.h"
#include "device/log/log_format.h"
#include "device/log/log_use.h"
#include "device/os/mutex.h"
#include "device/os/random_id.h"
#include "device/os/thread.h"
#include "engines/btree/store/compact.h"
#include "engines/btree/store/replay_spool.h"
#include "engines/btree/store/store.h"

namespace testbed::btree {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<File> OpenFile(const std::string& path, FileKind kind, IoMode mode,
                               FileOptions::Create create, Advice advice = Advice::kNormal) {
  FileOptions options;
  options.kind = kind;
  options.mode = mode;
  options.create = create;
  options.advice = advice;
  return File::Open(path, options);
}

void CheckAtomic(const File& data, uint32_t page_size) {
  const size_t most = data.MostAtomicBytes();
  if (most >= page_size) return;
  throw Error(Error::kUsage,
              "torn_page=atomic needs --io direct and a device that writes pages of " +
                  std::to_string(page_size) + " bytes as a whole; here the most is " +
                  std::to_string(most) + " bytes: choose doublewrite or full_page_image");
}

// Throws the error of CheckAtomic when the device of the file at `path`, which it makes, cannot
// write a page as a whole. The file of an earlier Create stays then: RefuseUnlessNew knows by it
// what that Create has left.
void CheckAtomicDevice(const std::string& path, const StoreOptions& options) {
  const bool is_new = !IsThere(path);
  try {
    CheckAtomic(*OpenFile(path, FileKind::kData, options.io, FileOptions::kTruncate),
                options.page_size);
  } catch (const Error&) {
    if (is_new) RemoveFile(path);
    throw;
  }
}

void CheckCompression(const StoreOptions& options) {
  if (options.compression == PageCodec::kNone) return;
  const char* clash = options.io == IoMode::kMmap        ? "--io mmap reads pages in place"
                      : options.page_size <= kStoredUnit ? "pages of 4096 bytes would save nothing"
                      : options.torn_page == TornPage::kAtomic
                          ? "torn_page=atomic writes whole pages"
                          : nullptr;
  if (clash == nullptr) return;
  throw Error(Error::kUsage, std::string("btree does not compress pages here: ") + clash +
                                 "; give --compression none, or --io direct or buffered, "
                                 "--page-size 8k or more and another torn_page");
}

// Returns the number of the pool's frames, in the part of the cache that is not for compressed
// pages.
uint32_t Frames(const StoreOptions& options) {
  const uint64_t compressed = options.cache_bytes / 100 * options.compressed_cache_pct;
  return Pool::FramesFor(options.cache_bytes - compressed, options.page_size);
}

void CheckFormat(const SuperblockFields& super, const std::string& dir,
                 const StoreOptions& options) {
  if (!super.compressed && options.compression != PageCodec::kNone) {
    throw Error(Error::kUsage, "the database in " + dir +
                                   " was made without compression: give --compression none, or "
                                   "--fresh");
  }
  if (super.compressed && (options.io == IoMode::kMmap || options.torn_page == TornPage::kAtomic)) {
    throw Error(Error::kUsage, "the database in " + dir +
                                   " may have compressed pages: give --io direct or buffered and "
                                   "another torn_page than atomic, or --fresh");
  }
}

// Throws Error (kCorruption) when a page in use lies behind the end of the data file.
void CheckLength(const std::string& path, uint32_t page_size, const SpaceSnapshot& space) {
  const uint64_t last = LastUsedAt(space, page_size);
  FileOptions options;
  options.kind = FileKind::kData;
  options.read_only = true;
  const uint64_t bytes = File::Open(path, options)->Size();
  if (bytes > last) return;
  throw Error(Error::kCorruption, "file " + path + " has " + std::to_string(bytes) +
                                      " bytes, and its last page in use begins at " +
                                      std::to_string(last) +
                                      ": it was cut; restore the database from a copy, or load it "
                                      "again");
}

// Throws Error (kCorruption) when the data file is older than the checkpoint. The log since the
// checkpoint does not make an old copy of the file whole.
void CheckWitnesses(PageFile* file, const std::string& path, const CheckpointState& state) {
  const std::optional<OlderPage> older = file->FindOlder(state.witnesses);
  if (!older) return;
  throw Error(Error::kCorruption,
              "file " + path + " is an older copy: its page " + std::to_string(older->id) +
                  " has LSN " + std::to_string(older->found) +
                  ", and the last checkpoint knows LSN " + std::to_string(older->known) +
                  "; put the file back, restore the whole database from a copy, or load it again");
}

// Gives the doublewrite file its space at an opening: the last run may have had another protection,
// and left the file empty. On a full disk the database is opened without it.
void ReserveIfRoom(File* doublewrite, uint32_t page_size) {
  try {
    ReserveDoublewrite(doublewrite, page_size);
  } catch (const Error& e) {
    if (!e.disk_is_full()) throw;
  }
}

// Throws Error unless a database may be made in `dir`. A directory with files of a database but
// without its data file is refused, unless they are what an unfinished Create has left, which its
// unfinished data file tells.
void RefuseUnlessNew(const std::string& dir, bool create) {
  if (IsThere(UnfinishedBackupPath(dir))) {
    throw Error(Error::kUsage, "the directory " + dir +
                                   " holds a backup that was not finished (btree.backup): remove "
                                   "it, and make the backup again");
  }
  if (!IsThere(UnfinishedDataPath(dir))) {
    std::vector<std::string> paths = LogSegmentPaths(LogPath(dir));
    for (const std::string& path :
         {DoublewritePath(dir), CheckpointPath(dir, 0), CheckpointPath(dir, 1)}) {
      paths.push_back(path);
    }
    for (const std::string& path : paths) {
      if (!IsThere(path)) continue;
      throw Error(Error::kCorruption,
                  "the btree database in " + dir + " has no data file " + DataPath(dir) + ", but " +
                      path +
                      ": put the file back, restore the database from a copy, or "
                      "load it again with --fresh");
    }
  }
  if (!create) throw Error(Error::kUsage, "the directory " + dir + " holds no btree database");
}

}  // namespace

void CheckOptions(const StoreOptions& options) {
  CheckCompression(options);
  if (!HoldsEnoughPages(options)) {
    throw Error(Error::kUsage, "a btree cache of " + std::to_string(options.cache_bytes) +
                                   " bytes holds fewer than " + std::to_string(Pool::kMinFrames) +
                                   " pages of " + std::to_string(options.page_size) +
                                   " bytes: give a larger --cache-pct");
  }
}

bool HoldsEnoughPages(const StoreOptions& options) { return Frames(options) > 0; }

bool Store::Exists(const std::string& dir) { return IsThere(DataPath(dir)); }

Store::Store(const std::string& dir, const StoreOptions& options)
    : dir_(dir), options_(options), tables_(kMaxTables) {}

std::unique_ptr<Store> Store::Open(const std::string& dir, const StoreOptions& options) {
  IoScope scope(kOpen);
  RequireDirectory(dir, options.create);
  CheckOptions(options);
  auto store = std::unique_ptr<Store>(new Store(dir, options));
  // The lock comes first: while another process makes a database here, its files are there and its
  // data file is not, or has its final name a moment after this one has looked for it.
  store->lock_ = DirLock(dir, "the database in");
  const bool is_new = !IsThere(DataPath(dir));
  if (is_new) RefuseUnlessNew(dir, options.create);
  FinishCompaction(dir);
  if (is_new && !IsThere(DataPath(dir))) store->Create();
  const CheckpointState state = store->OpenFiles();
  SyncDirectory(dir);  // recovery relies on the names of all files
  store->Recover(state);
  store->checkpointer_ =
      StartThread("the checkpoints of the btree", [s = store.get()] { s->CheckpointLoop(); });
  store->StartChangeBuffer();
  return store;
}

Store::~Store() {
  if (checkpointer_.joinable()) {
    {
      LockGuard lock(wake_mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    checkpointer_.join();
    try {
      if (!failed()) {
        IoScope scope(kOpen);
        Checkpoint();
      }
    } catch (const std::exception&) {
      // A destructor cannot report an error. A caller that must know of errors calls Checkpoint
      // before. All durable commits are in the log.
    }
  }
  pool_.reset();
  redo_.Attach(nullptr);
}

DirLock Store::Close(std::unique_ptr<Store> store) {
  DirLock lock = std::move(store->lock_);
  store.reset();
  return lock;
}

uint64_t Store::CompressedCacheBytes(uint64_t cache_bytes) const {
  const uint64_t bytes = cache_bytes / 100 * options_.compressed_cache_pct;
  return bytes - bytes % CompressedCache::kParts;  // the pool gets the rest
}

// Makes the files of a new database. The data file gets its name last, so what a crash leaves
// before that is no database, and the next Create makes it anew.
void Store::Create() {
  const std::string data = UnfinishedDataPath(dir_);
  if (options_.torn_page == TornPage::kAtomic) CheckAtomicDevice(data, options_);
  Log::RemoveUnused(LogPath(dir_));
  MakeNameDurable(dir_);
  // The unfinished data file is made before all other files, and gets its final name after them.
  OpenFile(data, FileKind::kData, IoMode::kBuffered, FileOptions::kTruncate);
  SyncDirectory(dir_);
  for (int which : {0, 1}) RemoveFile(CheckpointPath(dir_, which));
  std::error_code code;
  fs::create_directory(LogPath(dir_), code);
  if (code) throw Error::Io("mkdir", LogPath(dir_), code.value());

  const uint32_t page_size = options_.page_size;
  AlignedBuffer page(page_size);
  CheckpointState state;
  state.database = RandomId();
  state.sequence = 1;
  state.space.pages = 2;
  state.space.words = {3};  // the superblock and the catalogue's root
  {
    auto file = OpenFile(data, FileKind::kData, IoMode::kBuffered, FileOptions::kTruncate);
    FormatSuperblock(page.data(), page_size, state.database,
                     options_.compression != PageCodec::kNone);
    file->Write(0, page.data(), page_size);
    Tree::FormatRoot(page.data(), page_size, kCatalogueRoot, kCatalogueTable);
    StampPage(page.data(), page_size);
    file->Write(page_size, page.data(), page_size);
    file->Sync(true);
  }
  {
    auto file = OpenFile(DoublewritePath(dir_), FileKind::kDoublewrite, IoMode::kBuffered,
                         FileOptions::kTruncate);
    if (options_.torn_page == TornPage::kDoublewrite) ReserveDoublewrite(file.get(), page_size);
    file->Sync(true);
  }
  {
    const auto log = Log::Open(LogPath(dir_), options_.log);
    log->Sync();
    state.log_id = log->id();
    state.redo = log->EndLsn();
  }
  // Checkpoints go to two files in turn. A checkpoint to each gives both files their space now, as
  // the doublewrite file has its space.
  for (; state.sequence <= 2; ++state.sequence) WriteCheckpoint(dir_, page_size, state);
  SyncDirectory(LogPath(dir_));
  RenameFile(data, DataPath(dir_));
  SyncDirectory(dir_);
}

// Reads the last checkpoint and makes it durable. If the log was used since then, makes the data
// file durable, too; after an orderly close it is durable, and its pages stay in the page cache.
CheckpointState Store::ReadDurableCheckpoint() const {
  for (int which : {0, 1}) {
    const std::string path = CheckpointPath(dir_, which);
    if (IsThere(path)) MakeDurable(path, FileKind::kMeta);
  }
  CheckpointState state = ReadCheckpoint(dir_, state_.database);
  // The sync of this checkpoint may have failed (WriteAgain of device/file/durable.h), and later
  // checkpoints overwrite the older one. So it is written once more.
  WriteCheckpoint(dir_, options_.page_size, state);
  if (LogWasUsedAfter(LogPath(dir_), options_.log.mode, state.redo)) {
    MakeDurable(DataPath(dir_), FileKind::kData);
    MakeDurable(DoublewritePath(dir_), FileKind::kDoublewrite);
  }
  return state;
}

CheckpointState Store::OpenFiles() {
  const SuperblockFields super = CheckSuperblock(DataPath(dir_), dir_, options_.page_size);
  CheckFormat(super, dir_, options_);
  state_.database = super.database;
  CheckpointState state = ReadDurableCheckpoint();
  CheckLength(DataPath(dir_), options_.page_size, state.space);
  auto data = OpenFile(DataPath(dir_), FileKind::kData, options_.io, FileOptions::kMustExist,
                       options_.advice);
  // mmap mode maps a file to read its pages in place. The doublewrite file is not read in that way,
  // so it is opened as a buffered file.
  const IoMode doublewrite_mode =
      options_.io == IoMode::kDirect ? IoMode::kDirect : IoMode::kBuffered;
  auto doublewrite = OpenFile(DoublewritePath(dir_), FileKind::kDoublewrite, doublewrite_mode,
                              FileOptions::kMustExist);
  // Torn pages are put back even if the options turn the protection off from now on.
  PageFile last(std::move(data), std::move(doublewrite), options_.page_size);
  CheckWitnesses(&last, DataPath(dir_), state);
  PageFile::Copies kept;
  recovery_.torn_pages = last.RestoreTorn(&kept);
  data = OpenFile(DataPath(dir_), FileKind::kData, options_.io, FileOptions::kMustExist,
                  options_.advice);
  doublewrite = nullptr;
  PageFileOptions pages;
  pages.atomic = options_.torn_page == TornPage::kAtomic;
  pages.compressed = super.compressed;
  pages.images_in_log = options_.torn_page == TornPage::kFullPageImage;
  // Recovery keeps torn pages in memory beyond the cache. Only pages that were written since the
  // last sync of the data file can be torn, so this bounds their number.
  pages.most_unsynced_bytes = std::clamp<uint64_t>(options_.cache_bytes / 4, 16 << 20, 64 << 20);
  pages.codec = options_.compression;
  if (super.compressed) pages.compressed_cache_bytes = CompressedCacheBytes(options_.cache_bytes);
  if (pages.atomic) CheckAtomic(*data, options_.page_size);
  if (options_.torn_page == TornPage::kDoublewrite ||
      options_.torn_page == TornPage::kFullPageImage) {
    doublewrite = OpenFile(DoublewritePath(dir_), FileKind::kDoublewrite, doublewrite_mode,
                           FileOptions::kMustExist);
    if (options_.torn_page == TornPage::kDoublewrite) {
      ReserveIfRoom(doublewrite.get(), options_.page_size);
    }
  } else {
    if (!kept.empty()) throw Error::Io("write", DataPath(dir_), ENOSPC);
    // The file is emptied, because its copies would be older than the pages that are written in
    // place without it.
    OpenFile(DoublewritePath(dir_), FileKind::kDoublewrite, IoMode::kBuffered,
             FileOptions::kTruncate)
        ->Sync(true);
  }
  file_ = std::make_unique<PageFile>(std::move(data), std::move(doublewrite), options_.page_size,
                                     pages);
  file_->KeepCopies(std::move(kept));
  file_->SetOnError([this](const Error& error, bool lasts) { NoteFileError(error, lasts); });
  space_ = std::make_unique<Space>(
      options_.page_size, [this](uint32_t pages) { GrowFiles(pages); },
      [this](uint32_t pages) { file_->Shrink(pages); });
  pool_ = std::make_unique<Pool>(file_.get(), &redo_,
                                 options_.cache_bytes - pages.compressed_cache_bytes);
  return state;
}

// Makes the data file that many pages long. Before that the checkpoint files get the space for a
// map of these pages, so that a checkpoint is possible on a disk that the data file has filled.
void Store::GrowFiles(uint32_t pages) {
  constexpr uint64_t kStep = 64 << 10;  // bytes; the map has a bit for each page
  const uint64_t bytes = (4096 + uint64_t{pages} / 8 + kStep - 1) / kStep * kStep;
  if (bytes > checkpoint_space_) {
    for (int which : {0, 1}) {
      const std::string path = CheckpointPath(dir_, which);
      if (!IsThere(path)) continue;
      OpenFile(path, FileKind::kMeta, IoMode::kBuffered, FileOptions::kMustExist)
          ->Allocate(0, bytes, true);
    }
    checkpoint_space_ = bytes;
  }
  file_->Grow(pages);
}

void Store::LoadCatalogue() {
  const TreeEnv env{pool_.get(), space_.get(), &redo_};
  if (Table(kCatalogueTable) == nullptr) {
    owned_tables_.push_back(std::make_unique<Tree>(env, kCatalogueTable, kCatalogueRoot));
    tables_[kCatalogueTable].store(owned_tables_.back().get());
  }
  TreeContext context(pool_.get());
  AlignedBuffer copy(options_.page_size);
  const Tree* catalogue = Table(kCatalogueTable);
  std::string from;
  for (;;) {
    catalogue->CopyLeaf(&context, Tree::Bound::kCover, from, copy.data());
    const Node node(copy.data(), options_.page_size);
    for (uint32_t i = 0; i < node.count(); ++i) AddTable(node.Key(i), node.Value(i).bytes);
    if (node.unbounded()) return;
    from = node.HighFence();
  }
}

// Recovers the database in two passes (docs/engines/btree.md). The first restores the trees' shape
// while it reads the log; the second runs the transactions again. The second writes log records of
// its own, so a crash in it is recovered like any other.
void Store::Recover(const CheckpointState& state) {
  state_ = state;
  space_->Restore(state.space, file_->data().Size() / options_.page_size);
  // The file of a database with compressed pages may end within its last page.
  file_->Grow(LengthInUse(state.space));
  pool_->BeginRecovery();
  std::optional<ReplaySpool> spool(std::in_place, dir_ + "/btree.replay");
  {
    PoolClient client(pool_.get());
    StructureReplay replay(pool_.get(), space_.get(), &client);
    const auto apply = [&](const LogRecord& r) {
      recovery_.needed = true;
      recovery_.log_bytes = r.end - state.redo;
      const DecodedRecord record = DecodeRecord(r.bytes);
      if ((record.flags & kHasStructure) != 0) replay.Apply(record.structure, r.lsn, r.end);
      if ((record.flags & kHasOperations) != 0) {
        spool->Add({{r.lsn, r.end}, record.part});
      }
    };
    redo_.Attach(Log::Open(LogPath(dir_), options_.log, state.redo, apply, state.log_id));
    replay.CheckWhole();
    recovery_.pages_changed = replay.pages_changed();
  }
  file_->Grow(space_->file_pages());
  file_->CutPartialPage();
  next_transaction_.store(redo_.EndLsn());
  last_redo_.store(state.redo);
  LoadCatalogue();
  LoadChangeBuffer();
  RunAgain(&*spool);
  // The spool removes its file before the checkpoint. After the checkpoint, no other recovery would
  // remove the file.
  spool.reset();
  pool_->EndRecovery();
  EndRecovery();
}

void Store::EndRecovery() {
  try {
    if (recovery_.needed || owes_checkpoint()) Checkpoint();
    if (owes_checkpoint()) throw Error::Io("write", LogPath(dir_), ENOSPC);
  } catch (const Error& e) {
    // On a full disk the log stays as it is. Reads go on, and the first commit tries again.
    if (!e.disk_is_full()) throw;
    if (owes_checkpoint()) OweCheckpoint(e);
  }
  space_->GiveBack();
  // If a file could not be shrunk, the opening fails. If only the disk is full, it does not,
  // because reads go on.
  if (failed()) CheckUsable();
  // Up to here, pages were written without images in the log.
  if (options_.torn_page == TornPage::kFullPageImage && !owes_checkpoint()) {
    pool_->SetImageFloor(last_redo_.load());
    logs_images_ = true;
    try {
      file_->StopDoublewrite();
    } catch (const Error& e) {
      // The last batch is whole in the doublewrite file alone. That file stays in use until the
      // next opening, because reads go on.
      if (!e.disk_is_full()) throw;
    }
  }
}

// Loads the change buffer of the database, if there is one and it is not loaded yet.
void Store::LoadChangeBuffer() {
  const auto known = table_names_.find(std::string(kChangeBufferTable));
  if (change_buffer_ != nullptr || known == table_names_.end()) return;
  change_buffer_ = std::make_unique<ChangeBuffer>(Table(known->second), kMaxTables,
                                                  options_.change_buffer_bytes, options_.page_size);
  TreeContext context(pool_.get());
  change_buffer_->Load(&context);
}

// Makes the change buffer for which the options ask. If they ask for none, empties the one that the
// database has. The checkpointer runs already: the rows that leave the buffer make the log grow.
void Store::StartChangeBuffer() {
  merge_op_ = DefineOp("change-buffer-merge", Ground::kBackground);
  if (options_.change_buffer_bytes > 0) {
    try {
      OpenTable(std::string(kChangeBufferTable));
      LoadChangeBuffer();
    } catch (const Error& e) {
      // On a full disk the database works without a change buffer until it is opened again.
      if (!e.disk_is_full() || failed()) throw;
    }
    return;
  }
  if (change_buffer_ == nullptr) return;
  StoreClient client(this);
  try {
    while (change_buffer_->rows() > 0 && client.MoveToNextLeaf()) {
    }
  } catch (const Error& e) {
    // On a full disk the rows wait in the buffer, which takes no further rows. Later commits move
    // them.
    if (!e.disk_is_full()) throw;
  }
}

}  // namespace testbed::btree
