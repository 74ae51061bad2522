#include "engines/btree/store/backup.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "device/error.h"
#include "device/file/directory.h"
#include "device/file/file.h"
#include "device/log/log_copy.h"
#include "device/log/log_format.h"
#include "device/os/dir_lock.h"
#include "device/os/signal_guard.h"
#include "engines/btree/page/meta.h"
#include "engines/btree/page/page.h"
#include "engines/btree/page/page_codec.h"
#include "engines/btree/pool/guards.h"
#include "engines/btree/pool/write_batch.h"

namespace testbed::btree {
namespace {

constexpr uint32_t kReadAtOnce = 1 << 20;  // bytes of the data file; writes of pages wait meanwhile
// After each part of the data file, at most this many bytes of log are copied. A log that is
// written well below the rate of the copy stays short. A log that is written faster grows until all
// pages are copied, and the rest of it is then copied once. Without this bound each part would make
// the next one longer.
constexpr uint64_t kLogAtOnce = 4ull * kReadAtOnce;

std::filesystem::path Resolved(const std::string& directory) {
  std::error_code code;
  std::filesystem::path path = std::filesystem::weakly_canonical(directory, code);
  if (code) throw Error::Io("resolve", directory, code.value());
  return path;
}

// Throws Error (kUsage) unless a backup of the database in `dir` may be made in `to`.
void CheckTarget(const std::string& dir, const std::string& to) {
  if (to.empty()) {
    throw Error(Error::kUsage, "the directory of a backup has no name: give a new or an empty one");
  }
  const std::filesystem::path source = Resolved(dir), target = Resolved(to);
  if (std::mismatch(source.begin(), source.end(), target.begin(), target.end()).first ==
      source.end()) {
    throw Error(Error::kUsage, "the directory " + to + " of a backup is that of the database, " +
                                   dir + ", or lies in it: give one elsewhere");
  }
  if (!IsThere(to)) return;
  if (!IsDirectoryThere(to)) {
    throw Error(Error::kUsage, "a backup goes to a new or an empty directory, and " + to +
                                   " is no directory: give another name");
  }
  if (!NamesIn(to).empty()) {
    throw Error(Error::kUsage,
                "the directory " + to + " of a backup is not empty: give a new or an empty one");
  }
}

// Removes what an unfinished backup has made. Files that cannot be removed stay. The file that is
// removed last is the one that makes an opening refuse the directory.
void RemoveBackup(const std::string& to) noexcept {
  try {
    std::vector<std::string> paths = {DataPath(to), DoublewritePath(to), CheckpointPath(to, 0),
                                      CheckpointPath(to, 1)};
    for (std::string& path : LogSegmentPaths(LogPath(to))) paths.push_back(std::move(path));
    for (const std::string& path : paths) RemoveFile(path);
    std::error_code ignored;
    std::filesystem::remove(LogPath(to), ignored);
    RemoveFile(UnfinishedBackupPath(to));
  } catch (const std::exception&) {
    // The caller throws the error for which the backup has failed. This one is dropped.
  }
}

class BackupCopy {
 public:
  BackupCopy(Store* store, const std::string& to)
      : store_(store),
        to_(to),
        page_size_(store->options().page_size),
        client_(store->pool()),
        pages_(kReadAtOnce) {}

  // A directory is a database once the data file has its final name, so the data file gets it last.
  // Until then its other name makes an opening refuse the directory.
  void Make() {
    data_ = NewFile(UnfinishedBackupPath(to_), FileKind::kData);
    SyncDirectory(to_);
    std::error_code code;
    std::filesystem::create_directory(LogPath(to_), code);
    if (code) throw Error::Io("mkdir", LogPath(to_), code.value());
    const KeptLog kept(store_);
    state_ = store_->CheckpointKeepingLog();
    LogCopy log(store_->log(), state_.redo, LogPath(to_));
    CopyPages(&log);
    // No page that was read has a change that lies behind this end of the log.
    log.Finish(store_->log()->EndLsn());
    data_->Sync(true);
    data_.reset();
    MakeDoublewrite();
    // The checkpoint is written to both checkpoint files, as in a new database.
    for (int i = 0; i < 2; ++i, ++state_.sequence) WriteCheckpoint(to_, page_size_, state_);
    SyncDirectory(to_);
    RenameFile(UnfinishedBackupPath(to_), DataPath(to_));
    SyncDirectory(to_);
    MakeNameDurable(to_);
  }

