// A PageFile is the data file with its torn-page protection.
//
// Pages are read one at a time, each with one call, and checked. They are written in batches:
// first the batch goes to the doublewrite file, one sequential write, and is made durable there;
// then each page is written in its place; only when these are durable too may the next batch
// overwrite the doublewrite file. So whenever the machine stops, each page is whole in its place or
// whole in the doublewrite file (the scheme of InnoDB's doublewrite buffer).
//
//   doublewrite file: byte 0     header: checksum, magic, page size, number of pages, and for each
//                                its number and how its copy is packed
//                     byte 4096  the copies one behind the other (packed_page.h)
//
// In a compressed database (page_codec.h) pages are written and read without the holes behind them.
// The length of a page is known from the first time that it is read or written. A cache of
// compressed pages (compressed_cache.h) may stand before the file.
//
// Reads may come from any thread; one batch is written at a time.
//
// After a read of a page that was written since the last sync, the PageFile asks whether the system
// has failed to write pages back (write_back_watch.h), and throws if it has. A caller must not take
// a view of such a page, because it could not ask afterwards.
//
// Errors. A call that writes, syncs, resizes or punches a file and fails is not tried again, unless
// the disk was full: after a failed sync nobody knows what the device holds, and the next sync
// would report success. From then on every Write and Sync throws the first error again. So nothing
// overwrites the copies in the doublewrite file, from which the next opening makes the data file
// whole. If the disk is full in the middle of a batch, the batch is put in place from its copies
// before anything else is written. Until there is room for that, Write throws, and Sync makes
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

// TornPage says how a page is made whole again that was half written when the machine stopped.
enum class TornPage : uint8_t {
  kDoublewrite,    // its copy in the doublewrite file replaces it
  kFullPageImage,  // an image in the log, made before the first write of the page after a
                   // checkpoint (Pool::SetImageFloor)
  kAtomic,         // no page is ever torn: the device writes a page as a whole or not (RWF_ATOMIC)
  kNone,           // it is not made whole: its checksum shows that it is torn
};
const char* TornPageName(TornPage torn_page);  // "doublewrite", "full_page_image", ...

// Gives the doublewrite file the space of the longest batch, so that a full device never stops the
// write of a batch's copies.
inline void ReserveDoublewrite(File* file, uint32_t page_size) {
  file->Allocate(0, WriteBatch::PackedLimit(page_size));
}

struct PageFileOptions {
  // Each page is written by a call of its own, which the device does as a whole or not at all. The
  // file must be able to do that (File::MostAtomicBytes).
  bool atomic = false;
  bool compressed = false;     // the file has compressed pages, or may get some
  bool images_in_log = false;  // the log has an image of each page that may be torn in place
  // This is set with images_in_log and without a doublewrite file. It is the most bytes of pages
  // that are written from one sync to the next, unless a batch has more. Only these pages can be
  // torn, and recovery keeps the torn ones in memory (Pool::KeepBack).
  uint64_t most_unsynced_bytes = 64 << 20;
  PageCodec codec = PageCodec::kNone;  // for pages written from now on; kNone unless `compressed`
  uint64_t compressed_cache_bytes = 0;
};

// An OlderPage has an older LSN in the file (`found`) than the checkpoint noted (`known`).
struct OlderPage {
  PageId id;
  Lsn known, found;
};

class PageFile {
 public:
  // `doublewrite` may be null: then a torn page is detected but not repaired.
  PageFile(std::unique_ptr<File> data, std::unique_ptr<File> doublewrite, uint32_t page_size,
           const PageFileOptions& options = {});

