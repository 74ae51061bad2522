#include "engines/btree/pool/page_file.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "device/error.h"

namespace testbed::btree {
namespace {

constexpr uint64_t kMagic = 0x3364776272747462;  // "bttrbwd3"

struct DoublewriteHeader {
  uint64_t checksum;  // checksum of the rest of the header's 4096 bytes
  uint64_t magic;
  uint32_t page_size;
  uint32_t count;
  // `count` records of type DoublewriteCopy follow the header.
};
struct DoublewriteCopy {
  PageId id;
  PackedPage packed;
};
constexpr size_t kMaxCopies =
    (WriteBatch::kHeaderBytes - sizeof(DoublewriteHeader)) / sizeof(DoublewriteCopy);
static_assert(WriteBatch::PagesFor(kMinPageSize) <= kMaxCopies);

uint64_t HeaderChecksum(const char* header) {
  return XXH3_64bits(header + sizeof(uint64_t), WriteBatch::kHeaderBytes - sizeof(uint64_t));
}

}  // namespace

const char* TornPageName(TornPage torn_page) {
  static constexpr const char* kNames[] = {"doublewrite", "full_page_image", "atomic", "none"};
  return kNames[static_cast<size_t>(torn_page)];
}

PageFile::PageFile(std::unique_ptr<File> data, std::unique_ptr<File> doublewrite,
                   uint32_t page_size, const PageFileOptions& options)
    : data_(std::move(data)),
      doublewrite_(std::move(doublewrite)),
      page_size_(page_size),
      options_(options),
      pages_at_open_(static_cast<PageId>((data_->Size() + page_size - 1) / page_size)) {
  if (data_->options().mode != IoMode::kDirect) {
    write_back_ = std::make_unique<WriteBackWatch>(data_->path(), FileKind::kData);
  }
  if (!options_.compressed) return;
  units_ = std::make_unique<Units>(kMaxPages);
  if (options_.compressed_cache_bytes > 0) {
    compressed_cache_ = std::make_unique<CompressedCache>(options_.compressed_cache_bytes);
  }
}

// Runs the action, and treats its error by the rule in the header. If `lasts_when_full` is set, the
// error of a full disk lasts like any other.
template <typename Action>
void PageFile::OrFail(const Action& action, bool lasts_when_full) {
  if (failed_) throw Error(*failed_);
  try {
    action();
  } catch (const Error& error) {
    const bool lasts = lasts_when_full || !error.disk_is_full();
    if (lasts) failed_ = error;
    if (on_error_) on_error_(error, lasts);
    throw;
  }
}

// Runs an action by which Space grows or shrinks the file. Other threads may be writing a batch, so
// this takes the file's lock only when there is an error.
template <typename Action>
void PageFile::ResizeOrFail(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    if (error.disk_is_full()) throw;  // nothing was written, and the same call may succeed later
    LockGuard lock(mutex_);
    OrFail([&error] { throw Error(error); });
  }
}

void PageFile::SyncData(bool lasts_when_full) {
  OrFail([this] { data_->Sync(); }, lasts_when_full);
  recent_writes_.Clear();
  written_.Synced();
  unsynced_ = false;
  unsynced_bytes_ = 0;
}

// Syncs the file if `bytes` more unsynced bytes would exceed the limit: recovery keeps the torn
// ones among unsynced pages in memory. The pages written before are clean in the pool and have no
// copies, so no error of this sync may be passed over.
void PageFile::BoundUnsynced(uint64_t bytes) {
  if (!options_.images_in_log || doublewrite_ != nullptr) return;
  if (unsynced_bytes_ != 0 && unsynced_bytes_ + bytes > options_.most_unsynced_bytes) {
    SyncData(true);
  }
  unsynced_bytes_ += bytes;
}

std::vector<WitnessPage> PageFile::TakeWitnesses() {
  LockGuard lock(mutex_);
  return written_.TakeSynced();
}

void PageFile::StopDoublewrite() {
  LockGuard lock(mutex_);
  FinishLastBatch();
  SyncData();
  OrFail([this] {
    doublewrite_->Truncate(0);
    doublewrite_->Sync(true);
  });
  doublewrite_.reset();
}

void PageFile::Retry() {
  LockGuard lock(mutex_);
  if (failed_) throw Error(*failed_);
  FinishLastBatch();
}

