#include "engines/btree/inspect/image.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "device/error.h"
#include "device/file/directory.h"
#include "engines/btree/store/store.h"
#include "engines/disk_size.h"

namespace testbed::btree {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<File> OpenReadOnly(const std::string& path, FileKind kind) {
  FileOptions options;
  options.kind = kind;
  options.read_only = true;
  return File::Open(path, options);
}

uint64_t SizeOf(const std::string& path) {
  std::error_code none;
  const uintmax_t size = fs::file_size(path, none);
  return none ? 0 : size;
}

}  // namespace

Image::Image(const std::string& dir, Inspection* inspection)
    : dir_(dir), data_path_(DataPath(dir)), inspection_(inspection) {
  std::error_code none;
  if (!fs::is_regular_file(data_path_, none)) {
    throw Error(Error::kUsage, "the directory " + dir + " holds no btree database");
  }
  lock_ = DirLock(dir, "the database in");
  if (IsThere(CompactedPath(dir))) {
    throw Error(Error::kUsage, "a compaction of the btree database in " + dir +
                                   " was interrupted when it exchanged the files: open the "
                                   "database once, which ends it");
  }
  data_ = OpenReadOnly(data_path_, FileKind::kData);
  data_bytes_ = data_->Size();
  ReadMeta();
  if (page_size_ == 0) return;
  OpenPages();
  ReadLog();
  NoteLeftovers();
}

Image::~Image() = default;

Fault Image::InFile(const std::string& file, uint64_t byte, std::string what, std::string expected,
                    std::string found) const {
  Fault fault;
  fault.file = file;
  fault.byte = byte;
  fault.what = std::move(what);
  fault.expected = std::move(expected);
  fault.found = std::move(found);
  return fault;
}

void Image::ReadMeta() {
  for (int which : {0, 1}) {
    try {
      checkpoints_[which] = InspectCheckpoint(dir_, which);
    } catch (const Error& e) {
      CheckpointFile& file = checkpoints_[which];
      file.path = CheckpointPath(dir_, which);
      file.fault = std::string("it cannot be read: ") + e.what();
      file.exists = true;
    }
    const CheckpointFile& file = checkpoints_[which];
    if (file.exists && file.fault.empty() && file.version > kCheckpointVersion) {
      NewerFormat(dir_, file.version, kCheckpointVersion);
    }
  }
  std::optional<SuperblockFields> super;
  std::string why = "the file is too short for the superblock";
  try {
    super = ReadSuperblock(data_.get());
  } catch (const Error& e) {
    why = e.what();
  }
  if (super && super->whole && super->version > kFormatVersion) {
    NewerFormat(dir_, super->version, kFormatVersion);
  }
  if (super && super->whole) {
    page_size_ = super->page_size;
    database_ = super->database;
    compressed_ = super->compressed;
  } else {
    FindPageSize();
  }
  CheckSuper(super, why);
  for (const CheckpointFile& file : checkpoints_) {
    if (Usable(file) &&
        (checkpoint_ == nullptr || file.state.sequence > checkpoint_->state.sequence)) {
      checkpoint_ = &file;
    }
  }
  if (page_size_ != 0) inspection_->page_size = page_size_;
}

// Returns whether a checkpoint file is whole and belongs to this database.
bool Image::Usable(const CheckpointFile& file) const {
  return file.exists && file.fault.empty() && file.page_size == page_size_ &&
         (!database_ || file.state.database == *database_);
}

// Finds the page size without the superblock: from a checkpoint file, else by trying with which
// size page 1 is valid.
void Image::FindPageSize() {
  for (const CheckpointFile& file : checkpoints_) {
    if (file.exists && file.fault.empty() && IsPageSize(file.page_size)) {
      page_size_ = file.page_size;
    }
  }
  AlignedBuffer page(kMaxPageSize);
  for (uint32_t size = kMinPageSize; page_size_ == 0 && size <= kMaxPageSize; size *= 2) {
    try {
      if (data_->ReadSome(kCatalogueRoot * size, page.data(), size) == size &&
          InspectPage(page.data(), size, kCatalogueRoot) == PageState::kValid) {
        page_size_ = size;
      }
    } catch (const Error&) {
      // The page may be readable with another page size.
    }
  }
}

