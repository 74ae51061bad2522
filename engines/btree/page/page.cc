#include "engines/btree/page/page.h"

#include <xxhash.h>

#include <algorithm>

#include "engines/btree/page/page_codec.h"

namespace testbed::btree {

uint64_t PageChecksum(const char* page, uint32_t page_size, PageId id) {
  const uint32_t bytes = IsCompressed(page) ? CompressedBytes(page, page_size) : page_size;
  return XXH3_64bits_withSeed(page + sizeof(uint64_t), bytes - sizeof(uint64_t), id);
}

void StampPage(char* page, uint32_t page_size) {
  Header(page)->checksum = PageChecksum(page, page_size, Header(page)->id);
}

PageState InspectPage(const char* page, uint32_t page_size, PageId id) {
  const PageHeader* header = Header(page);
  if (header->checksum == PageChecksum(page, page_size, id) && header->id == id) {
    return PageState::kValid;
  }
  const bool blank = std::all_of(page, page + page_size, [](char c) { return c == 0; });
  return blank ? PageState::kBlank : PageState::kBroken;
}

}  // namespace testbed::btree
