// The data file and its torn-page protection.
//
// Pages are read one at a time, each with one call, and checked. They are written in batches:
// first the batch goes to the doublewrite file, one sequential write, and is made durable there;
// then each page is written in its place; only when these are durable too may the next batch
// overwrite the doublewrite file. So whenever the machine stops, each page is whole in its place or
// whole in the doublewrite file (the scheme of InnoDB's doublewrite buffer).
//
//   doublewrite file: byte 0     header: magic, page size, number of pages, of each how its copy is
//                                packed, checksum
//                     byte 4096  the copies one behind the other (packed_page.h)
//
// Of a compressed database (page_codec.h) pages are written and read without the holes behind them:
// how long a page is, is known from the first time on that it is read or written. A cache of
// compressed pages (compressed_cache.h) may stand before the file.
//
// Reads may come from any thread; one batch is written at a time.
//
// A read of a page that was written since the last sync asks whether the system has failed to write
// pages back (write_back_watch.h), and then throws. A view of such a page is not taken, because its
// caller could not ask afterwards.
//
// Errors. A call that writes, syncs, grows, shrinks or makes holes and fails is not tried again, but
// for one that found the disk full: after a failed sync nobody knows what the device holds, and the
// next one would say that all is well. From then on every Write and Sync throws the first error
// again, so nothing overwrites the copies in the doublewrite file, from which the next opening makes
// the data file whole. A batch that found the disk full in the middle is put in place from its
// copies before anything else is written; until there is room for that, Write throws, and Sync makes
// durable what was written before that batch.
#ifndef TESTBED_ENGINES_BTREE_POOL_PAGE_FILE_H_
#define TESTBED_ENGINES_BTREE_POOL_PAGE_FILE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "device/error.h"
#include "device/file/file.h"
#include "device/file/read_ring.h"
#include "device/file/write_back_watch.h"
#include "device/os/mutex.h"
#include "engines/btree/page/meta.h"
#include "engines/btree/page/page_codec.h"
#include "engines/btree/page/written_pages.h"
#include "engines/btree/pool/compressed_cache.h"
#include "engines/btree/pool/recent_writes.h"
#include "engines/btree/pool/reserved_array.h"
#include "engines/btree/pool/write_batch.h"

namespace testbed::btree {

// How a page that was only half written when the machine stopped is made whole again.
enum class TornPage : uint8_t {
  kDoublewrite,    // from the doublewrite file
  kFullPageImage,  // from the log: each page goes there whole before it is first written after a
                   // checkpoint (Pool::SetImageFloor)
  kAtomic,         // it cannot happen: the device writes a page as a whole, or not (RWF_ATOMIC)
  kNone,           // not at all: it is detected by its checksum
};
const char* TornPageName(TornPage torn_page);  // "doublewrite", "full_page_image", ...

struct PageFileOptions {
  // Each page is written by a call of its own that the device does as a whole; the file must be
  // able to.
  bool atomic = false;
  bool compressed = false;             // the file has compressed pages, or may get some
  bool images_in_log = false;          // the log has each page whole that is not whole in its place
  PageCodec codec = PageCodec::kNone;  // of pages written from now on; another needs `compressed`
  uint64_t compressed_cache_bytes = 0;
};

// A page whose version in the file is older than a checkpoint knows it (PageFile::FindOlder).
struct OlderPage {
  PageId id;
  Lsn known, found;
};

class PageFile {
 public:
  // `doublewrite` may be null: then a torn page is detected, not repaired.
  PageFile(std::unique_ptr<File> data, std::unique_ptr<File> doublewrite, uint32_t page_size,
           const PageFileOptions& options = {});

  // Reads and inspects; never throws for what the page holds. Space past the end reads as blank.
  PageState Inspect(PageId id, char* page);
  // Reads a page that must be valid; throws Error (kCorruption) naming it when it is not.
  void Read(PageId id, char* page);
  // The same in two steps, other work in between: starts the read, and checks what came of it. A
  // read that ended early or was interrupted is completed.
  void StartRead(ReadRing* ring, PageId id, char* page, uint64_t tag);
  void FinishRead(PageId id, char* page, int32_t result);
  // The page from the cache of compressed ones; false when it is not there.
  bool ReadCached(PageId id, char* page);
  // The page will be read soon.
  void Prefetch(PageId id) { data_->Prefetch(static_cast<uint64_t>(id) * page_size_, page_size_); }
  // The page in place (mmap mode). `check` makes sure that it is valid.
  const char* View(PageId id, bool check);
  // Is what the system holds of the page perhaps not on the device?
  bool WrittenSinceSync(PageId id) const { return recent_writes_.Has(id); }

  // Called with each error of Write and Sync, and with those of Grow and Shrink that last, and with
  // whether it lasts, under the file's lock. To be set before other threads use the file.
  using OnError = std::function<void(const Error& error, bool lasts)>;
  void SetOnError(OnError on_error) { on_error_ = std::move(on_error); }
  // Writes the last batch in place after an error of a full device. Throws when that fails again.
  void Retry();

  // What was written is durable in its place, and the doublewrite file is empty and used no more.
  void StopDoublewrite();

  // Writes the batch in place. Not durable before Sync; the doublewrite area makes it safe.
  void Write(WriteBatch* batch);
  // Each page of a batch that was written is durable: in its place or, if the disk was full in the
  // middle of the last batch, perhaps in the doublewrite file.
  void Sync();
  void Grow(uint32_t pages);
  // Cuts off a part of a page that a crash left at the end of the file, behind all pages in use.
  void CutPartialPage();
  // Gives the space behind so many pages back; nobody has used a page there.
  void Shrink(uint32_t pages);

