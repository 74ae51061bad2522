#include "engines/btree/page/packed_page.h"

#include <cstring>

#include "engines/btree/page/node.h"
#include "engines/btree/page/page_codec.h"

namespace testbed::btree {

PackedPage PackedFormOf(const char* page, uint32_t page_size) {
  const PageType type = Header(page)->type;
  if (type == PageType::kCompressed) return {CompressedBytes(page, page_size), 0};
  if (type != PageType::kLeaf && type != PageType::kInner) return {page_size, 0};
  const Node node(page, page_size);
  const uint32_t slots_end = Node::SlotAt(node.count());
  const uint32_t heap = node.header()->heap;
  if (heap < slots_end || heap > page_size) return {page_size, 0};  // not well-formed
  return {slots_end, page_size - heap};
}

void ClearGap(PackedPage packed, char* page, uint32_t page_size) {
  std::memset(page + packed.front, 0, page_size - packed.bytes());
}

void UnpackPage(PackedPage packed, char* page, uint32_t page_size) {
  std::memmove(page + page_size - packed.back, page + packed.front, packed.back);
  ClearGap(packed, page, page_size);
}

}  // namespace testbed::btree
