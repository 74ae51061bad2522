// Pages on their way to the file: copies, so that their frames can change meanwhile.
//
// A batch has two forms: laid out, each page as it goes to its place, and packed (packed_page.h),
// the pages one behind the other, as copies of them are kept.
//
// Not thread-safe.
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
  // Before the pages lies room for a header of the packed form.
  static constexpr uint32_t kHeaderBytes = 4096;

  WriteBatch(uint32_t page_size, uint32_t max_pages);
  // Of a batch of about 1 MiB.
  static constexpr uint32_t PagesFor(uint32_t page_size) { return (1 << 20) / page_size; }
  // The most that a batch takes when it is packed, its header counted.
  static uint64_t PackedLimit(uint32_t page_size) {
    return kHeaderBytes + uint64_t{PagesFor(page_size)} * page_size;
  }

  bool full() const { return pages_.size() == max_pages_; }
  uint32_t count() const { return static_cast<uint32_t>(pages_.size()); }
  void Clear() { pages_.clear(); }
  // Copies the page and stamps the copy with its checksum. What lies between a node's slots and its
  // cells is zeros in the copy. Ids must come in ascending order.
  void Add(const char* page);
  // Compresses the pages and moves them together, so that they still follow each other.
  void Compress(PageCodec codec);

  // Of a batch that is laid out.
  const char* page(uint32_t i) const { return buffer_.data() + pages_[i].at; }
  PageId id(uint32_t i) const { return pages_[i].id; }
  uint32_t stored_bytes(uint32_t i) const { return pages_[i].bytes; }  // that it takes in the file
  Lsn MaxLsn() const;

  // Packs the pages. Returns how many bytes from header() on are to be written: the header, which
  // is zeros, the pages, zeros up to a multiple of 4096.
  size_t Pack();
  char* header() { return buffer_.data(); }
  PackedPage packed(uint32_t i) const { return pages_[i].packed; }  // of a batch that is packed
  // Lays them out again.
  void LayOut();

 private:
  struct Place {
    PageId id;
    uint32_t bytes;  // that the page takes in the file
    size_t at;       // in the buffer, laid out
    PackedPage packed;
    size_t packed_at;
  };

  const uint32_t page_size_;
  const uint32_t max_pages_;
  std::vector<Place> pages_;
  AlignedBuffer buffer_;  // the header's room, then the pages
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_POOL_WRITE_BATCH_H_