// Writes the copy of a page from the doublewrite file to the page's place. The batch of the copy
// may have been cut off before it made its holes (PunchBehind), so this makes a hole behind the
// page.
void PageFile::PutBack(PageId id, const char* copy) {
  const uint32_t bytes = StoredBytes(copy, page_size_);
  data_->Write(Place(id), copy, bytes);
  try {
    if (bytes < page_size_) data_->Punch(Place(id) + bytes, page_size_ - bytes);
  } catch (const Error& error) {
    // A file system may need space to make a hole. The page is whole without the hole.
    if (!error.disk_is_full()) throw;
  }
  // A known length may be that of a shorter version. It is never lowered here, because a read of a
  // longer version may be in flight.
  if (bytes > BytesToRead(id)) NoteLength(id, bytes);
}

// Puts the last batch in place if the disk was full in the middle of it. Nothing was written since
// then, so its copies are the newest versions of its pages.
void PageFile::FinishLastBatch() {
  if (!half_written_) return;
  OrFail([this] {
    const bool all = ForEachCopy([this](PageId id, const char* copy) {
      recent_writes_.Note(id);
      PutBack(id, copy);
    });
    // The next batch would overwrite the copies, although a copy may be the only whole version of
    // its page.
    if (!all) {
      throw Error(Error::kCorruption, "a page in the doublewrite file " + doublewrite_->path() +
                                          " cannot be read, and its place in " + data_->path() +
                                          " may be torn; open the database again");
    }
  });
  half_written_ = false;
  uses_copies_.store(false, std::memory_order_release);
}

// Copies the page from its kept copy. Returns false when there is none. The copy is never too old:
// once a page is written anew, the pool has it and does not read it from here.
bool PageFile::TakeCopy(PageId id, char* page) const {
  if (!uses_copies_.load(std::memory_order_acquire)) return false;
  const auto copy = copies_.find(id);
  if (copy == copies_.end()) return false;
  std::memcpy(page, copy->second.data(), page_size_);
  return true;
}

void PageFile::KeepCopies(Copies copies) {
  if (copies.empty()) return;
  copies_ = std::move(copies);
  half_written_ = unsynced_ = true;
  uses_copies_.store(true, std::memory_order_release);
}

// Allocates the space of the batch before the batch is written, if neither the doublewrite file nor
// the log has copies of the pages. Otherwise a full disk could tear a page that cannot be restored.
void PageFile::TakeSpace(const WriteBatch& batch) {
  if (units_ == nullptr || doublewrite_ != nullptr || options_.images_in_log) return;
  for (uint32_t i = 0; i < batch.count(); ++i) {
    const uint32_t bytes = batch.stored_bytes(i);
    const uint8_t units = (*units_)[batch.id(i)].load(std::memory_order_relaxed);
    if (bytes > units * kStoredUnit) data_->Allocate(Place(batch.id(i)), bytes);
  }
}

void PageFile::WriteCopies(WriteBatch* batch) {
  if (unsynced_) SyncData();
  const size_t bytes = batch->Pack();
  char* first = batch->header();
  auto* header = reinterpret_cast<DoublewriteHeader*>(first);
  header->magic = kMagic;
  header->page_size = page_size_;
  header->count = batch->count();
  for (uint32_t i = 0; i < batch->count(); ++i) {
    const DoublewriteCopy copy{batch->id(i), batch->packed(i)};
    std::memcpy(first + sizeof *header + i * sizeof copy, &copy, sizeof copy);
  }
  header->checksum = HeaderChecksum(first);
  OrFail([&] { doublewrite_->Write(0, first, bytes); });
  OrFail([this] { doublewrite_->Sync(); });
  doublewrite_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  batch->LayOut();
}

void PageFile::WriteInPlace(const WriteBatch& batch) {
  for (uint32_t i = 0; i < batch.count();) {
    uint32_t end = i + 1;  // pages [i, end) are neighbours and are written with one call
    size_t bytes = batch.stored_bytes(i);
    while (!options_.atomic && end < batch.count() && batch.id(end) == batch.id(i) + (end - i) &&
           batch.stored_bytes(end - 1) == page_size_) {
      bytes += batch.stored_bytes(end++);
    }
    options_.atomic ? data_->WriteAtomic(Place(batch.id(i)), batch.page(i), bytes)
                    : data_->Write(Place(batch.id(i)), batch.page(i), bytes);
    bytes_written_.fetch_add(bytes, std::memory_order_relaxed);
    for (; i < end; ++i) recent_writes_.Note(batch.id(i));
  }
  pages_written_.fetch_add(batch.count(), std::memory_order_relaxed);
}