  // Reads a page and returns its state. Throws nothing for what the page holds. Space past the end
  // of the file reads as a blank page.
  PageState Inspect(PageId id, char* page);
  // Reads a page. Throws Error (kCorruption), which names the page, when it is not valid.
  void Read(PageId id, char* page);
  // StartRead and FinishRead read a page as Read does, with other work in between. `result` is that
  // of the started read. FinishRead completes a read that ended early or was interrupted.
  void StartRead(ReadRing* ring, PageId id, char* page, uint64_t tag);
  void FinishRead(PageId id, char* page, int32_t result);
  // Reads pages as the file has them, none of them half written; zeros past the end of the file.
  void ReadStored(PageId first, uint32_t pages, char* bytes);
  // Copies the page from the cache of compressed pages. Returns false when that cache does not have
  // the page.
  bool ReadCached(PageId id, char* page);
  // Tells the system that the page will be read soon.
  void Prefetch(PageId id) { data_->Prefetch(static_cast<uint64_t>(id) * page_size_, page_size_); }
  // Returns the page in its place (mmap mode). With `check`, throws Error (kCorruption) when it is
  // not valid.
  const char* View(PageId id, bool check);
  // Returns whether the page was written since the last sync, so that the device may not have it
  // yet.
  bool WrittenSinceSync(PageId id) const { return recent_writes_.Has(id); }

  // OnError is called with each error of Write and Sync, with each lasting error of Grow and
  // Shrink, and with whether the error lasts. It runs under the file's lock. SetOnError must be
  // called before other threads use the file.
  using OnError = std::function<void(const Error& error, bool lasts)>;
  void SetOnError(OnError on_error) { on_error_ = std::move(on_error); }
  // Puts the last batch in place if a full disk prevented that. Throws when that fails again.
  void Retry();

  // Makes all pages durable in their places, and then empties the doublewrite file, which is used
  // no more.
  void StopDoublewrite();

  // Writes the batch in place. It is durable after Sync; until then the doublewrite file, if there
  // is one, protects its pages from being torn.
  void Write(WriteBatch* batch);
  // Makes the pages of all batches written durable: in their places, or, if the disk was full in
  // the middle of the last batch, perhaps in the doublewrite file.
  void Sync();
  void Grow(uint32_t pages);
  // Cuts off the incomplete page that a crash may have left behind all pages in use.
  void CutPartialPage();
  // Truncates the file to `pages` pages. No page behind them was ever used.
  void Shrink(uint32_t pages);

  // Calls `use` for each page of the last batch that is torn in its place, with its whole copy from
  // the doublewrite file, in the stored form. The copy is valid during the call. Writes nothing.
  // A page whose place lies behind the end of the file is not torn: the file was cut behind the
  // pages in use since the batch, or its length was never durable, and then the log has the page.
  void FindTorn(const std::function<void(PageId id, const char* copy)>& use);
  // Puts the copies of torn pages back, and those of pages that the last batch has written: if
  // their sync failed, they may be whole in the page cache alone. Returns the number of torn pages.
  //
  // A compressed page may need space in its place that a full disk does not have. With `kept`, such
  // copies are returned instead of an error. KeepCopies gives them to the PageFile that is used
  // from then on, which reads these pages from the copies, and puts them back before it writes
  // another batch.
  using Copies = std::unordered_map<PageId, std::string>;
  uint32_t RestoreTorn(Copies* kept = nullptr);
  // Call it before other threads use the file.
  void KeepCopies(Copies copies) NO_THREAD_SAFETY_ANALYSIS;

  Error Broken(PageId id) const;
  // Returns whether several reads may be in flight at once: not in mmap mode, and not when the page
  // size is no multiple of the device's alignment.
  bool can_start_reads() const { return !mmap() && page_size_ % data_->alignment() == 0; }
  const File& data() const { return *data_; }
  uint32_t page_size() const { return page_size_; }
  bool compressed() const { return options_.compressed; }
  bool mmap() const { return data_->options().mode == IoMode::kMmap; }
  // Returns the bytes that the data file takes: its length or, if it is compressed, the space
  // without its holes.
  uint64_t data_bytes() const {
    return options_.compressed ? data_->AllocatedBytes() : data_->Size();
  }
  // Must not be called while another thread calls StopDoublewrite.
  uint64_t doublewrite_size() const { return doublewrite_ ? doublewrite_->Size() : 0; }

  // Returns the pages that were written last and are durable, for SetWitnesses; none when no page
  // was written and synced since the last call.
  std::vector<WitnessPage> TakeWitnesses();
  // Returns the first older witness page if all witness pages that can be read and are not torn are
  // older in the file. A crash cannot leave such a file: it is an old copy.
  std::optional<OlderPage> FindOlder(const std::vector<WitnessPage>& witnesses);