// Adds a fault when the superblock is damaged. `why` is its text when no fields could be read.
void Image::CheckSuper(const std::optional<SuperblockFields>& super, const std::string& why) {
  const bool whole = super && super->whole;
  const bool known = super && super->version == kFormatVersion;
  if (whole && known) return;
  Fault fault = InFile(data_path_, 0, "");
  fault.page = 0;
  if (!super) {
    fault.what = why;
  } else if (!super->magic) {
    fault.what = "it is no superblock of btree";
    fault.byte = 32;
  } else if (whole) {
    fault.what = "no version of the format";
    fault.byte = 40;
    fault.expected = std::to_string(kFormatVersion);
    fault.found = std::to_string(super->version);
  } else {
    fault.what = "its checksum does not match";
  }
  if (page_size_ == 0) fault.what += "; without the page size nothing more can be checked";
  inspection_->faults.Add(std::move(fault));
}

void Image::OpenPages() {
  std::unique_ptr<File> doublewrite;
  std::error_code none;
  if (!fs::is_regular_file(DoublewritePath(dir_), none)) {
    Fault fault = InFile(DoublewritePath(dir_), 0,
                         fs::exists(DoublewritePath(dir_), none)
                             ? "it is no regular file: the database cannot be opened"
                             : "the file is missing: the database cannot be opened");
    fault.byte.reset();
    inspection_->faults.Add(std::move(fault));
  } else {
    try {
      doublewrite = OpenReadOnly(DoublewritePath(dir_), FileKind::kDoublewrite);
    } catch (const Error& e) {
      inspection_->faults.Add(InFile(DoublewritePath(dir_), 0, e.what()));
    }
  }
  pages_ = std::make_unique<PageFile>(std::move(data_), std::move(doublewrite), page_size_);
  try {
    pages_->FindTorn([this](PageId id, const char* copy) {
      AlignedBuffer& kept = torn_[id] = AlignedBuffer(page_size_);
      std::memcpy(kept.data(), copy, page_size_);
      if (IsCompressed(copy) && !ExpandPage(kept.data(), page_size_)) {
        throw Error(Error::kCorruption,
                    "the copy of page " + std::to_string(id) + " cannot be expanded");
      }
      Fault note = InFile(
          data_path_, static_cast<uint64_t>(id) * page_size_,
          "it is not whole; opening the database puts it back from " + DoublewritePath(dir_));
      note.page = id;
      inspection_->notes.Add(std::move(note));
    });
  } catch (const Error& e) {
    inspection_->faults.Add(InFile(DoublewritePath(dir_), 0, e.what()));
  }
  CheckWitnesses();
}

// Adds a fault when the data file is older than the checkpoint.
void Image::CheckWitnesses() {
  if (checkpoint_ == nullptr) return;
  const std::optional<OlderPage> older = pages_->FindOlder(checkpoint_->state.witnesses);
  if (!older) return;
  Fault fault = InFile(
      data_path_, static_cast<uint64_t>(older->id) * page_size_,
      "the page is older than the checkpoint in " + checkpoint_->path + ": the file is an old copy",
      "LSN " + std::to_string(older->known) + " or more", std::to_string(older->found));
  fault.page = older->id;
  inspection_->faults.Add(std::move(fault));
}

void Image::ReadLog() {
  bool written_after = true;
  if (checkpoint_ != nullptr) {
    Space space(page_size_, [](uint32_t) {});
    space.Restore(checkpoint_->state.space);
    log_ = std::make_unique<RedoIndex>(LogPath(dir_), page_size_, &inspection_->faults);
    if (log_->Read(checkpoint_->state.redo, checkpoint_->state.log_id, &space)) {
      log_end_ = log_->end();
      written_after = log_->written_after();
    }
    space_ = space.Snapshot();
    Extend(&*space_, data_bytes_ / page_size_);
    inspection_->replay = log_->replay();
    CheckLength(checkpoint_->state.space);
    CheckMap(*checkpoint_);
  } else {
    Fault fault = InFile(dir_, 0,
                         "no checkpoint file is whole: the database cannot be opened, and which "
                         "pages are in use is not known");
    fault.byte.reset();
    inspection_->faults.Add(std::move(fault));
  }
  CheckCheckpoint(checkpoints_[0], checkpoints_[1], written_after);
  CheckCheckpoint(checkpoints_[1], checkpoints_[0], written_after);
}