 private:
  // A KeptLog keeps checkpoints from truncating the log. Its destructor permits that again.
  class KeptLog {
   public:
    explicit KeptLog(Store* store) : store_(store) {}
    ~KeptLog() { store_->KeepLogFrom(kNoLsn); }
    KeptLog(const KeptLog&) = delete;
    KeptLog& operator=(const KeptLog&) = delete;

   private:
    Store* const store_;
  };

  static std::unique_ptr<File> NewFile(const std::string& path, FileKind kind) {
    FileOptions options;
    options.kind = kind;
    options.create = FileOptions::kMustCreate;
    return File::Open(path, options);
  }

  void CopyPages(LogCopy* log) {
    const uint32_t pages = LengthInUse(state_.space);
    const uint64_t bytes = uint64_t{pages} * page_size_;
    // Writes allocate the space of a compressed file, as in the database itself.
    if (!store_->file()->compressed()) data_->Allocate(0, bytes);
    if (data_->Size() < bytes) data_->Truncate(bytes);
    const uint32_t step = kReadAtOnce / page_size_;
    for (PageId first = 0; first < pages; first += step) {
      if (StopRequested()) throw Stopped("while it copied pages", "the backup");
      const uint32_t count = std::min(step, pages - first);
      if (!AnyInUse(first, count)) continue;
      store_->file()->ReadStored(first, count, pages_.data());
      CopyPart(first, count);
      log->Advance(kLogAtOnce);
      store_->KeepLogFrom(log->end() - 1);
    }
  }

  // Writes the pages that were read.
  void CopyPart(PageId first, uint32_t count) {
    for (uint32_t i = 0; i < count;) {
      uint32_t end = i;  // pages [i, end) are written with one call
      size_t bytes = 0;
      // A page that is stored whole is followed by its neighbour at once; behind a compressed page
      // there is a hole.
      while (end < count && bytes == size_t{end - i} * page_size_) {
        const uint32_t stored = BytesToCopy(first + end, Page(end));
        if (stored == 0) break;
        bytes += stored;
        ++end;
      }
      if (bytes > 0) data_->Write(uint64_t{first + i} * page_size_, Page(i), bytes);
      i = std::max(end, i + 1);
    }
  }

  // Returns how many bytes of the page the copy needs. It needs none of a page that is not in use,
  // nor of a page that the file does not have yet, since the log has all of that page.
  uint32_t BytesToCopy(PageId id, char* page) {
    if (!InUse(id)) return 0;
    const PageState state = InspectPage(page, page_size_, id);
    if (state == PageState::kBlank) return 0;
    if (state == PageState::kValid) return StoredBytes(page, page_size_);
    if (id == 0) throw store_->file()->Broken(id);
    // The page may have come into use after a crash had torn the free page that was in its place,
    // and not have been written yet. Then the pool has it; otherwise Read throws.
    if (!store_->space()->IsUsed(id)) return 0;
    const SharedGuard guard = store_->pool()->Read(&client_, id);
    std::memcpy(page, guard.page(), page_size_);
    StampPage(page, page_size_);
    return page_size_;
  }

  void MakeDoublewrite() {
    const auto file = NewFile(DoublewritePath(to_), FileKind::kDoublewrite);
    if (store_->options().torn_page == TornPage::kDoublewrite) {
      ReserveDoublewrite(file.get(), page_size_);
    }
    file->Sync(true);
  }

  bool InUse(PageId id) const { return (state_.space.words[id / 64] >> (id % 64) & 1) != 0; }
  bool AnyInUse(PageId first, uint32_t count) const {
    for (PageId id = first; id < first + count; ++id) {
      if (InUse(id)) return true;
    }
    return false;
  }
  char* Page(uint32_t i) { return pages_.data() + size_t{i} * page_size_; }

  Store* const store_;
  const std::string to_;
  const uint32_t page_size_;
  PoolClient client_;
  CheckpointState state_;
  std::unique_ptr<File> data_;
  AlignedBuffer pages_;  // pages as they were read from the file
};

// Makes the backup in the directory `to`, which exists. After an error it is as it was.
void MakeIn(Store* store, const std::string& to) {
  const DirLock lock(to, "the directory");
  CheckTarget(store->dir(), to);  // another backup may have been made there meanwhile
  try {
    BackupCopy(store, to).Make();
  } catch (...) {
    RemoveBackup(to);
    throw;
  }
}

}  // namespace

void BackUp(Store* store, const std::string& to) {
  CheckTarget(store->dir(), to);
  const std::vector<std::string> made = MissingDirectories(to);
  try {
    MakeDirectories(to);
    MakeIn(store, to);
  } catch (...) {
    RemoveMadeDirectories(made);
    throw;
  }
}

}  // namespace testbed::btree