  // Calls `use` for each page of the last batch that is not whole in its place, with its whole copy
  // from the doublewrite file as it is stored, which is valid during the call. Writes nothing.
  void FindTorn(const std::function<void(PageId id, const char* copy)>& use);
  // Puts these copies back, and those of pages that were written last: if it was their sync that
  // failed, they are whole in the page cache alone. Returns how many pages were torn.
  //
  // A compressed page may need space in its place that a full device has not got. With `kept`, such
  // copies are returned instead of an error; KeepCopies gives them to the file that is used from then
  // on, which reads those pages from them, and puts them back before it writes another batch.
  using Copies = std::unordered_map<PageId, std::string>;
  uint32_t RestoreTorn(Copies* kept = nullptr);
  // Must be called before other threads use the file.
  void KeepCopies(Copies copies) NO_THREAD_SAFETY_ANALYSIS;

  Error Broken(PageId id) const;
  // Returns whether several reads may be in flight at once. They may not with a mapping, and not
  // where pages are not aligned to the device.
  bool can_start_reads() const { return !mmap() && page_size_ % data_->alignment() == 0; }
  const File& data() const { return *data_; }
  uint32_t page_size() const { return page_size_; }
  bool mmap() const { return data_->options().mode == IoMode::kMmap; }
  // What the data file takes: its length, of a compressed one without its holes.
  uint64_t data_bytes() const {
    return options_.compressed ? data_->AllocatedBytes() : data_->Size();
  }
  // Safe beside StopDoublewrite only before other threads use the file.
  uint64_t doublewrite_size() const { return doublewrite_ ? doublewrite_->Size() : 0; }

  // Returns the pages that were written last and are durable (SetWitnesses); none when no page was
  // written since the last call.
  std::vector<WitnessPage> TakeWitnesses();
  // Returns a witness page that the file has in an older version, when it has each witness page that is
  // not torn in an older version. A crash cannot leave that: the file is an old copy.
  std::optional<OlderPage> FindOlder(const std::vector<WitnessPage>& witnesses);

  uint64_t pages_written() const { return pages_written_.load(std::memory_order_relaxed); }
  uint64_t bytes_written() const { return bytes_written_.load(std::memory_order_relaxed); }
  // Returns how many bytes were not read because they were known to be holes of their pages.
  uint64_t bytes_skipped() const { return bytes_skipped_.load(std::memory_order_relaxed); }
  CompressedCache* compressed_cache() { return compressed_cache_.get(); }  // may be null
  // Memory for knowing where the holes of so many pages are.
  uint64_t TableBytes(uint64_t pages) const { return units_ != nullptr ? pages : 0; }
  uint64_t doublewrite_bytes() const { return doublewrite_bytes_.load(std::memory_order_relaxed); }

 private:
  uint64_t Place(PageId id) const { return static_cast<uint64_t>(id) * page_size_; }
  void Check(PageId id, const char* page) const;
  bool Matches(PageId id, const char* page) const;  // the checksum and the number are right
  uint32_t BytesToRead(PageId id) const;
  // Throws if the page may be an older version of it than was written.
  void CheckWriteBack(PageId id);
  void ReadRest(PageId id, char* page, uint32_t got, uint32_t bytes);
  // Checks a page of which `got` bytes were read, and undoes its compression.
  void Accept(PageId id, char* page, uint32_t got);
  void NoteLength(PageId id, uint32_t bytes);
  // Calls `use` for each copy in the doublewrite file that is whole, with its page; see FindTorn.
  // Returns whether the file is whole, so that `use` has seen every page of the last batch.
  bool ForEachCopy(const std::function<void(PageId id, const char* copy)>& use);
  template <typename Action>
  void OrFail(const Action& action);
  template <typename Action>
  void ResizeOrFail(const Action& action);
  void SyncData() REQUIRES(mutex_);
  void FinishLastBatch() REQUIRES(mutex_);
  bool TakeCopy(PageId id, char* page) const;
  // Reads a page again whose bytes are torn, if FinishLastBatch put it in place after they were
  // read. Returns whether it did.
  bool ReadFinished(PageId id, char* page);
  void TakeSpace(const WriteBatch& batch);
  void WriteCopies(WriteBatch* batch) REQUIRES(mutex_);
  void WriteInPlace(const WriteBatch& batch);
  void PunchBehind(PageId id, uint32_t bytes);

  const std::unique_ptr<File> data_;
  std::unique_ptr<File> doublewrite_;
  const uint32_t page_size_;
  const PageFileOptions options_;
  // The number of units that each page takes in a compressed file; 0 means that it is not known
  // yet. A page's number is changed under the page's latch.
  using Units = ReservedArray<std::atomic<uint8_t>>;
  std::unique_ptr<Units> units_;
  const PageId pages_at_open_;  // what lies behind these was never written
  std::unique_ptr<CompressedCache> compressed_cache_;
  Mutex mutex_;                                   // of Write and Sync
  bool unsynced_ GUARDED_BY(mutex_) = false;      // pages of the last batch may not be durable
  bool half_written_ GUARDED_BY(mutex_) = false;  // nor whole there: the disk was full
  WrittenPages written_ GUARDED_BY(mutex_);
  // Whole copies of pages that are torn in their places, as long as uses_copies_ says so.
  Copies copies_;
  std::atomic<bool> uses_copies_{false};
  std::optional<Error> failed_;
  OnError on_error_;
  std::unique_ptr<WriteBackWatch> write_back_;  // null with direct IO
  RecentWrites recent_writes_;                  // Note and Clear under mutex_
  std::atomic<uint64_t> pages_written_{0}, bytes_written_{0}, bytes_skipped_{0};
  std::atomic<uint64_t> doublewrite_bytes_{0};
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_POOL_PAGE_FILE_H_
