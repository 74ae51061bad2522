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
#include "engines/btree/page.h"

namespace testbed::btree {

enum class TornPage : uint8_t { kDoublewrite, kNone };

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
  const char* page(uint32_t i) const { return buffer_.data() + (i + 1ull) * page_size_; }
  const uint32_t page_size_;
  const uint32_t max_pages_;
  uint32_t count_ = 0;
  AlignedBuffer buffer_;  // the doublewrite header's place, then the pages
};

class PageFile {
 public:
  // `doublewrite` may be null: then a torn page is detected, not repaired.
  PageFile(std::unique_ptr<File> data, std::unique_ptr<File> doublewrite, uint32_t page_size);

  // Reads and inspects; never throws for what the page holds. Space past the end reads as blank.
  PageState Inspect(PageId id, char* page);
  // Reads a page that must be valid; throws Error (kCorruption) naming it when it is not.
  void Read(PageId id, char* page);
  // The page will be read soon.
  void Prefetch(PageId id) { data_->Prefetch(static_cast<uint64_t>(id) * page_size_, page_size_); }
  // The page in place (mmap mode). `check` makes sure that it is valid.
  const char* View(PageId id, bool check);

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
  const File& data() const { return *data_; }
  uint32_t page_size() const { return page_size_; }
  bool mmap() const { return data_->options().mode == IoMode::kMmap; }
  uint64_t doublewrite_size() const { return doublewrite_ ? doublewrite_->Size() : 0; }

  uint64_t pages_written() const { return pages_written_.load(std::memory_order_relaxed); }
  uint64_t doublewrite_bytes() const { return doublewrite_bytes_.load(std::memory_order_relaxed); }

 private:
  const std::unique_ptr<File> data_;
  const std::unique_ptr<File> doublewrite_;
  const uint32_t page_size_;
  std::mutex mutex_;       // of Write and Sync
  bool unsynced_ = false;  // pages of the last batch may not be durable in their places
  std::atomic<uint64_t> pages_written_{0};
  std::atomic<uint64_t> doublewrite_bytes_{0};
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_PAGE_FILE_H_
