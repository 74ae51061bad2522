// A page without the bytes that mean nothing: those between a node's slots and its cells, a third
// of a page under random inserts, and those behind a compressed page. Whole pages are kept so where
// they are kept a second time: in the doublewrite file and in the log. PostgreSQL leaves the "hole"
// of a page out of its log for the same reason (xloginsert.c).
#ifndef TESTBED_ENGINES_BTREE_PAGE_PACKED_PAGE_H_
#define TESTBED_ENGINES_BTREE_PAGE_PACKED_PAGE_H_

#include <cstdint>

namespace testbed::btree {

// What a packed page has: its first `front` bytes and its last `back` ones. Zeros lie in between.
struct PackedPage {
  uint32_t front = 0;
  uint32_t back = 0;
  uint32_t bytes() const { return front + back; }
};
// Of a valid page, compressed or not: its header alone tells. A page that is neither node nor
// compressed is packed whole.
PackedPage PackedFormOf(const char* page, uint32_t page_size);
// Makes zeros of what the packed form lacks.
void ClearGap(PackedPage packed, char* page, uint32_t page_size);
// `page` holds the front and right behind it the back of a page: makes it the page.
void UnpackPage(PackedPage packed, char* page, uint32_t page_size);

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_PAGE_PACKED_PAGE_H_