  uint64_t pages_written() const { return pages_written_.load(std::memory_order_relaxed); }
  uint64_t bytes_written() const { return bytes_written_.load(std::memory_order_relaxed); }
  // Returns how many bytes were not read because they were known to be holes.
  uint64_t bytes_skipped() const { return bytes_skipped_.load(std::memory_order_relaxed); }
  CompressedCache* compressed_cache() { return compressed_cache_.get(); }  // may be null
  // Returns the bytes of memory of the table with the stored lengths of `pages` pages.
  uint64_t TableBytes(uint64_t pages) const { return units_ != nullptr ? pages : 0; }
  uint64_t doublewrite_bytes() const { return doublewrite_bytes_.load(std::memory_order_relaxed); }

 private:
  uint64_t Place(PageId id) const { return static_cast<uint64_t>(id) * page_size_; }
  void Check(PageId id, const char* page) const;
  bool Matches(PageId id, const char* page) const;  // whether the checksum and the number are right
  uint32_t BytesToRead(PageId id) const;
  // Throws Error if the system may have dropped a newer version of the page than the one that was
  // read.
  void CheckWriteBack(PageId id);
  void ReadRest(PageId id, char* page, uint32_t got, uint32_t bytes);
  // Checks a page of which `got` bytes were read, and expands it if it is compressed.
  void Accept(PageId id, char* page, uint32_t got);
  void NoteLength(PageId id, uint32_t bytes);
  // Calls `use` for each whole copy in the doublewrite file (see FindTorn). Returns whether all
  // copies are whole, so that `use` has seen every page of the last batch.
  bool ForEachCopy(const std::function<void(PageId id, const char* copy)>& use);
  template <typename Action>
  void OrFail(const Action& action, bool lasts_when_full = false);
  template <typename Action>
  void ResizeOrFail(const Action& action);
  void SyncData(bool lasts_when_full = false) REQUIRES(mutex_);
  void BoundUnsynced(uint64_t bytes) REQUIRES(mutex_);
  void FinishLastBatch() REQUIRES(mutex_);
  bool TakeCopy(PageId id, char* page) const;
  // Reads a torn page again if its copy was kept, as FinishLastBatch may have put it in place
  // meanwhile. Returns whether it read the page.
  bool ReadFinished(PageId id, char* page);
  void TakeSpace(const WriteBatch& batch);
  void WriteCopies(WriteBatch* batch) REQUIRES(mutex_);
  void WriteInPlace(const WriteBatch& batch);
  void PutBack(PageId id, const char* copy);
  void PunchBehind(PageId id, uint32_t bytes);

  const std::unique_ptr<File> data_;
  std::unique_ptr<File> doublewrite_;
  const uint32_t page_size_;
  const PageFileOptions options_;
  // units_ has the number of units that each page takes in a compressed file; 0 means that the
  // number is not known yet. A page's number is changed under the page's latch, and by PutBack.
  using Units = ReservedArray<std::atomic<uint8_t>>;
  std::unique_ptr<Units> units_;
  const PageId pages_at_open_;  // number of pages at the open; those behind were never written
  std::unique_ptr<CompressedCache> compressed_cache_;
  Mutex mutex_;                                     // held by Write and Sync
  bool unsynced_ GUARDED_BY(mutex_) = false;        // pages of the last batch may not be durable
  bool half_written_ GUARDED_BY(mutex_) = false;    // its pages may not be whole in place
  uint64_t unsynced_bytes_ GUARDED_BY(mutex_) = 0;  // bytes of unsynced pages
  WrittenPages written_ GUARDED_BY(mutex_);
  // copies_ has whole copies of pages that are torn in their places. The copies are read while
  // uses_copies_ is true.
  Copies copies_;
  std::atomic<bool> uses_copies_{false};
  std::optional<Error> failed_;
  OnError on_error_;
  std::unique_ptr<WriteBackWatch> write_back_;  // null with direct IO
  RecentWrites recent_writes_;                  // Note and Clear are called under mutex_
  std::atomic<uint64_t> pages_written_{0}, bytes_written_{0}, bytes_skipped_{0};
  std::atomic<uint64_t> doublewrite_bytes_{0};
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_POOL_PAGE_FILE_H_
