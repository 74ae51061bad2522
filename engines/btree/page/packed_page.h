// A packed page is a page without its unused bytes: those between the slots and the cells of a node
// (a third of a page under random inserts), and those behind a compressed page. The doublewrite
// file and the log hold pages packed. PostgreSQL leaves the "hole" of a page out of its log for the
// same reason (xloginsert.c).
#ifndef TESTBED_ENGINES_BTREE_PAGE_PACKED_PAGE_H_
#define TESTBED_ENGINES_BTREE_PAGE_PACKED_PAGE_H_

#include <cstdint>

namespace testbed::btree {

// A packed page has the first `front` bytes and the last `back` bytes of the page. The bytes
// between them are zeros.
struct PackedPage {
  uint32_t front = 0;
  uint32_t back = 0;
  uint32_t bytes() const { return front + back; }
};
// Returns the packed form of a valid page, from its header. A page that is neither a node nor
// compressed has no unused bytes.
PackedPage PackedFormOf(const char* page, uint32_t page_size);
// Sets the unused bytes of a page to zero.
void ClearGap(PackedPage packed, char* page, uint32_t page_size);
// Expands a packed page in place to the whole page. The packed front and back lie one after the
// other in `page`.
void UnpackPage(PackedPage packed, char* page, uint32_t page_size);

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_PAGE_PACKED_PAGE_H_
