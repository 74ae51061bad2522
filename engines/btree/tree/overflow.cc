#include "engines/btree/tree/overflow.h"

#include <algorithm>
#include <cstring>

#include "device/error.h"

namespace testbed::btree {

OverflowRef WriteOverflow(Pool* pool, Space* space, RedoLog* log, PoolClient* client,
                          uint32_t table, std::string_view value, Lsn begin) {
  const uint32_t page_size = pool->page_size();
  OverflowRef ref;
  ref.pages = OverflowPages(value.size(), page_size);
  ref.size = value.size();
  ref.first = space->ReserveBeside(ref.pages);
  try {
    for (uint32_t i = 0; i < ref.pages; ++i) {
      ExclusiveGuard guard = pool->WriteNew(client, ref.first + i);
      // The page may have been freed just now. Its LSN is the end of the log, so that the record
      // that freed it is durable before the page is overwritten in the file.
      const Lsn now = log->EndLsn();
      std::memset(guard.page(), 0, page_size);
      auto* header = reinterpret_cast<OverflowHeader*>(guard.page());
      header->id = ref.first + i;
      header->table = table;
      header->type = PageType::kOverflow;
      header->begin = begin;
      const std::string_view piece =
          value.substr(i * OverflowPayload(page_size), OverflowPayload(page_size));
      header->size = static_cast<uint32_t>(piece.size());
      std::memcpy(guard.page() + sizeof *header, piece.data(), piece.size());
      guard.MarkDirty(begin, now);
    }
  } catch (...) {
    space->Cancel(ref.first, ref.pages);
    throw;
  }
  return ref;
}

void ReadOverflow(Pool* pool, PoolClient* client, const OverflowRef& ref, std::string* value) {
  value->clear();
  value->reserve(ref.size);
  for (uint32_t i = 0; i < ref.pages; ++i) {
    SharedGuard guard = pool->Read(client, ref.first + i);
    const auto* header = reinterpret_cast<const OverflowHeader*>(guard.page());
    if (header->type != PageType::kOverflow || header->size > OverflowPayload(pool->page_size())) {
      throw Error(Error::kCorruption, "page " + std::to_string(ref.first + i) + " of file " +
                                          pool->file()->data().path() +
                                          " is not the overflow page that it should be");
    }
    value->append(guard.page() + sizeof *header, header->size);
  }
}

}  // namespace testbed::btree
