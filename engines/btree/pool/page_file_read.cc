// This file has the reading half of a PageFile: how pages are read and checked, and how an opening
// finds torn ones and restores them.
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "device/account/ledger.h"
#include "device/error.h"
#include "device/file/file_faults.h"
#include "engines/btree/pool/page_file.h"

namespace testbed::btree {

void PageFile::CheckWriteBack(PageId id) {
  if (recent_writes_.Has(id) && write_back_ != nullptr) write_back_->Check();
}

PageState PageFile::Inspect(PageId id, char* page) {
  const size_t got = data_->ReadSome(Place(id), page, page_size_);
  CheckWriteBack(id);
  if (got < page_size_) std::memset(page + got, 0, page_size_ - got);
  TakeCopy(id, page);
  PageState state = InspectPage(page, page_size_, id);
  if (state != PageState::kValid && ReadFinished(id, page)) {
    state = InspectPage(page, page_size_, id);
  }
  if (state != PageState::kValid || !IsCompressed(page)) return state;
  return ExpandPage(page, page_size_) ? state : PageState::kBroken;
}

std::optional<OlderPage> PageFile::FindOlder(const std::vector<WitnessPage>& witnesses) {
  std::optional<OlderPage> older;
  AlignedBuffer page(page_size_);
  for (const WitnessPage& witness : witnesses) {
    try {
      if (Inspect(witness.id, page.data()) == PageState::kBroken) continue;
    } catch (const Error&) {
      continue;  // the next read of the page reports the error
    }
    // A blank page has LSN 0: the old copy is from before the page's first write.
    const Lsn found = Header(page.data())->lsn;
    if (found >= witness.lsn) return std::nullopt;
    if (!older) older = {witness.id, witness.lsn, found};
  }
  return older;
}

Error PageFile::Broken(PageId id) const {
  return Error(Error::kCorruption, "page " + std::to_string(id) + " of file " + data_->path() +
                                       ": its checksum does not match; restore the database from "
                                       "a copy, or load it again");
}

void PageFile::Check(PageId id, const char* page) const {
  if (!Matches(id, page)) throw Broken(id);
}

bool PageFile::Matches(PageId id, const char* page) const {
  const PageHeader* header = Header(page);
  return header->checksum == PageChecksum(page, page_size_, id) && header->id == id;
}

bool PageFile::ReadFinished(PageId id, char* page) {
  if (!copies_.contains(id)) return false;
  const size_t got = data_->ReadSome(Place(id), page, page_size_);
  std::memset(page + got, 0, page_size_ - got);
  TakeCopy(id, page);  // the copy is the page until FinishLastBatch has put it in place
  return true;
}

uint32_t PageFile::BytesToRead(PageId id) const {
  const uint8_t units = units_ != nullptr ? (*units_)[id].load(std::memory_order_relaxed) : 0;
  return units == 0 ? page_size_ : units * kStoredUnit;
}

void PageFile::NoteLength(PageId id, uint32_t bytes) {
  if (units_ == nullptr) return;
  (*units_)[id].store(static_cast<uint8_t>(bytes / kStoredUnit), std::memory_order_relaxed);
}

void PageFile::Accept(PageId id, char* page, uint32_t got) {
  CheckWriteBack(id);
  if (TakeCopy(id, page)) got = page_size_;
  uint32_t stored = StoredBytes(page, page_size_);
  if (stored > got || !Matches(id, page)) {
    if (!ReadFinished(id, page) || !Matches(id, page)) throw Broken(id);
    stored = StoredBytes(page, page_size_);
    got = page_size_;
  }
  NoteLength(id, stored);
  if (got < page_size_) bytes_skipped_.fetch_add(page_size_ - got, std::memory_order_relaxed);
  if (!IsCompressed(page)) return;
  if (compressed_cache_ != nullptr) {
    compressed_cache_->Put(id, {page, CompressedBytes(page, page_size_)});
  }
  if (!ExpandPage(page, page_size_)) throw Broken(id);
}

void PageFile::Read(PageId id, char* page) {
  const uint32_t bytes = BytesToRead(id);
  data_->Read(Place(id), page, bytes);
  Accept(id, page, bytes);
}

// No batch is written meanwhile. One that a full disk has cut off is put in place before.
void PageFile::ReadStored(PageId first, uint32_t pages, char* bytes) {
  const size_t size = size_t{pages} * page_size_;
  LockGuard lock(mutex_);
  FinishLastBatch();
  const size_t got = data_->ReadSome(Place(first), bytes, size);
  std::memset(bytes + got, 0, size - got);
}

void PageFile::StartRead(ReadRing* ring, PageId id, char* page, uint64_t tag) {
  ring->Start(*data_, Place(id), page, BytesToRead(id), tag);
}

void PageFile::FinishRead(PageId id, char* page, int32_t result) {
  const bool interrupted = result == -EINTR || result == -EAGAIN;
  if (result < 0 && !interrupted) throw Error::Io("read", data_->path(), -result);
  const uint32_t bytes = BytesToRead(id);
  const uint32_t got = interrupted ? 0 : static_cast<uint32_t>(result);
  if (got < bytes) ReadRest(id, page, got, bytes);
  Accept(id, page, bytes);
}

// Reads what a started read has left out. The ledger counted the read with all of its bytes when it
// was started, so this calls pread(2) itself: File would count them again.
void PageFile::ReadRest(PageId id, char* page, uint32_t got, uint32_t bytes) {
  const CallMark mark(data_->options().kind);
  if (const int fault = FileFaults::Next(false)) throw Error::Io("read", data_->path(), fault);
  const auto aligned = [this](uint32_t n) {
    return n - n % static_cast<uint32_t>(data_->alignment());
  };
  for (got = aligned(got); got < bytes;) {
    const ssize_t n =
        ::pread(data_->fd(), page + got, bytes - got, static_cast<off_t>(Place(id) + got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw Error::Io("read", data_->path(), errno);
    const uint32_t end = got + static_cast<uint32_t>(n);
    if (const uint32_t next = end == bytes ? bytes : aligned(end); next > got) {
      got = next;
      continue;
    }
    if (Place(id) + bytes > data_->Size()) {
      throw Error(Error::kCorruption, "file " + data_->path() + " ends within page " +
                                          std::to_string(id) +
                                          "; restore the database from a copy, or load it again");
    }
    // The file is long enough, but the system returns no bytes.
    throw Error::Io("read", data_->path(), EIO);
  }
}

bool PageFile::ReadCached(PageId id, char* page) {
  if (compressed_cache_ == nullptr || !compressed_cache_->Get(id, page)) return false;
  if (!ExpandPage(page, page_size_)) throw Broken(id);
  return true;
}

const char* PageFile::View(PageId id, bool check) {
  const char* page = data_->View(Place(id), page_size_).data();
  if (check) Check(id, page);
  return page;
}

void PageFile::FindTorn(const std::function<void(PageId id, const char* copy)>& use) {
  AlignedBuffer current(page_size_);
  const uint64_t size = data_->Size();
  ForEachCopy([&](PageId id, const char* copy) {
    if (Place(id) >= size) return;
    if (Inspect(id, current.data()) != PageState::kValid) use(id, copy);
  });
}

uint32_t PageFile::RestoreTorn(Copies* kept) {
  uint32_t torn = 0, written = 0;
  AlignedBuffer current(page_size_);
  const uint64_t size = data_->Size();  // before the first copy makes the file longer
  ForEachCopy([&](PageId id, const char* copy) {
    if (Place(id) >= size) return;
    const bool whole = Inspect(id, current.data()) == PageState::kValid;
    // A valid page with another checksum than its copy was not overwritten by this batch yet.
    PageHeader stored{};
    data_->ReadSome(Place(id), &stored, sizeof stored);
    if (whole && stored.checksum != Header(copy)->checksum) return;
    try {
      PutBack(id, copy);
    } catch (const Error& e) {
      if (kept == nullptr || !e.disk_is_full()) throw;
      kept->emplace(id, std::string(copy, page_size_));
    }
    ++written;
    if (!whole) ++torn;
  });
  if (written > 0) data_->Sync();
  return torn;
}

}  // namespace testbed::btree
