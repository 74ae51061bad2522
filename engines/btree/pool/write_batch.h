// A WriteBatch holds copies of pages that are to be written to the data file, so that the pages can
// change in their frames meanwhile.
//
// A batch has two forms. When it is laid out, each page has the form in which it is written in its
// place. When it is packed (packed_page.h), the pages lie one after the other as in the doublewrite
// file. Add, Compress and page() need a batch that is laid out. Not thread-safe.
#ifndef TESTBED_ENGINES_BTREE_POOL_WRITE_BATCH_H_
#define TESTBED_ENGINES_BTREE_POOL_WRITE_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/file/file.h"
#include "engines/btree/page/packed_page.h"
#include "engines/btree/page/page.h"
#include "engines/btree/page/page_codec.h"

namespace testbed::btree {

class WriteBatch {
 public:
  // These bytes before the pages have room for the header of the packed form.
  static constexpr uint32_t kHeaderBytes = 4096;

  WriteBatch(uint32_t page_size, uint32_t max_pages);
  // Returns the number of pages of a batch of about 1 MiB.
  static constexpr uint32_t PagesFor(uint32_t page_size) { return (1 << 20) / page_size; }
  // Returns the largest size in bytes of a packed batch of PagesFor pages, including its header.
  static uint64_t PackedLimit(uint32_t page_size) {
    return kHeaderBytes + uint64_t{PagesFor(page_size)} * page_size;
  }

  bool full() const { return pages_.size() == max_pages_; }
  uint32_t count() const { return static_cast<uint32_t>(pages_.size()); }
  void Clear() { pages_.clear(); }
  // Copies the page, sets the unused bytes of the copy to zero and stamps it with its checksum. The
  // pages must be added in ascending order of their numbers.
  void Add(const char* page);
  // Compresses the pages and closes the gaps between them.
  void Compress(PageCodec codec);

  const char* page(uint32_t i) const { return buffer_.data() + pages_[i].at; }
  PageId id(uint32_t i) const { return pages_[i].id; }
  uint32_t stored_bytes(uint32_t i) const { return pages_[i].bytes; }  // bytes in the file
  Lsn MaxLsn() const;  // the largest LSN of the pages

  // Packs the pages. Returns the number of bytes to write, from header() on: a header of zeros,
  // which the caller fills in, the packed pages, and zeros up to a multiple of 4096.
  size_t Pack();
  char* header() { return buffer_.data(); }
  PackedPage packed(uint32_t i) const { return pages_[i].packed; }  // valid after Pack
  // Lays the pages of a packed batch out again.
  void LayOut();

 private:
  struct Place {
    PageId id;
    uint32_t bytes;  // bytes of the page in the file
    size_t at;       // offset in the buffer when laid out
    PackedPage packed;
    size_t packed_at;  // offset in the buffer when packed
  };

  const uint32_t page_size_;
  const uint32_t max_pages_;
  std::vector<Place> pages_;
  AlignedBuffer buffer_;  // kHeaderBytes, then the pages
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_POOL_WRITE_BATCH_H_
