// Values too long for a leaf: a run of consecutive pages, each with a header and a piece of the
// value; the leaf holds an OverflowRef to it.
//
// A run is written before the log record that makes it part of the tree, into pages that are only
// reserved. So a crash in between leaves free pages. Nobody changes a run once it is in use; the
// latch of the leaf that refers to it protects it from being freed while it is read.
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

constexpr size_t OverflowPayload(uint32_t page_size) { return page_size - sizeof(OverflowHeader); }
constexpr uint32_t OverflowPages(uint64_t size, uint32_t page_size) {
  return static_cast<uint32_t>((size + OverflowPayload(page_size) - 1) /
                               OverflowPayload(page_size));
}

// Reserves a run, beside all promises, and fills it. `begin`: a log position at or before the
// record that has the value.
OverflowRef WriteOverflow(Pool* pool, Space* space, RedoLog* log, PoolClient* client,
                          uint32_t table, std::string_view value, Lsn begin);
void ReadOverflow(Pool* pool, PoolClient* client, const OverflowRef& ref, std::string* value);

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_TREE_OVERFLOW_H_
