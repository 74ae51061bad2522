// The data file and its torn-page protection.
//
// Pages are read one at a time, each with one call, and checked. They are written in batches:
// first the batch goes to the doublewrite file, one sequential write, and is made durable there;
// then each page is written in its place; only when these are durable too may the next batch
// overwrite the doublewrite file. So whenever the machine stops, each page is whole in its place or
// whole in the doublewrite file (the scheme of InnoDB's doublewrite buffer).
//
//   doublewrite file: page 0  header: magic, page size, number of pages, their ids, checksum
//                     page 1..n  the pages, as they go to their places
//
// Reads may come from any thread; one batch is written at a time.
#ifndef TESTBED_ENGINES_BTREE_PAGE_FILE_H_
#define TESTBED_ENGINES_BTREE_PAGE_FILE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device/error.h"
#include "device/file.h"
#include "device/read_ring.h"
#include "engines/btree/page.h"

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

// Pages on their way to the file: copies, so that their frames can change meanwhile.
class WriteBatch {
 public:
  WriteBatch(uint32_t page_size, uint32_t max_pages);
  static uint32_t PagesFor(uint32_t page_size);  // of a batch of about 1 MiB

  bool full() const { return count_ == max_pages_; }
  uint32_t count() const { return count_; }
  void Clear() { count_ = 0; }
  // Copies the page and stamps the copy with its checksum. Ids must come in ascending order.
  void Add(const char* page);
  PageId id(uint32_t i) const { return Header(page(i))->id; }
  Lsn MaxLsn() const;

 private:
  friend class PageFile;
  friend class Pool;
  const char* page(uint32_t i) const { return buffer_.data() + (i + 1ull) * page_size_; }
  const uint32_t page_size_;
  const uint32_t max_pages_;
  uint32_t count_ = 0;
  AlignedBuffer buffer_;  // the doublewrite header's place, then the pages
};

class PageFile {
 public:
  // `doublewrite` may be null: then a torn page is detected, not repaired. `atomic`: each page is
  // written by a call of its own that the device does as a whole; the file must be able to.
  PageFile(std::unique_ptr<File> data, std::unique_ptr<File> doublewrite, uint32_t page_size,
           bool atomic = false);

  // Reads and inspects; never throws for what the page holds. Space past the end reads as blank.
  PageState Inspect(PageId id, char* page);
  // Reads a page that must be valid; throws Error (kCorruption) naming it when it is not.
  void Read(PageId id, char* page);
  // The same in two steps, other work in between: starts the read, and checks what came of it.
  void StartRead(ReadRing* ring, PageId id, char* page, uint64_t tag);
  void FinishRead(PageId id, const char* page, int32_t result);
  // The page will be read soon.
  void Prefetch(PageId id) { data_->Prefetch(static_cast<uint64_t>(id) * page_size_, page_size_); }
  // The page in place (mmap mode). `check` makes sure that it is valid.
  const char* View(PageId id, bool check);

  // What was written is durable in its place, and the doublewrite file is empty and used no more.
  void StopDoublewrite();

  // Writes the batch in place. Not durable before Sync; the doublewrite area makes it safe.
  void Write(WriteBatch* batch);
  void Sync();
  void Grow(uint32_t pages);

  // Calls `use` for each page of the last batch that is not whole in its place, with its whole copy
  // from the doublewrite file, which is valid during the call. Writes nothing.
  void FindTorn(const std::function<void(PageId id, const char* copy)>& use);
  // Puts these copies back. Returns how many.
  uint32_t RestoreTorn();

  Error Broken(PageId id) const;
  // Whether reads may be in flight: not of a mapping, nor where a page is not aligned to the
  // device.
  bool can_start_reads() const { return !mmap() && page_size_ % data_->alignment() == 0; }
  const File& data() const { return *data_; }
  uint32_t page_size() const { return page_size_; }
  bool mmap() const { return data_->options().mode == IoMode::kMmap; }
  // Safe beside StopDoublewrite only before other threads use the file.
  uint64_t doublewrite_size() const { return doublewrite_ ? doublewrite_->Size() : 0; }

  uint64_t pages_written() const { return pages_written_.load(std::memory_order_relaxed); }
  uint64_t doublewrite_bytes() const { return doublewrite_bytes_.load(std::memory_order_relaxed); }

 private:
  void Check(PageId id, const char* page) const;

  const std::unique_ptr<File> data_;
  std::unique_ptr<File> doublewrite_;
  const uint32_t page_size_;
  const bool atomic_;
  std::mutex mutex_;       // of Write and Sync
  bool unsynced_ = false;  // pages of the last batch may not be durable in their places
  std::atomic<uint64_t> pages_written_{0};
  std::atomic<uint64_t> doublewrite_bytes_{0};
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_PAGE_FILE_H_
