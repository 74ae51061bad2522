// Values that are too long for a leaf lie in overflow pages: a run of consecutive pages, each with
// a header and a piece of the value. The leaf holds an OverflowRef to the run.
//
// A run is written to pages that are only reserved, before the log record that makes it part of the
// tree. So after a crash in between, its pages are free. A run never changes once it is in use, but
// for recovery, which writes the value of a run again. The shared latch of the leaf that refers to
// a run protects the run from being freed.
#ifndef TESTBED_ENGINES_BTREE_TREE_OVERFLOW_H_
#define TESTBED_ENGINES_BTREE_TREE_OVERFLOW_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "engines/btree/page/node.h"
#include "engines/btree/page/page.h"
#include "engines/btree/page/space.h"
#include "engines/btree/pool/pool.h"

namespace testbed::btree {

// OverflowPayload returns the bytes of a value in one overflow page, and OverflowPages the number
// of pages for a value of `size` bytes.
constexpr size_t OverflowPayload(uint32_t page_size) { return page_size - sizeof(OverflowHeader); }
constexpr uint32_t OverflowPages(uint64_t size, uint32_t page_size) {
  return static_cast<uint32_t>((size + OverflowPayload(page_size) - 1) /
                               OverflowPayload(page_size));
}

// Reserves a run of pages and writes the value to it. The reservation does not use space that was
// promised to others (Space). `begin` is a log position at or before the record that will have the
// value. Throws Error when there is no space or no frame; then nothing stays reserved.
OverflowRef WriteOverflow(Pool* pool, Space* space, RedoLog* log, PoolClient* client,
                          uint32_t table, std::string_view value, Lsn begin);
// Writes the value to a run that is in use and has as many pages as the value needs. Only recovery
// calls it: no thread reads the run meanwhile, and if a crash interrupts this, the next recovery
// writes the run again. Needs no space.
void RewriteOverflow(Pool* pool, RedoLog* log, PoolClient* client, uint32_t table,
                     const OverflowRef& ref, std::string_view value, Lsn begin);
// Returns whether the reference may lead to a run: it has as many pages as a value of its size
// needs, and they lie in the file.
bool IsRun(const OverflowRef& ref, const Space& space, uint32_t page_size);
// Sets *value to the value of a run of `table`. The caller holds the latch of the leaf with `ref`.
// Throws Error (kCorruption) when `ref` is no run, or a page of it is not an overflow page of the
// table, has another piece of a value than one of this size has there, or was not written together
// with the first page. The checks cannot see that all pages of the run are old, if the old value
// was one of the same table with the same number of pages and bytes.
void ReadOverflow(Pool* pool, const Space& space, PoolClient* client, uint32_t table,
                  const OverflowRef& ref, std::string* value);

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_TREE_OVERFLOW_H_
