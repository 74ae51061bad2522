#include "engines/mmapv1/journal/journal.h"

#include <snappy.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "device/error.h"
#include "device/file/directory.h"
#include "device/os/dir_lock.h"
#include "device/os/mutex.h"
#include "device/os/random_id.h"
#include "engines/mmapv1/files/preallocator.h"
#include "engines/mmapv1/journal/journal_format.h"

namespace testbed::mmapv1 {
namespace {

namespace fs = std::filesystem;

// Compression with snappy may lengthen kMostSectionBytes to this size
// (snappy::MaxCompressedLength).
static_assert(32 + kMostSectionBytes + kMostSectionBytes / 6 <= UINT32_MAX);

uint64_t PadUp(uint64_t n) { return (n + kSectionPadding - 1) / kSectionPadding * kSectionPadding; }

// Opens a file of the journal with direct IO, or buffered where the file system has none.
std::unique_ptr<File> OpenJournalFile(const std::string& path, FileOptions::Create create,
                                      bool* direct) {
  FileOptions options;
  options.kind = FileKind::kLog;
  options.create = create;
  options.mode = *direct ? IoMode::kDirect : IoMode::kBuffered;
  try {
    return File::Open(path, options);
  } catch (const Error& error) {
    if (error.kind() != Error::kUsage) throw;
  }
  *direct = false;
  options.mode = IoMode::kBuffered;
  return File::Open(path, options);
}

}  // namespace

bool IsJournalFile(const std::string& path) {
  const std::string name = fs::path(path).filename();
  if (!name.starts_with(kJournalBase)) return false;
  const std::string rest = name.substr(sizeof kJournalBase - 1);
  if (rest == "lsn" || rest == "spare" || rest == "spare.new") return true;
  return !rest.empty() && rest.find_first_not_of("0123456789") == std::string::npos;
}

void RemoveJournal(const std::string& dir) {
  bool any = false;
  for (const std::string& name : NamesIn(dir)) {
    const std::string path = dir + "/" + name;
    if (!IsJournalFile(name) || path == LsnPath(dir)) continue;
    RemoveFile(path);
    any = true;
  }
  if (any) SyncDirectory(dir);
  if (!IsThere(LsnPath(dir))) return;
  RemoveFile(LsnPath(dir));
  SyncDirectory(dir);
}

Journal::Journal(const std::string& dir, const Settings& settings, uint64_t next_seq,
                 uint64_t database)
    : dir_(dir),
      database_(database),
      settings_(settings),
      seq_(next_seq - 1),
      number_(next_seq - 1) {
  flushed_seq_ = seq_;
  // The first file gets the number of its first section, so no older file has that number.
  NextFile();
}

void Journal::Place(const std::string& path) {
  {
    LockGuard lock(mutex_);
    if (std::exchange(spare_, false)) {
      RenameFile(SparePath(dir_), path);
      counts_.files_recycled.fetch_add(1, std::memory_order_relaxed);
      return;
    }
  }
  IoScope scope(PreallocateOp());
  const std::string unfinished = SparePath(dir_) + ".new";
  CheckLockedDirectory(unfinished);
  try {
    const std::unique_ptr<File> file =
        OpenJournalFile(unfinished, FileOptions::kTruncate, &direct_);
    const uint64_t bytes = settings_.journal_file_bytes;
    const bool allocated = !settings_.zero_fill && file->Allocate(0, bytes);
    constexpr uint64_t kChunk = 1 << 20;
    const AlignedBuffer zeros(kChunk);
    std::memset(const_cast<char*>(zeros.data()), 0, kChunk);
    for (uint64_t at = 0; !allocated && at < bytes; at += kChunk) {
      file->Write(at, zeros.data(), std::min(kChunk, bytes - at));
    }
    file->Sync(true);
    counts_.preallocated_bytes.fetch_add(bytes, std::memory_order_relaxed);
  } catch (...) {
    std::error_code ignored;
    fs::remove(unfinished, ignored);
    throw;
  }
  RenameFile(unfinished, path);
}

void Journal::NextFile() {
  const std::string path = JournalPath(dir_, number_ + 1);
  Place(path);
  BeginFile(path, true);
}

void Journal::UseFileAgain() {
  const std::string path = JournalPath(dir_, number_ + 1);
  RenameFile(JournalPath(dir_, number_), path);
  // This makes the new name durable. Otherwise a crash could bring back the old name. The file
  // would then have a header of another number, and replay would report the newest file of
  // journal.lsn as damaged.
  SyncDirectory(dir_);
  counts_.files_recycled.fetch_add(1, std::memory_order_relaxed);
  BeginFile(path, false);
}

void Journal::BeginFile(const std::string& path, bool keeps_last) {
  const uint64_t number = number_ + 1;
  std::unique_ptr<File> file = OpenJournalFile(path, FileOptions::kMustExist, &direct_);
  file_id_ = RandomId();
  AlignedBuffer block(kSectionPadding);
  std::memset(block.data(), 0, kSectionPadding);
  JournalFileHeader header{kJournalMagic, number, file_id_, seq_ + 1, database_, file->Size(), 0};
  header.checksum = ChecksumOf(header);
  std::memcpy(block.data(), &header, sizeof header);
  file->Write(0, block.data(), kSectionPadding);
  counts_.written_bytes.fetch_add(kSectionPadding, std::memory_order_relaxed);
  file->Sync(true);
  SyncDirectory(dir_);
  LockGuard lock(mutex_);
  if (file_ != nullptr && keeps_last) past_.push_back({number_, seq_, ofs_});
  file_ = std::move(file);
  number_ = number;
  ofs_ = kSectionPadding;
  WriteLsn();
}

bool Journal::IsAllFlushed() {
  LockGuard lock(mutex_);
  return flushed_seq_ == seq_;
}

void Journal::NextFileOnFullDisk(const std::function<void()>& flush) {
  flush();
  try {
    NextFile();
  } catch (const Error& error) {
    // A flush frees the files before the one that is written. If there was no such file, the
    // present file is all that the journal has, and the flushed sections in it are not needed any
    // more.
    if (!error.disk_is_full() || !IsAllFlushed()) throw;
    UseFileAgain();
  }
}

void Journal::BuildSection(std::string_view body, uint64_t seq) {
  if (body.size() > kMostSectionBytes) {
    throw Error(Error::kRun, "a section of the journal in " + dir_ + " would have " +
                                 std::to_string(body.size()) + " bytes, which nobody could read");
  }
  const uint64_t most = PadUp(sizeof(SectionHeader) + snappy::MaxCompressedLength(body.size()) +
                              sizeof(SectionFooter));
  if (section_.size() < most) section_ = AlignedBuffer(most);
  size_t compressed = 0;
  char* const to = section_.data();
  snappy::RawCompress(body.data(), body.size(), to + sizeof(SectionHeader), &compressed);
  const SectionHeader header{kSectionMagic, static_cast<uint32_t>(compressed), body.size(), seq,
                             file_id_};
  std::memcpy(to, &header, sizeof header);
  const uint64_t checked = sizeof header + compressed;
  const SectionFooter footer{XXH3_64bits(to, checked)};
  std::memcpy(to + checked, &footer, sizeof footer);
  section_bytes_ = PadUp(checked + sizeof footer);
  std::memset(to + checked + sizeof footer, 0, section_bytes_ - checked - sizeof footer);
  section_payload_ = checked + sizeof footer;
}

uint64_t Journal::Append(std::string_view body, const std::function<void()>& flush) {
  BuildSection(body, seq_ + 1);
  // A section that is longer than a file gets a file of its own.
  if (ofs_ > kSectionPadding && ofs_ + section_bytes_ > settings_.journal_file_bytes) {
    try {
      NextFile();
    } catch (const Error& error) {
      if (!error.disk_is_full() || !flush) throw;
      NextFileOnFullDisk(flush);
    }
    BuildSection(body, seq_ + 1);  // again, as the header has the new file's id
  }
  file_->Write(ofs_, section_.data(), section_bytes_);
  file_->Sync();
  ofs_ += section_bytes_;
  if (section_.size() > settings_.kept_buffer()) section_ = AlignedBuffer();
  {
    LockGuard lock(mutex_);
    ++seq_;
  }
  counts_.commits.fetch_add(1, std::memory_order_relaxed);
  counts_.raw_bytes.fetch_add(body.size(), std::memory_order_relaxed);
  counts_.payload_bytes.fetch_add(section_payload_, std::memory_order_relaxed);
  counts_.written_bytes.fetch_add(section_bytes_, std::memory_order_relaxed);
  return seq_;
}

// Writes a slot of journal.lsn. The file stays open, so that no slot counts as durable after one
// sync has failed (File::Sync): the slot of that sync may be lost for good.
void Journal::WriteLsn() {
  if (lsn_file_ == nullptr) {
    FileOptions options;
    options.kind = FileKind::kLog;
    options.create = FileOptions::kMayExist;
    lsn_file_ = File::Open(LsnPath(dir_), options);
    // Recovery rewrites one of the slots, and must not need space for that.
    lsn_file_->Allocate(0, 2 * kLsnSlotBytes);
  }
  LsnSlot slot{kLsnMagic, flushed_seq_, number_, 0};
  slot.checksum = ChecksumOf(slot);
  lsn_file_->Write(lsn_writes_ % 2 * kLsnSlotBytes, &slot, sizeof slot);
  lsn_file_->Sync();
  if (lsn_writes_ == 0) SyncDirectory(dir_);
  ++lsn_writes_;
}

void Journal::Flushed(uint64_t seq, uint64_t written) {
  LockGuard lock(mutex_);
  flushed_seq_ = seq;
  WriteLsn();
  flushed_.store(written, std::memory_order_release);
  while (!past_.empty() && past_.front().last_seq <= seq) {
    const std::string path = JournalPath(dir_, past_.front().number);
    // A file that is longer than the setting is removed and not recycled.
    if (!spare_ && past_.front().bytes <= settings_.journal_file_bytes) {
      RenameFile(path, SparePath(dir_));
      spare_ = true;
    } else {
      RemoveFile(path);
    }
    past_.erase(past_.begin());
  }
}

void Journal::Remove() {
  file_.reset();
  RemoveJournal(dir_);
}

}  // namespace testbed::mmapv1