void Image::CheckCheckpoint(const CheckpointFile& file, const CheckpointFile& other,
                            bool written_after) {
  if (!file.exists) {
    // Earlier versions made a new database with one checkpoint file. The second checkpoint of such
    // a database makes the other file.
    if (!Usable(other) || other.state.sequence < 2) return;
    Fault fault = InFile(file.path, 0, "the file is missing; the other one counts");
    fault.byte.reset();
    inspection_->notes.Add(std::move(fault));
    return;
  }
  if (file.fault.empty()) {
    if (Usable(file)) return;
    inspection_->faults.Add(
        file.page_size != page_size_
            ? InFile(file.path, 20, "it has another page size than the data file",
                     std::to_string(page_size_), std::to_string(file.page_size))
            : InFile(file.path, 24, "it belongs to another database", std::to_string(*database_),
                     std::to_string(file.state.database)));
    return;
  }
  // A checkpoint writes this file while the other file is the valid one. If the log was written
  // after the other file's checkpoint, the database was open, and a crash may have torn this file.
  const bool torn = Usable(other) && file.may_be_torn && written_after;
  Fault fault = InFile(file.path, file.fault_at, file.fault, file.expected, file.found);
  if (torn) fault.what += " (as after a crash while it was written; the other one counts)";
  (torn ? inspection_->notes : inspection_->faults).Add(std::move(fault));
}

// Adds a fault when the data file ends before the last page in use. An opening refuses such a file
// even if the log has that page whole.
void Image::CheckLength(const SpaceSnapshot& space) {
  const uint64_t last = LastUsedAt(space, page_size_);
  if (data_bytes_ > last) return;
  inspection_->faults.Add(InFile(data_path_, data_bytes_, "it was cut before its last page in use",
                                 "more than " + std::to_string(last) + " bytes",
                                 std::to_string(data_bytes_)));
}

void Image::CheckMap(const CheckpointFile& file) {
  const SpaceSnapshot& map = file.state.space;
  constexpr uint64_t kBits = 64;  // offset of the bit map in the file
  if (map.pages < 2 || (map.words[0] & 3) != 3) {
    inspection_->faults.Add(InFile(file.path, kBits,
                                   "it does not call the superblock and the catalogue's root "
                                   "used"));
  }
  if (map.pages % 64 != 0 && map.words.back() >> (map.pages % 64) != 0) {
    inspection_->faults.Add(InFile(file.path, kBits + 8 * (map.words.size() - 1),
                                   "it calls pages behind its end used"));
  }
}

void Image::NoteLeftovers() {
  if (data_bytes_ % page_size_ != 0) {
    Fault fault =
        InFile(data_path_, data_bytes_ / page_size_ * page_size_, "the file ends within a page", "",
               std::to_string(data_bytes_ % page_size_) + " bytes of it");
    // A crash during the growth of the file may leave it with any length. If recovery needs a page
    // and does not find it whole, that page is a fault of its own.
    const bool crashed = inspection_->replay && inspection_->replay->log_bytes > 0;
    if (crashed) fault.what += " (as after a crash while it grew)";
    (crashed ? inspection_->notes : inspection_->faults).Add(std::move(fault));
  }
  for (const char* name : {"/btree.replay", "/btree.data.new", "/btree.compact"}) {
    std::error_code none;
    if (!fs::exists(dir_ + name, none)) continue;
    Fault note = InFile(dir_ + name, 0, "left by a crash; nothing needs it");
    note.byte.reset();
    inspection_->notes.Add(std::move(note));
  }
}

PageState Image::Read(PageId id, char* page, std::string* why) {
  PageState state = PageState::kValid;
  if (const auto copy = torn_.find(id); copy != torn_.end()) {
    std::memcpy(page, copy->second.data(), page_size_);
  } else {
    try {
      state = pages_->Inspect(id, page);
    } catch (const Error& e) {
      std::memset(page, 0, page_size_);
      *why = e.what();
      state = PageState::kBroken;
    }
  }
  return log_ == nullptr ? state : log_->Apply(id, state, page, why);
}

// Returns how many bytes of the data file are holes. Only a database with compressed pages has any;
// other data files are allocated as a whole.
uint64_t Image::holes() const {
  if (!compressed_) return 0;
  return data_bytes_ - std::min(data_bytes_, pages_->data().AllocatedBytes());
}

void Image::Prefetch(PageId id) { pages_->Prefetch(id); }

NamedBytes Image::OtherFiles() const {
  const uint64_t log = DiskSizeOf(LogPath(dir_), [](const std::string&) { return true; }).log_bytes;
  const uint64_t needed = std::min(log, inspection_->replay ? inspection_->replay->log_bytes : 0);
  return {{"doublewrite file", SizeOf(DoublewritePath(dir_))},
          {"checkpoint files", SizeOf(CheckpointPath(dir_, 0)) + SizeOf(CheckpointPath(dir_, 1))},
          {"log to be replayed", needed},
          {"log that can be used again", log - needed}};
}

}  // namespace testbed::btree
