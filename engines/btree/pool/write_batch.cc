#include "engines/btree/pool/write_batch.h"

#include <algorithm>
#include <cstring>

namespace testbed::btree {
namespace {

constexpr size_t kWriteUnit = 4096;  // the size of a packed batch is a multiple of this

}  // namespace

WriteBatch::WriteBatch(uint32_t page_size, uint32_t max_pages)
    : page_size_(page_size),
      max_pages_(max_pages),
      buffer_(kHeaderBytes + uint64_t{max_pages} * page_size) {
  pages_.reserve(max_pages);
}

void WriteBatch::Add(const char* page) {
  const size_t at = kHeaderBytes + pages_.size() * page_size_;
  char* copy = buffer_.data() + at;
  std::memcpy(copy, page, page_size_);
  ClearGap(PackedFormOf(copy, page_size_), copy, page_size_);
  StampPage(copy, page_size_);
  pages_.push_back({Header(copy)->id, page_size_, at, {}, 0});
}

void WriteBatch::Compress(PageCodec codec) {
  size_t end = kHeaderBytes;
  for (Place& place : pages_) {
    place.bytes = CompressPage(codec, buffer_.data() + place.at, page_size_);
    std::memmove(buffer_.data() + end, buffer_.data() + place.at, place.bytes);
    place.at = end;
    end += place.bytes;
  }
}

Lsn WriteBatch::MaxLsn() const {
  Lsn lsn = 0;
  for (uint32_t i = 0; i < count(); ++i) lsn = std::max(lsn, Header(page(i))->lsn);
  return lsn;
}

// Packing moves pages only towards the front of the buffer, so the first page is moved first.
// LayOut moves them back, the last page first.
size_t WriteBatch::Pack() {
  std::memset(buffer_.data(), 0, kHeaderBytes);
  size_t end = kHeaderBytes;
  for (Place& place : pages_) {
    const char* from = buffer_.data() + place.at;
    char* to = buffer_.data() + end;
    place.packed = PackedFormOf(from, page_size_);
    place.packed_at = end;
    std::memmove(to, from, place.packed.front);
    std::memmove(to + place.packed.front, from + place.bytes - place.packed.back,
                 place.packed.back);
    end += place.packed.bytes();
  }
  const size_t rounded = (end + kWriteUnit - 1) / kWriteUnit * kWriteUnit;
  std::memset(buffer_.data() + end, 0, rounded - end);
  return rounded;
}

void WriteBatch::LayOut() {
  for (auto place = pages_.rbegin(); place != pages_.rend(); ++place) {
    const PackedPage packed = place->packed;
    const char* from = buffer_.data() + place->packed_at;
    char* to = buffer_.data() + place->at;
    std::memmove(to + place->bytes - packed.back, from + packed.front, packed.back);
    std::memmove(to, from, packed.front);
    ClearGap(packed, to, place->bytes);
  }
}

}  // namespace testbed::btree