// Makes a hole behind a page that was just written with `bytes` bytes, if it was longer before.
void PageFile::PunchBehind(PageId id, uint32_t bytes) {
  const uint8_t units = (*units_)[id].load(std::memory_order_relaxed);
  const uint32_t before = units > 0 ? units * kStoredUnit : id < pages_at_open_ ? page_size_ : 0;
  if (bytes < before) data_->Punch(Place(id) + bytes, before - bytes);
  NoteLength(id, bytes);
}

void PageFile::Write(WriteBatch* batch) {
  if (batch->count() == 0) return;
  LastPages used;
  for (uint32_t i = 0; i < batch->count(); ++i) {
    const PageHeader* header = Header(batch->page(i));
    if (header->type != PageType::kFree) used.Add({batch->id(i), header->lsn});
  }
  if (options_.codec != PageCodec::kNone) batch->Compress(options_.codec);
  LockGuard lock(mutex_);
  FinishLastBatch();
  BoundUnsynced(uint64_t{batch->count()} * page_size_);
  if (doublewrite_ != nullptr) WriteCopies(batch);
  unsynced_ = true;
  half_written_ = doublewrite_ != nullptr;
  OrFail([&] {
    TakeSpace(*batch);
    WriteInPlace(*batch);
  });
  half_written_ = false;
  written_.Note(used);
  if (units_ == nullptr) return;
  OrFail([&] {
    for (uint32_t i = 0; i < batch->count(); ++i) PunchBehind(batch->id(i), batch->stored_bytes(i));
  });
  if (compressed_cache_ == nullptr) return;
  for (uint32_t i = 0; i < batch->count(); ++i) {
    const PageId id = batch->id(i);
    const char* page = batch->page(i);
    if (IsCompressed(page)) {
      compressed_cache_->Replace(id, {page, CompressedBytes(page, page_size_)});
    } else {
      compressed_cache_->Erase(id);
    }
  }
}

void PageFile::Sync() {
  LockGuard lock(mutex_);
  try {
    FinishLastBatch();
  } catch (const Error& error) {
    if (!error.disk_is_full()) throw;
  }
  SyncData();
  unsynced_ = half_written_;  // FinishLastBatch may still have to write
}

void PageFile::Grow(uint32_t pages) {
  const uint64_t size = data_->Size();
  const uint64_t wanted = static_cast<uint64_t>(pages) * page_size_;
  if (wanted <= size) return;
  ResizeOrFail([&] {
    // Writes allocate the space of a compressed file, so that its holes take none.
    if (!options_.compressed) data_->Allocate(size, wanted - size);
    if (data_->Size() < wanted) data_->Truncate(wanted);  // when there is no fallocate(2)
  });
}

void PageFile::CutPartialPage() {
  const uint64_t size = data_->Size();
  if (size % page_size_ != 0) data_->Truncate(size - size % page_size_);
}

void PageFile::Shrink(uint32_t pages) {
  ResizeOrFail([&] { data_->Truncate(static_cast<uint64_t>(pages) * page_size_); });
}

bool PageFile::ForEachCopy(const std::function<void(PageId id, const char* copy)>& use) {
  if (doublewrite_ == nullptr) return true;
  constexpr size_t kHeader = WriteBatch::kHeaderBytes;
  AlignedBuffer first(kHeader), copy(page_size_);
  if (doublewrite_->ReadSome(0, first.data(), kHeader) < kHeader) return false;
  const auto* header = reinterpret_cast<const DoublewriteHeader*>(first.data());
  // If the header is damaged, its batch was not durable in the doublewrite file, and so none of its
  // pages was written in place.
  if (header->checksum != HeaderChecksum(first.data()) || header->magic != kMagic ||
      header->page_size != page_size_ || header->count > kMaxCopies) {
    return false;
  }
  uint64_t at = kHeader;
  bool all = true;
  for (uint32_t i = 0; i < header->count; ++i) {
    DoublewriteCopy entry;
    std::memcpy(&entry, first.data() + sizeof *header + i * sizeof entry, sizeof entry);
    const PackedPage packed = entry.packed;
    if (packed.front > page_size_ || packed.back > page_size_ - packed.front) return false;
    const size_t got = doublewrite_->ReadSome(at, copy.data(), packed.bytes());
    at += packed.bytes();
    bool whole = got == packed.bytes();
    if (whole) {
      UnpackPage(packed, copy.data(), page_size_);
      whole = InspectPage(copy.data(), page_size_, entry.id) == PageState::kValid;
    }
    if (whole) use(entry.id, copy.data());
    all = all && whole;
  }
  return all;
}

}  // namespace testbed::btree
