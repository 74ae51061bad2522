#include "engines/btree/tree/overflow.h"

#include <algorithm>
#include <cstring>

#include "device/error.h"

namespace testbed::btree {

void RewriteOverflow(Pool* pool, RedoLog* log, PoolClient* client, uint32_t table,
                     const OverflowRef& ref, std::string_view value, Lsn begin) {
  const uint32_t page_size = pool->page_size();
  for (uint32_t i = 0; i < ref.pages; ++i) {
    ExclusiveGuard guard = pool->WriteNew(client, ref.first + i);
    // The page may have been freed just now. It gets the end of the log as its LSN, so that the
    // record that freed it is durable before the page is overwritten in the file.
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
    guard.MarkDirty(begin, now, true);
  }
}

OverflowRef WriteOverflow(Pool* pool, Space* space, RedoLog* log, PoolClient* client,
                          uint32_t table, std::string_view value, Lsn begin) {
  OverflowRef ref;
  ref.pages = OverflowPages(value.size(), pool->page_size());
  ref.size = value.size();
  ref.first = space->ReserveBeside(ref.pages);
  try {
    RewriteOverflow(pool, log, client, table, ref, value, begin);
  } catch (...) {
    space->Cancel(ref.first, ref.pages);
    throw;
  }
  return ref;
}

bool IsRun(const OverflowRef& ref, const Space& space, uint32_t page_size) {
  return ref.first != kNoPage && ref.size > 0 && ref.size <= kMaxValueSize &&
         ref.pages == OverflowPages(ref.size, page_size) &&
         uint64_t{ref.first} + ref.pages <= space.file_pages();
}

void ReadOverflow(Pool* pool, const Space& space, PoolClient* client, uint32_t table,
                  const OverflowRef& ref, std::string* value) {
  const auto wrong = [pool](const std::string& what) {
    throw Error(Error::kCorruption, what + " of file " + pool->file()->data().path() +
                                        "; restore the database from a copy, or load it again");
  };
  const uint32_t page_size = pool->page_size();
  if (!IsRun(ref, space, page_size)) {
    wrong("a leaf of table " + std::to_string(table) +
          " leads to a long value that is not in page " + std::to_string(ref.first) +
          " and those after it");
  }
  value->clear();
  value->reserve(ref.size);
  Lsn begin = 0;
  for (uint32_t i = 0; i < ref.pages; ++i) {
    SharedGuard guard = pool->Read(client, ref.first + i);
    const auto* header = reinterpret_cast<const OverflowHeader*>(guard.page());
    if (i == 0) begin = header->begin;
    const uint64_t piece = std::min<uint64_t>(ref.size - value->size(), OverflowPayload(page_size));
    if (header->type != PageType::kOverflow || header->table != table || header->size != piece ||
        header->begin != begin) {
      wrong("another overflow page, or an old version of it, is page " +
            std::to_string(ref.first + i));
    }
    value->append(guard.page() + sizeof *header, header->size);
  }
}

}  // namespace testbed::btree
