#include "engines/btree/page_file.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "device/error.h"

namespace testbed::btree {
namespace {

constexpr uint64_t kMagic = 0x3164776272747462;  // "bttrbwd1"
constexpr uint32_t kBatchBytes = 1 << 20;

struct DoublewriteHeader {
  uint64_t checksum;  // of the rest of the page
  uint64_t magic;
  uint32_t page_size;
  uint32_t count;
  // and `count` page ids
};

uint64_t HeaderChecksum(const char* page, uint32_t page_size) {
  return XXH3_64bits(page + sizeof(uint64_t), page_size - sizeof(uint64_t));
}

}  // namespace

const char* TornPageName(TornPage torn_page) {
  static constexpr const char* kNames[] = {"doublewrite", "full_page_image", "atomic", "none"};
  return kNames[static_cast<size_t>(torn_page)];
}

WriteBatch::WriteBatch(uint32_t page_size, uint32_t max_pages)
    : page_size_(page_size), max_pages_(max_pages), buffer_((max_pages + 1ull) * page_size) {}

uint32_t WriteBatch::PagesFor(uint32_t page_size) { return kBatchBytes / page_size; }

void WriteBatch::Add(const char* page) {
  char* copy = buffer_.data() + (count_ + 1ull) * page_size_;
  std::memcpy(copy, page, page_size_);
  StampPage(copy, page_size_);
  ++count_;
}

Lsn WriteBatch::MaxLsn() const {
  Lsn lsn = 0;
  for (uint32_t i = 0; i < count_; ++i) lsn = std::max(lsn, Header(page(i))->lsn);
  return lsn;
}

PageFile::PageFile(std::unique_ptr<File> data, std::unique_ptr<File> doublewrite,
                   uint32_t page_size, bool atomic)
    : data_(std::move(data)),
      doublewrite_(std::move(doublewrite)),
      page_size_(page_size),
      atomic_(atomic) {}

void PageFile::StopDoublewrite() {
  std::lock_guard lock(mutex_);
  data_->Sync();
  unsynced_ = false;
  doublewrite_->Truncate(0);
  doublewrite_->Sync(true);
  doublewrite_.reset();
}

PageState PageFile::Inspect(PageId id, char* page) {
  const size_t got = data_->ReadSome(static_cast<uint64_t>(id) * page_size_, page, page_size_);
  if (got < page_size_) std::memset(page + got, 0, page_size_ - got);
  return InspectPage(page, page_size_, id);
}

Error PageFile::Broken(PageId id) const {
  return Error(Error::kCorruption, "page " + std::to_string(id) + " of file " + data_->path() +
                                       ": its checksum does not match; restore the database from "
                                       "a copy, or load it again");
}

void PageFile::Check(PageId id, const char* page) const {
  const PageHeader* header = Header(page);
  if (header->checksum != PageChecksum(page, page_size_, id) || header->id != id) {
    throw Broken(id);
  }
}

void PageFile::Read(PageId id, char* page) {
  data_->Read(static_cast<uint64_t>(id) * page_size_, page, page_size_);
  Check(id, page);
}

void PageFile::StartRead(ReadRing* ring, PageId id, char* page, uint64_t tag) {
  ring->Start(*data_, static_cast<uint64_t>(id) * page_size_, page, page_size_, tag);
}

void PageFile::FinishRead(PageId id, const char* page, int32_t result) {
  if (result < 0) throw Error::Io("read", data_->path(), -result);
  if (static_cast<uint32_t>(result) < page_size_) {
    throw Error(Error::kCorruption, "file " + data_->path() + " ends within page " +
                                        std::to_string(id) +
                                        "; restore the database from a copy, or load it again");
  }
  Check(id, page);
}

const char* PageFile::View(PageId id, bool check) {
  const char* page = data_->View(static_cast<uint64_t>(id) * page_size_, page_size_).data();
  if (check) Check(id, page);
  return page;
}

void PageFile::Write(WriteBatch* batch) {
  const uint32_t n = batch->count();
  if (n == 0) return;
  std::lock_guard lock(mutex_);
  if (doublewrite_ != nullptr) {
    if (unsynced_) data_->Sync();
    unsynced_ = false;
    char* page = batch->buffer_.data();
    std::memset(page, 0, page_size_);
    auto* header = reinterpret_cast<DoublewriteHeader*>(page);
    header->magic = kMagic;
    header->page_size = page_size_;
    header->count = n;
    for (uint32_t i = 0; i < n; ++i) {
      const PageId id = batch->id(i);
      std::memcpy(page + sizeof *header + i * sizeof id, &id, sizeof id);
    }
    header->checksum = HeaderChecksum(page, page_size_);
    const uint64_t bytes = (n + 1ull) * page_size_;
    doublewrite_->Write(0, page, bytes);
    doublewrite_->Sync();
    doublewrite_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  }
  unsynced_ = true;
  for (uint32_t i = 0; i < n;) {
    uint32_t end = i + 1;  // neighbours go with one call
    while (!atomic_ && end < n && batch->id(end) == batch->id(i) + (end - i)) ++end;
    const uint64_t at = static_cast<uint64_t>(batch->id(i)) * page_size_;
    const size_t bytes = static_cast<size_t>(end - i) * page_size_;
    atomic_ ? data_->WriteAtomic(at, batch->page(i), bytes)
            : data_->Write(at, batch->page(i), bytes);
    i = end;
  }
  pages_written_.fetch_add(n, std::memory_order_relaxed);
}

void PageFile::Sync() {
  std::lock_guard lock(mutex_);
  data_->Sync();
  unsynced_ = false;
}

void PageFile::Grow(uint32_t pages) {
  const uint64_t size = data_->Size();
  const uint64_t wanted = static_cast<uint64_t>(pages) * page_size_;
  if (wanted <= size) return;
  data_->Allocate(size, wanted - size);
  if (data_->Size() < wanted) data_->Truncate(wanted);  // no fallocate(2) here
}

void PageFile::FindTorn(const std::function<void(PageId id, const char* copy)>& use) {
  if (doublewrite_ == nullptr) return;
  AlignedBuffer first(page_size_), copy(page_size_), current(page_size_);
  if (doublewrite_->ReadSome(0, first.data(), page_size_) < page_size_) return;
  const auto* header = reinterpret_cast<const DoublewriteHeader*>(first.data());
  // A header that is not whole: that batch never went to its places.
  if (header->checksum != HeaderChecksum(first.data(), page_size_) || header->magic != kMagic ||
      header->page_size != page_size_ ||
      header->count > (page_size_ - sizeof *header) / sizeof(PageId)) {
    return;
  }
  for (uint32_t i = 0; i < header->count; ++i) {
    PageId id;
    std::memcpy(&id, first.data() + sizeof *header + i * sizeof id, sizeof id);
    const uint64_t at = (i + 1ull) * page_size_;
    if (doublewrite_->ReadSome(at, copy.data(), page_size_) < page_size_) continue;
    if (InspectPage(copy.data(), page_size_, id) != PageState::kValid) continue;
    if (Inspect(id, current.data()) != PageState::kValid) use(id, copy.data());
  }
}

uint32_t PageFile::RestoreTorn() {
  uint32_t restored = 0;
  FindTorn([&](PageId id, const char* copy) {
    data_->Write(static_cast<uint64_t>(id) * page_size_, copy, page_size_);
    ++restored;
  });
  if (restored > 0) data_->Sync();
  return restored;
}

}  // namespace testbed::btree
